package tuning

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// pages are the documents, by their language.
func pages() map[string]Language {
	return map[string]Language{"tuning.md": English, "tuning.zh.md": Chinese}
}

// pictures are drawn beside them.
func (r *Report) pictures() map[string]func(io.Writer) error {
	return map[string]func(io.Writer) error{"tuning-return.png": r.drawReturns, "tuning-evidence.png": r.drawEvidence}
}

// CheckDocs reports what WriteDocs would lack in the folder, so that nobody waits for a run in vain.
func CheckDocs(folder string) error {
	for page, language := range pages() {
		text, err := os.ReadFile(filepath.Join(folder, page))
		if err != nil {
			return err
		}
		for _, t := range (&Report{}).tables(language) {
			if _, err := t.into(string(text)); err != nil {
				return fmt.Errorf("%s: %w", filepath.Join(folder, page), err)
			}
		}
	}
	return nil
}

// WriteDocs writes the tables into the pages of the folder, each between its two marks, and draws
// the pictures. The rest of the pages stays as it is.
func (r *Report) WriteDocs(folder string) error {
	for page, language := range pages() {
		path := filepath.Join(folder, page)
		old, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		text, err := r.fill(string(old), language)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	for name, draw := range r.pictures() {
		var picture bytes.Buffer
		if err := draw(&picture); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := os.WriteFile(filepath.Join(folder, name), picture.Bytes(), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// fill returns the page with the tables in their places.
func (r *Report) fill(page string, l Language) (string, error) {
	for _, t := range r.tables(l) {
		var err error
		if page, err = t.into(page); err != nil {
			return "", err
		}
	}
	return page, nil
}

// into puts the table between its marks.
func (t table) into(page string) (string, error) {
	begin, end := "<!-- "+t.name+" -->\n", "<!-- end of "+t.name+" -->\n"
	before, rest, begins := strings.Cut(page, begin)
	_, after, ends := strings.Cut(rest, end)
	if !begins || !ends {
		return "", fmt.Errorf("the marks %q and %q are missing; the table goes between them", strings.TrimSpace(begin), strings.TrimSpace(end))
	}
	return before + begin + t.markdown() + end + after, nil
}
