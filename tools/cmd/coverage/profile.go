package main

import (
	"cmp"
	"fmt"
	"os"
	"path"
	"strings"
)

// position is a place in a file; both count from one.
type position struct{ line, column int }

func (p position) compare(q position) int {
	return cmp.Or(cmp.Compare(p.line, q.line), cmp.Compare(p.column, q.column))
}

func (p position) String() string { return fmt.Sprintf("%d.%d", p.line, p.column) }

// block is one row of a profile: a run of statements that run together.
type block struct {
	start, end position
	statements int
	runs       int
}

// readProfile returns the blocks by file name without its folder: the gate is
// for the files of one package. A block that several test binaries report is
// kept once, with the sum of its runs.
func readProfile(name string) (map[string][]block, error) {
	content, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("read the profile: %w", err)
	}

	type key struct {
		file       string
		start, end position
	}
	seen := map[key]int{} // index into blocks[file]
	blocks := map[string][]block{}

	for row := range strings.Lines(string(content)) {
		row = strings.TrimSuffix(row, "\n")
		if mode, ok := strings.CutPrefix(row, "mode: "); ok {
			if mode == "set" {
				return nil, fmt.Errorf("%s: mode %q counts nothing; use -covermode=atomic", name, mode)
			}
			continue
		}
		file, b, err := parseRow(row)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		k := key{file, b.start, b.end}
		if i, ok := seen[k]; ok {
			blocks[file][i].runs += b.runs
			continue
		}
		seen[k] = len(blocks[file])
		blocks[file] = append(blocks[file], b)
	}
	return blocks, nil
}

// parseRow reads `module/file.go:3.14,5.2 2 1`: from, to, statements, runs.
func parseRow(row string) (file string, b block, err error) {
	name, numbers, ok := strings.Cut(row, ".go:")
	if !ok {
		return "", block{}, fmt.Errorf("row %q names no Go file", row)
	}
	_, err = fmt.Sscanf(numbers, "%d.%d,%d.%d %d %d",
		&b.start.line, &b.start.column, &b.end.line, &b.end.column, &b.statements, &b.runs)
	if err != nil {
		return "", block{}, fmt.Errorf("row %q: %w", row, err)
	}
	return path.Base(name) + ".go", b, nil
}
