package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
)

// coverage is the result for one file.
type coverage struct {
	ran, total int
	missed     []string // what never happened, each with its file:line.column
}

func (c coverage) percent() float64 {
	if c.total == 0 {
		return 100
	}
	return 100 * float64(c.ran) / float64(c.total)
}

// measure adds up the blocks of one file and looks for branches without
// statements of their own. A file with statements that the profile does not know
// is an error: a build constraint keeps it from the tests.
func measure(file string, profile map[string][]block) (coverage, error) {
	set := token.NewFileSet()
	tree, err := parser.ParseFile(set, file, nil, parser.SkipObjectResolution)
	if err != nil {
		return coverage{}, fmt.Errorf("parse: %w", err)
	}
	bodies := functionBodies(tree)
	blocks := profile[filepath.Base(file)]
	if len(bodies) > 0 && len(blocks) == 0 {
		return coverage{}, fmt.Errorf("%s: not in the profile; is it built for the tests at all?", file)
	}
	slices.SortFunc(blocks, func(a, b block) int { return a.start.compare(b.start) })

	var c coverage
	for _, b := range blocks {
		c.total += b.statements
		if b.runs > 0 {
			c.ran += b.statements
		} else {
			c.missed = append(c.missed, fmt.Sprintf("%s:%s: never ran in a test", file, b.start))
		}
	}
	for _, body := range bodies {
		for _, missed := range emptyBranches(body, set, blocks) {
			c.missed = append(c.missed, file+":"+missed)
		}
	}
	return c, nil
}

func functionBodies(tree *ast.File) []*ast.BlockStmt {
	var bodies []*ast.BlockStmt
	for _, decl := range tree.Decls {
		if f, ok := decl.(*ast.FuncDecl); ok && f.Body != nil && len(f.Body.List) > 0 {
			bodies = append(bodies, f.Body)
		}
	}
	return bodies
}
