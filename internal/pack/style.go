package pack

import (
	"bytes"
	"strings"
)

// compactStyle returns a style sheet without comments, and without spaces that
// separate nothing. It keeps strings and addresses.
func compactStyle(in []byte) ([]byte, error) {
	out := make([]byte, 0, len(in))
	space := false
	for at := 0; at < len(in); {
		rest := in[at:]
		n, blank := 1, false
		switch c := rest[0]; {
		case c == ' ' || c == '\t' || c == '\r' || c == '\n':
			blank = true
		case bytes.HasPrefix(rest, []byte("/*")):
			blank, n = true, bytes.Index(rest[2:], []byte("*/"))+4
			if n < 4 {
				n = 0
			}
		case c == '"' || c == '\'':
			n = quotedLength(rest)
		case bytes.HasPrefix(rest, []byte("url(")):
			n = bytes.IndexByte(rest, ')') + 1
		}
		if n == 0 {
			return nil, errOpen
		}
		at += n
		if space = space || blank; blank {
			continue
		}
		if space && len(out) > 0 && separates(out[len(out)-1], rest[0]) {
			out = append(out, ' ')
		}
		out = append(out, rest[:n]...)
		space = false
	}
	return out, nil
}

// separates reports whether a space between two characters has a meaning in a style
// sheet. A space before a colon is a descendant, and one beside + or - is a part of a
// sum.
func separates(last, next byte) bool {
	return !strings.ContainsRune("{};,>:(", rune(last)) && !strings.ContainsRune("{};,>)", rune(next))
}
