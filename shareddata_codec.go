package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// documentVersion is the one format that encodeDocument writes and decodeDocument understands.
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

// encodeDocument returns the entries as they stand in SharedData, under their field's name:
// readable, and with a version, so that a later format is told apart.
func encodeDocument[E believable](field string, entries []E) []byte {
	// Strings and numbers always encode.
	encoded, _ := json.Marshal(entries)
	return fmt.Appendf(nil, `{"version":%d,%q:%s}`, documentVersion, field, encoded)
}

// decodeDocument returns the entries of a stored value that can be believed, at worst none, and
// an error that says what could not. what is the document's name in the error. Fields that it
// does not know are a later version's additions.
func decodeDocument[E believable](what, field string, value []byte, now instant) ([]E, error) {
	var fields map[string]json.RawMessage
	decoder := json.NewDecoder(bytes.NewReader(value))
	if err := decoder.Decode(&fields); err != nil {
		return nil, undecodable(what, value, err)
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, fmt.Errorf("%s of %d bytes: more than one document", what, len(value))
	}
	if version := string(fields["version"]); version != fmt.Sprint(documentVersion) {
		return nil, fmt.Errorf("%s: got version %s, want %d", what, cmp.Or(version, "none"), documentVersion)
	}
	var stored []E
	if err := json.Unmarshal(fields[field], &stored); err != nil {
		return nil, undecodable(what, value, err)
	}
	entries := make([]E, 0, len(stored))
	for _, e := range stored {
		if e.valid(now) {
			entries = append(entries, e)
		}
	}
	if dropped := len(stored) - len(entries); dropped > 0 {
		return entries, fmt.Errorf("%s: %d of %d entries make no sense", what, dropped, len(stored))
	}
	return entries, nil
}

func undecodable(what string, value []byte, err error) error {
	return fmt.Errorf("%s of %d bytes: not a document of version %d: %w", what, len(value), documentVersion, err)
}
