package sim

import (
	"errors"
	"strings"
)

// oneDocument refuses a second YAML document, of which the library would say nothing. A
// line that begins with --- or ... is a marker wherever it stands, even in a text of
// several lines (YAML 1.2.2, 9.1.2).
func oneDocument(text []byte) error {
	begun, ended := false, false
	for _, line := range strings.FieldsFunc(strings.TrimPrefix(string(text), "\ufeff"), isLineBreak) {
		if content, isMarker := behindMarker(line); isMarker {
			ended = begun
			line = content
		}
		line = strings.TrimSpace(line)
		switch {
		case line == "", line[0] == '#', line[0] == '%' && (ended || !begun):
		case ended:
			return errors.New("given a second YAML document; should be one, without --- or ... in between")
		default:
			begun = true
		}
	}
	return nil
}

// isLineBreak knows the line breaks of YAML 1.1, which are more than those of 1.2.
func isLineBreak(r rune) bool { return strings.ContainsRune("\r\n\u0085\u2028\u2029", r) }

// behindMarker returns what follows a marker on its line.
func behindMarker(line string) (content string, isMarker bool) {
	for _, marker := range []string{"---", "..."} {
		content, found := strings.CutPrefix(line, marker)
		if found && (content == "" || content[0] == ' ' || content[0] == '\t') {
			return content, true
		}
	}
	return "", false
}
