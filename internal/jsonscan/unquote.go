package jsonscan

import (
	"math/bits"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// AppendUnquoted appends the text of the inside of a valid JSON string to dst.
// An escaped surrogate without its partner becomes its three bytes of WTF-8
// (ED A0..BF xx), so that halves that arrive in separate pieces can be joined
// later.
func AppendUnquoted(dst []byte, inside string) []byte {
	for s := inside; len(s) > 0; {
		i := 0
		if s[0] != '\\' {
			if i = strings.IndexByte(s, '\\'); i < 0 {
				return append(dst, s...)
			}
			dst = append(dst, s[:i]...)
		}
		if i+1 >= len(s) {
			return append(dst, s[i:]...)
		}
		switch c := s[i+1]; c {
		case 'u':
			c, n := codePoint(s[i:])
			dst = appendWTF8(dst, c)
			s = s[i+n:]
			continue
		case 'b':
			dst = append(dst, '\b')
		case 'f':
			dst = append(dst, '\f')
		case 'n':
			dst = append(dst, '\n')
		case 'r':
			dst = append(dst, '\r')
		case 't':
			dst = append(dst, '\t')
		default: // " \ /
			dst = append(dst, c)
		}
		s = s[i+2:]
	}
	return dst
}

// codePoint returns the character of the \uXXXX, or of the pair of them, that s
// begins with, and the number of bytes read.
func codePoint(s string) (rune, int) {
	hi, ok := hexEscape(s)
	if !ok {
		return utf8.RuneError, 2
	}
	if lo, ok := hexEscape(s[6:]); ok {
		if c := utf16.DecodeRune(hi, lo); c != utf8.RuneError {
			return c, 12
		}
	}
	return hi, 6
}

func hexEscape(s string) (rune, bool) {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return 0, false
	}
	c, err := strconv.ParseUint(s[2:6], 16, 16)
	return rune(c), err == nil
}

// InsideEnd returns the offset of the quote that ends the string whose inside
// begins at i, or -1 where the string is not valid.
func InsideEnd(s string, i int) int {
	start, ascii := i, true
	for {
		for len(s)-i >= 8 {
			special := specialBytes(load8(s[i:]))
			if special != 0 {
				i += bits.TrailingZeros64(special) / 8
				break
			}
			i += 8
		}
		if i >= len(s) {
			return -1
		}
		switch c := s[i]; {
		case c == '"':
			if !ascii && !utf8.ValidString(s[start:i]) {
				return -1
			}
			return i
		case c < ' ':
			return -1
		case c == '\\':
			n := escapeLen(s[i:])
			if n == 0 {
				return -1
			}
			i += n
		default:
			ascii = ascii && c < utf8.RuneSelf
			i++
		}
	}
}

// escapeLen returns the length of the escape that s begins with, or 0 if it is
// not valid.
func escapeLen(s string) int {
	if len(s) < 2 || s[0] != '\\' {
		return 0
	}
	switch s[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if _, ok := hexEscape(s); ok {
			return 6
		}
	}
	return 0
}

// appendWTF8 is utf8.AppendRune, except that it encodes a surrogate instead of
// replacing it.
func appendWTF8(dst []byte, c rune) []byte {
	if !utf16.IsSurrogate(c) {
		return utf8.AppendRune(dst, c)
	}
	return append(dst, 0xE0|byte(c>>12), 0x80|byte(c>>6)&0x3F, 0x80|byte(c)&0x3F)
}

// InvalidUTF8 returns the offset of the first byte of s that is not UTF-8, or -1.
func InvalidUTF8(s string) int {
	if utf8.ValidString(s) {
		return -1
	}
	for i, c := range s {
		if c == utf8.RuneError && !strings.HasPrefix(s[i:], "\ufffd") {
			return i
		}
	}
	return -1
}
