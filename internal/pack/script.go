package pack

import (
	"bytes"
	"errors"
	"slices"
	"strings"
)

// errOpen reports a string, template, comment or regular expression without an end.
var errOpen = errors.New("a literal or a comment does not end")

// script is the scan of one script.
type script struct {
	in      []byte
	at      int
	out     []byte
	space   bool  // whitespace or a comment precedes the next token
	newline bool  // a newline precedes the next token
	word    bool  // the last token is a name, a number or a regular expression
	value   bool  // the last token ends an expression, so that a slash divides
	nesting []int // for each open template, the number of open braces in its expression
}

// compactScript returns JavaScript without comments, and without the spaces and
// newlines that separate nothing. It keeps the content of strings, templates and regular
// expressions, and each newline that could end a statement.
//
// A regular expression directly after a closing parenthesis or brace is not
// recognised. It can cause an error, as in a file that is not JavaScript.
func compactScript(in []byte) ([]byte, error) {
	s := script{in: in, out: make([]byte, 0, len(in))}
	for s.at < len(in) {
		if err := s.next(); err != nil {
			return nil, err
		}
	}
	if len(s.nesting) > 0 {
		return nil, errOpen
	}
	return s.out, nil
}

// next reads one token, comment or space.
func (s *script) next() error {
	c, rest := s.in[s.at], s.in[s.at:]
	switch {
	case c == ' ' || c == '\t' || c == '\r' || c == '\n':
		s.skip(1)
	case bytes.HasPrefix(rest, []byte("//")):
		s.skip(lineLength(rest))
	case bytes.HasPrefix(rest, []byte("/*")):
		end := bytes.Index(rest[2:], []byte("*/"))
		if end < 0 {
			return errOpen
		}
		s.skip(end + 4)
	case isWord(c):
		n := 1
		for n < len(rest) && isWord(rest[n]) {
			n++
		}
		s.token(n)
		s.word, s.value = true, !beforeExpression(string(rest[:n]))
	case c == '"' || c == '\'':
		return s.literal(quotedLength(rest))
	case c == '`':
		return s.template(1)
	case c == '/' && !s.value:
		if err := s.literal(regexpLength(rest)); err != nil {
			return err
		}
		s.word = true // a name directly after it would be its flags
	default:
		return s.mark(c)
	}
	return nil
}

// mark reads a punctuation mark. A closing brace can continue a template.
func (s *script) mark(c byte) error {
	if open := len(s.nesting) - 1; open >= 0 {
		switch {
		case c == '{':
			s.nesting[open]++
		case c == '}' && s.nesting[open] > 0:
			s.nesting[open]--
		case c == '}':
			s.nesting = s.nesting[:open]
			return s.template(1)
		}
	}
	s.token(1)
	s.word, s.value = false, c == ')' || c == ']' || c == '}'
	return nil
}

// template reads a template from a position in it to its end, or to its next
// expression. The first bytes are marks that belong to it.
func (s *script) template(first int) error {
	rest := s.in[s.at:]
	for n := first; n < len(rest); n++ {
		switch {
		case rest[n] == '\\':
			n++
		case rest[n] == '`':
			return s.literal(n + 1)
		case rest[n] == '$' && n+1 < len(rest) && rest[n+1] == '{':
			s.nesting = append(s.nesting, 0)
			s.token(n + 2)
			s.word, s.value = false, false
			return nil
		}
	}
	return errOpen
}

// literal copies n bytes, which are a value; n is 0 if the literal has no end.
func (s *script) literal(n int) error {
	if n == 0 {
		return errOpen
	}
	s.token(n)
	s.word, s.value = false, true
	return nil
}

// token copies n bytes, after a newline or a space if they would be read differently
// without it.
func (s *script) token(n int) {
	if len(s.out) > 0 {
		last, next := s.out[len(s.out)-1], s.in[s.at]
		switch {
		case s.newline && endsStatement(last, next):
			s.out = append(s.out, '\n')
		case s.space && s.joins(last, next):
			s.out = append(s.out, ' ')
		}
	}
	s.out = append(s.out, s.in[s.at:s.at+n]...)
	s.at += n
	s.space, s.newline = false, false
}

// endsStatement reports whether a newline between two characters can end a statement.
func endsStatement(last, next byte) bool {
	return !strings.ContainsRune("{([,;=?:&|", rune(last)) && !strings.ContainsRune(")]},;", rune(next))
}

// joins reports whether two tokens would be read as one, or differently, without a
// space between them.
func (s *script) joins(last, next byte) bool {
	if s.word && (isWord(next) || next == '.') { // 1 .toString()
		return true
	}
	return last == next && (next == '+' || next == '-' || next == '/')
}

// skip leaves out n bytes of whitespace or of a comment.
func (s *script) skip(n int) {
	s.newline = s.newline || bytes.IndexByte(s.in[s.at:s.at+n], '\n') >= 0
	s.space = true
	s.at += n
}

// beforeExpression reports whether a slash after the word begins a regular expression.
func beforeExpression(word string) bool {
	return slices.Contains([]string{
		"await", "case", "delete", "do", "else", "in", "instanceof", "new", "of", "return", "throw", "typeof", "void", "yield",
	}, word)
}

// isWord reports whether the byte is part of a name or a number.
func isWord(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c == '$' || c == '#' || c >= 0x80
}

// quotedLength returns the length of the string at the beginning of rest; 0 if it has
// no end.
func quotedLength(rest []byte) int {
	for n := 1; n < len(rest); n++ {
		switch rest[n] {
		case '\\':
			n++
		case '\n':
			return 0
		case rest[0]:
			return n + 1
		}
	}
	return 0
}

// regexpLength returns the length of the regular expression at the beginning of rest,
// without its flags; 0 if it has no end.
func regexpLength(rest []byte) int {
	class := false
	for n := 1; n < len(rest); n++ {
		switch rest[n] {
		case '\\':
			n++
		case '[':
			class = true
		case ']':
			class = false
		case '\n':
			return 0
		case '/':
			if !class {
				return n + 1
			}
		}
	}
	return 0
}

// lineLength returns the number of bytes before the next newline.
func lineLength(rest []byte) int {
	if n := bytes.IndexByte(rest, '\n'); n >= 0 {
		return n
	}
	return len(rest)
}
