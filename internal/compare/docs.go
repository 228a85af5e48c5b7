package compare

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"text/template"
)

//go:embed templates
var templates embed.FS

// WriteDocs writes the pages in both languages, their pictures, and the figures that all of
// it comes from, into a folder that is there.
func (r *Report) WriteDocs(folder string) error {
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	files := map[string][]byte{"comparison.json": append(data, '\n')}
	for name, language := range map[string]Language{"comparison.md": English, "comparison.zh.md": Chinese} {
		var text bytes.Buffer
		if err := r.WritePage(&text, name, language); err != nil {
			return err
		}
		files[name] = text.Bytes()
	}
	for _, fault := range Faults() {
		if len(r.of(fault)) == 0 {
			continue
		}
		var picture bytes.Buffer
		if err := r.WritePicture(&picture, fault); err != nil {
			return fmt.Errorf("the picture of %s: %w", fault.Name, err)
		}
		files[pictureName(fault)] = picture.Bytes()
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// WritePage writes one page of the documents.
func (r *Report) WritePage(w io.Writer, name string, language Language) error {
	page, err := template.New(name+".tmpl").ParseFS(templates, "templates/"+name+".tmpl")
	if err != nil {
		return err
	}
	return page.Execute(w, r.page(language))
}

func pictureName(fault Fault) string { return "comparison-" + fault.Name + ".png" }
