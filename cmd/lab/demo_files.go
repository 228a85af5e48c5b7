package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"endpoint-breaker/internal/demo"
)

// checkFiles tells before the story what could not be written after it.
func (f demoFlags) checkFiles() error {
	if err := writable(f.out); err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	if f.screenshot == "" {
		return nil
	}
	if err := writable(f.screenshot); err != nil {
		return fmt.Errorf("--screenshot: %w", err)
	}
	return nil
}

// writable makes the file's folder and tries to open the file. It leaves what is in the
// file, and no new file: a story that is interrupted draws nothing.
func writable(path string) error {
	if path == "" {
		return errors.New("the name of a file is missing")
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	_, err := os.Stat(path)
	isNew := errors.Is(err, fs.ErrNotExist)
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	if err := file.Close(); err != nil || !isNew {
		return err
	}
	return os.Remove(path)
}

// draw writes the picture, and the screenshot if one is wanted.
func (f demoFlags) draw(out io.Writer, recording *demo.Recording, view []byte) error {
	var picture bytes.Buffer
	if err := demo.WritePicture(&picture, recording); err != nil {
		return fmt.Errorf("the picture: %w", err)
	}
	if err := os.WriteFile(f.out, picture.Bytes(), 0o644); err != nil {
		return fmt.Errorf("the picture: %w", err)
	}
	fmt.Fprintf(out, "\nThe picture is in %s.\n", f.out)
	if f.screenshot == "" {
		return nil
	}
	if err := os.WriteFile(f.screenshot, view, 0o644); err != nil {
		return fmt.Errorf("the screenshot: %w", err)
	}
	return nil
}
