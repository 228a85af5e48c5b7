package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"
)

const (
	maxProblems  = 10 // listed one by one; the others are only counted
	maxGivenSize = 60 // characters of a given value that are shown
)

// configError is everything that is wrong with a configuration. Its text is one line.
type configError struct {
	listed []string
	more   int
}

func (p *configError) add(path, text string) {
	if len(p.listed) == maxProblems {
		p.more++
		return
	}
	p.listed = append(p.listed, path+": "+text)
}

func (p *configError) found() bool { return len(p.listed) > 0 }

func (p *configError) Error() string {
	text := strings.Join(p.listed, "; ")
	if p.more > 0 {
		text += fmt.Sprintf("; and %d more", p.more)
	}
	return text
}

// wrongValue says what stands in the configuration and what would be right.
type wrongValue struct {
	at          string // where in the value, behind the key's path
	given, want string
}

func (w wrongValue) String() string { return "got " + w.given + ", want " + w.want }

// memberPath names a member of the object at path. An odd name is quoted.
func memberPath(path, name string) string {
	isOdd := func(c rune) bool {
		return c != '_' && c != '-' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z')
	}
	if name == "" || len(name) > maxGivenSize || strings.ContainsFunc(name, isOdd) {
		name = quoteShort(name)
	}
	if path == "" {
		return name
	}
	return path + "." + name
}

// describeJSON shows a given value: strings quoted, objects and arrays by their type only.
func describeJSON(value gjson.Result) string {
	switch {
	case value.Type == gjson.String:
		return quoteShort(value.Str)
	case value.IsObject():
		return "an object"
	case value.IsArray():
		return "an array"
	default:
		return shorten(value.Raw)
	}
}

// quoteShort quotes text for a log line: printable characters only, no line breaks, shortened.
func quoteShort(text string) string {
	const longestRune = 4
	shown := text[:min(len(text), longestRune*maxGivenSize)]
	return shorten(strconv.Quote(shown))
}

func shorten(text string) string {
	shown := []rune(text)
	if len(shown) <= maxGivenSize {
		return text
	}
	return string(shown[:maxGivenSize]) + "..."
}

func quoteDuration(d time.Duration) string { return strconv.Quote(shortDuration(d)) }

// shortDuration writes 1h and 10m where time.Duration writes 1h0m0s and 10m0s.
func shortDuration(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

func quoteAll(names []string) []string {
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = strconv.Quote(name)
	}
	return quoted
}

// oneOf lists at least two names: a, b or c.
func oneOf(names []string) string {
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// nearestOf is an addition to a message: the name that was probably meant, if there is one.
func nearestOf(given string, names []string) string {
	name := nearestName(given, names)
	if name == "" {
		return ""
	}
	return fmt.Sprintf(" (nearest: %s)", name)
}

// nearestName returns the name that differs least from given, "" if more than a
// third of its letters would have to change.
func nearestName(given string, names []string) string {
	nearest, least := "", -1
	for _, name := range names {
		limit := len(name) / 3
		if len(given) > len(name)+limit {
			continue // spares a long text the comparison
		}
		distance := editDistance(given, name)
		if distance <= limit && (least < 0 || distance < least) {
			nearest, least = name, distance
		}
	}
	return nearest
}

// editDistance counts the bytes to insert, delete or replace (Levenshtein).
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replace := diagonal
			if a[i] != b[j] {
				replace++
			}
			diagonal = row[j+1]
			row[j+1] = min(replace, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
