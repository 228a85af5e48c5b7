package wasmhost

import (
	"slices"
	"strings"
)

// Headers is a header map or a trailer map: lower-case names, pseudo headers
// included, order kept, one entry per value.
type Headers [][2]string

// Get returns the first value of a header and whether there is one, as
// proxy_get_header_map_value does.
func (h Headers) Get(name string) (string, bool) {
	name = strings.ToLower(name)
	for _, entry := range h {
		if entry[0] == name {
			return entry[1], true
		}
	}
	return "", false
}

// clone returns a copy with lower-case names, as Envoy's maps have them.
func (h Headers) clone() Headers {
	out := make(Headers, len(h))
	for i, entry := range h {
		out[i] = [2]string{strings.ToLower(entry[0]), entry[1]}
	}
	return out
}

// byteSize is the number of bytes in all names and values (HeaderMap::byteSize).
func (h Headers) byteSize() int {
	size := 0
	for _, entry := range h {
		size += len(entry[0]) + len(entry[1])
	}
	return size
}

func (h *Headers) add(name, value string) {
	*h = append(*h, [2]string{strings.ToLower(name), value})
}

// replace leaves one value under the name, where the first one stood.
func (h *Headers) replace(name, value string) {
	name = strings.ToLower(name)
	at := slices.IndexFunc(*h, func(entry [2]string) bool { return entry[0] == name })
	if at < 0 {
		h.add(name, value)
		return
	}
	(*h)[at][1] = value
	rest := slices.DeleteFunc((*h)[at+1:], func(entry [2]string) bool { return entry[0] == name })
	*h = (*h)[:at+1+len(rest)]
}

func (h *Headers) remove(name string) {
	name = strings.ToLower(name)
	*h = slices.DeleteFunc(*h, func(entry [2]string) bool { return entry[0] == name })
}
