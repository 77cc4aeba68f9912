package jsonscan

import (
	"strings"
	"unicode/utf8"
)

// Reader reads the values of a JSON text in order, each as the type that the caller
// expects:
//
//	for r := NewReader(text); r.Object(); {
//		for key, ok := r.Key(); ok; key, ok = r.Key() { … r.Text() … }
//	}
//
// It checks the text while it reads. After the first error there is nothing more to
// read, so a caller checks Err once at the end. Null is a value of every type. The cost
// is linear in the text, and only strings with escapes are copied.
type Reader struct {
	text  string
	at    int
	begun bool // an object or array that has just begun is the innermost one
	err   error
}

// NewReader returns a Reader of a text.
func NewReader(text string) Reader { return Reader{text: text} }

// Err returns the first error, or nil. It is a *SyntaxError or was passed to Fail.
func (r *Reader) Err() error { return r.err }

// Fail ends the reading with an error, unless there is one.
func (r *Reader) Fail(err error) {
	if r.err == nil {
		r.err = err
	}
	r.at, r.begun = len(r.text), false
}

// Offset returns the offset of the byte that is read next.
func (r *Reader) Offset() int { return r.at }

// want fails because the next byte begins or continues something else.
func (r *Reader) want(want string) {
	if r.at >= len(r.text) {
		r.Fail(&SyntaxError{Msg: "the JSON text ends before it is complete", Offset: r.at})
		return
	}
	r.Fail(&SyntaxError{Msg: show(r.text[r.at]) + " where " + want + " is expected", Offset: r.at})
}

// peek returns the next byte that is not white space, or 0.
func (r *Reader) peek() byte {
	for ; r.at < len(r.text); r.at++ {
		switch c := r.text[r.at]; c {
		case ' ', '\t', '\r', '\n':
		default:
			return c
		}
	}
	return 0
}

// literal reads a literal if it is next, and reports whether it is.
func (r *Reader) literal(word string) bool {
	if r.peek() != word[0] || !strings.HasPrefix(r.text[r.at:], word) {
		return false
	}
	r.at += len(word)
	return true
}

// Null reads null if it is next, and reports whether it is.
func (r *Reader) Null() bool { return r.literal("null") }

// Object begins an object, whose members Key reads. It reports false for null.
func (r *Reader) Object() bool { return r.enter('{', "an object") }

// Array begins an array, whose elements Element reads. It reports false for null.
func (r *Reader) Array() bool { return r.enter('[', "an array") }

func (r *Reader) enter(opening byte, want string) bool {
	switch {
	case r.peek() == opening:
		r.at++
		r.begun = true
		return true
	case !r.Null():
		r.want(want)
	}
	return false
}

// Key reads the key of the next member, whose value must be read next. It reports false
// at the end of the object.
func (r *Reader) Key() (key string, ok bool) {
	if !r.more('}') {
		return "", false
	}
	key = r.quoted("a key in double quotes")
	if r.peek() != ':' {
		r.want("a colon")
		return "", false
	}
	r.at++
	return key, true
}

// Element reports whether there is another element in the array, which must be read
// next.
func (r *Reader) Element() bool { return r.more(']') }

// more reads what precedes the next member or element, or the end.
func (r *Reader) more(closing byte) bool {
	begun := r.begun
	r.begun = false
	switch c := r.peek(); {
	case c == closing:
		r.at++
		return false
	case r.err != nil:
		return false
	case begun:
		return true
	case c == ',':
		r.at++
		return true
	}
	r.want("a comma or " + string(closing))
	return false
}

// Text reads a string. It reports false for null. The string shares the memory of the
// text where it has no escapes. Half of a surrogate pair is replaced.
func (r *Reader) Text() (s string, ok bool) {
	if r.Null() {
		return "", false
	}
	s = r.quoted("a string")
	return s, r.err == nil
}

// quoted reads a string.
func (r *Reader) quoted(want string) string {
	if r.peek() != '"' {
		r.want(want)
		return ""
	}
	start := r.at + 1
	for i := skipPlain(r.text, start); i < len(r.text); i++ {
		c := r.text[i]
		if c == '"' {
			r.at = i + 1
			return r.text[start:i]
		}
		if c < ' ' || c == '\\' || c >= utf8.RuneSelf {
			break
		}
	}
	raw := r.nested() // it has escapes, or bytes that need a closer look
	if raw == "" {
		return ""
	}
	return unquote(raw[1 : len(raw)-1])
}

// nested reads a string, an object or an array and returns its text.
func (r *Reader) nested() string {
	start := r.at
	var s Scanner
	s.Write(r.text[start:])
	if end := s.DoneAt(); end >= 0 {
		r.at += end
		return r.text[start:r.at]
	}
	r.at = len(r.text)
	if err := s.Err(); err != nil {
		r.Fail(&SyntaxError{Msg: err.Msg, Offset: start + err.Offset})
	}
	r.want("")
	return ""
}

// Raw reads any value and returns its text, which shares the memory of the whole text.
func (r *Reader) Raw() string {
	switch r.peek() {
	case '{', '[', '"':
		return r.nested()
	}
	start := r.at
	r.at = literalEnd(r.text, start)
	raw := r.text[start:r.at]
	if err := Check(raw); err != nil {
		r.at = start + err.Offset
		r.want("a JSON value")
		return ""
	}
	return raw
}

// Bool reads a boolean. ok is false for null.
func (r *Reader) Bool() (v, ok bool) {
	switch {
	case r.literal("true"):
		return true, true
	case r.literal("false"):
		return false, true
	case !r.Null():
		r.want("a boolean")
	}
	return false, false
}

// Integer reads an integer. It reports false for null. The value is n, or -n.
func (r *Reader) Integer() (n uint64, negative, ok bool) {
	if r.Null() {
		return 0, false, false
	}
	if negative = r.peek() == '-'; negative {
		r.at++
	}
	start := r.at
	for ; r.at < len(r.text) && r.text[r.at]-'0' <= 9; r.at++ {
		d := uint64(r.text[r.at] - '0')
		if n > (1<<64-1-d)/10 {
			r.want("an integer of 64 bits")
			return 0, false, false
		}
		n = n*10 + d
	}
	if r.at == start || r.text[start] == '0' && r.at > start+1 || r.at < len(r.text) && strings.IndexByte(".eE", r.text[r.at]) >= 0 {
		r.want("an integer")
		return 0, false, false
	}
	return n, negative, true
}

// End checks that the text has no other value.
func (r *Reader) End() {
	if r.peek(); r.err == nil && r.at < len(r.text) {
		r.want("nothing more")
	}
}
