package envoy

import "bytes"

// lineSplitter is a writer that hands on whole lines, without their ends.
type lineSplitter struct {
	line func([]byte)
	rest []byte
}

// Write never fails: a process whose output nobody reads would stall.
func (s *lineSplitter) Write(p []byte) (int, error) {
	s.rest = append(s.rest, p...)
	for {
		line, rest, found := bytes.Cut(s.rest, []byte("\n"))
		if !found {
			return len(p), nil
		}
		s.line(line)
		s.rest = rest
	}
}

// end hands on a last line that has no end.
func (s *lineSplitter) end() {
	if len(s.rest) > 0 {
		s.line(s.rest)
		s.rest = nil
	}
}
