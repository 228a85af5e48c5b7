package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// documentVersion is the one format that encodeDocument writes and openDocument understands.
const documentVersion = 1

// readerLag is how much older a reader's clock may be than what it reads: its callback may have
// begun before the writer's, and its thread may have stood still since. To drop a good entry is
// to lose a block, so this is generous.
const readerLag = 10 * time.Minute

// believable is what the documents in SharedData are lists of.
type believable interface {
	// valid reports whether an entry like this can have been written by now.
	valid(now instant) bool
}

// field is one list of a document.
type field struct {
	name    string
	entries any // a slice of believable entries
}

// encodeDocument returns the lists as they stand in SharedData: readable, and with a version, so
// that a later format is told apart.
func encodeDocument(fields ...field) []byte {
	value := fmt.Appendf(nil, `{"version":%d`, documentVersion)
	for _, f := range fields {
		encoded, _ := json.Marshal(f.entries) // strings and numbers always encode
		value = fmt.Appendf(value, `,%q:%s`, f.name, encoded)
	}
	return append(value, '}')
}

// storedDocument is a value of SharedData whose frame is sound. Fields that nobody asks for are a
// later version's additions.
type storedDocument struct {
	what   string // its name in errors
	size   int
	fields map[string]json.RawMessage
}

func openDocument(what string, value []byte) (storedDocument, error) {
	d := storedDocument{what: what, size: len(value)}
	decoder := json.NewDecoder(bytes.NewReader(value))
	if err := decoder.Decode(&d.fields); err != nil {
		return d, d.undecodable(err)
	}
	if _, err := decoder.Token(); err != io.EOF {
		return d, fmt.Errorf("%s of %d bytes: more than one document", what, d.size)
	}
	if version := string(d.fields["version"]); version != fmt.Sprint(documentVersion) {
		return d, fmt.Errorf("%s: got version %s, want %d", what, cmp.Or(version, "none"), documentVersion)
	}
	return d, nil
}

func (d storedDocument) undecodable(err error) error {
	return fmt.Errorf("%s of %d bytes: not a document of version %d: %w", d.what, d.size, documentVersion, err)
}

// entriesOf returns the entries of one list that can be believed, nil if there are none, and an
// error that says what could not. A list that is not there is empty.
func entriesOf[E believable](d storedDocument, name string, now instant) ([]E, error) {
	raw, found := d.fields[name]
	if !found {
		return nil, nil
	}
	var stored []E
	if err := json.Unmarshal(raw, &stored); err != nil {
		return nil, d.undecodable(err)
	}
	var entries []E
	for _, e := range stored {
		if e.valid(now) {
			entries = append(entries, e)
		}
	}
	if dropped := len(stored) - len(entries); dropped > 0 {
		return entries, fmt.Errorf("%s: %d of %d entries of %q make no sense", d.what, dropped, len(stored), name)
	}
	return entries, nil
}
