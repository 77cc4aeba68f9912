package tap

import (
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// Bounds of the strings of one event, in bytes. An event of more than 8 MiB would be rejected
// as a whole, with the end of its message.
const (
	maxTexts  = 4 << 20 // of all strings, besides the first shortText of each
	shortText = 1 << 10 // ids, types and names are shorter
)

// shortener reads the copy of an answer with long strings shortened, once an event has
// maxTexts of them. A string keeps its beginning and ends with "…", so that args in a string
// are not valid anymore. Args that are an object stay: if they were shortened, they would be
// valid, and not those of the model.
type shortener struct {
	src   io.Reader
	lines bool   // each line is an event; otherwise the whole text is one
	buf   []byte // of src
	kept  []byte // the memory of out
	out   []byte // what Read returns next
	err   error  // of src

	most     int    // maxTexts
	left     int    // of most
	depth    int    // of open objects and arrays
	args     int    // depth of an object with the args of a call, 0 outside of one
	inString bool   // the next byte is one of a string, or ends it
	length   int    // of the string
	escape   int    // bytes of an escape sequence of the string that follow
	hex      byte   // the last byte of an escape sequence, in lower case
	high     bool   // the last character is the first half of a surrogate pair
	dropped  bool   // the string is longer than what is kept
	key      []byte // beginning of the last string, which may be the name of what follows
}

const longestKey = len("arguments\"")

// argsNames are the names of members whose objects are args.
var argsNames = []string{"input", "args", "arguments", "parameters"}

// shortened returns a reader of the copy of an answer of a content type.
func shortened(src io.Reader, contentType string) io.Reader {
	kind := mediaType(contentType)
	if kind == "application/vnd.amazon.eventstream" { // binary
		return src
	}
	return &shortener{src: src, lines: kind != "application/json", most: maxTexts, left: maxTexts, buf: make([]byte, 4<<10)}
}

func (s *shortener) Read(p []byte) (int, error) {
	for len(s.out) == 0 && s.err == nil {
		var n int
		n, s.err = s.src.Read(s.buf)
		s.out = s.kept[:0]
		for _, c := range s.buf[:n] {
			s.next(c)
		}
		s.kept = s.out
	}
	n := copy(p, s.out)
	s.out = s.out[n:]
	if len(s.out) > 0 {
		return n, nil
	}
	return n, s.err
}

// next takes the next byte.
func (s *shortener) next(c byte) {
	switch {
	case s.inString:
		s.nextOfString(c)
		return
	case c == '"':
		s.inString, s.length, s.dropped, s.key = true, 0, false, s.key[:0]
	case c == '{' || c == '[':
		s.depth++
		if s.args == 0 && c == '{' && slices.Contains(argsNames, string(s.key)) {
			s.args = s.depth
		}
		s.key = s.key[:0]
	case c == '}' || c == ']':
		if s.depth == s.args {
			s.args = 0
		}
		s.depth--
	case c == ',':
		s.key = s.key[:0]
	case c == '\n' && s.lines:
		s.begin()
	}
	s.out = append(s.out, c)
}

// begin begins an event.
func (s *shortener) begin() {
	s.left, s.depth, s.args, s.escape, s.high, s.key = s.most, 0, 0, 0, false, s.key[:0]
}

// nextOfString takes a byte of a string, or the quotation mark behind it. What is kept of a
// string ends between characters.
func (s *shortener) nextOfString(c byte) {
	if s.escape == 0 && utf8.RuneStart(c) {
		if !s.dropped && !s.high && c != '"' && s.args == 0 && s.length >= shortText && s.left <= 0 {
			s.dropped = true
			s.out = append(s.out, "…"...)
		}
		s.high = false
	}
	switch {
	case s.escape == 1 && c == 'u':
		s.escape = 5
		fallthrough
	case s.escape > 0:
		s.high = s.high || s.escape == 3 && s.hex == 'd' && strings.IndexByte("89abAB", c) >= 0
		s.hex = c | 0x20
		s.escape--
	case c == '\\':
		s.escape = 1
	case c == '"', c == '\n' && s.lines: // a line break is no part of a string
		s.inString = false
		if c == '\n' {
			s.begin()
		}
		s.out = append(s.out, c)
		return
	}
	if s.length++; s.length > shortText {
		s.left--
	}
	if len(s.key) < longestKey {
		s.key = append(s.key, c)
	}
	if !s.dropped {
		s.out = append(s.out, c)
	}
}
