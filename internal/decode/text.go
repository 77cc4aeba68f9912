package decode

import (
	"bytes"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
	"unsafe"

	"github.com/tidwall/gjson"
)

// text gives the text of a JSON string, without copying where it has no
// escapes. An escaped surrogate without its partner becomes its three bytes of
// WTF-8 (ED A0..BF xx), so that halves that two deltas share can be joined
// later. A number or boolean gives its own spelling; null, an object, an array
// and a missing value give "". It holds until the next Reset.
func (r *Reader) text(v gjson.Result) string {
	switch v.Type {
	case gjson.String:
	case gjson.Number, gjson.True, gjson.False:
		return v.Raw
	default:
		return ""
	}
	if len(v.Raw) < 2 {
		return ""
	}
	return r.plain(v.Raw[1 : len(v.Raw)-1])
}

// plain gives the text of the inside of a JSON string, as text does.
func (r *Reader) plain(raw string) string {
	first := strings.IndexByte(raw, '\\')
	if first < 0 {
		return raw
	}
	start := len(r.scratch)
	r.scratch = append(r.scratch, raw[:first]...)
	r.scratch = unescape(r.scratch, raw[first:])
	r.halves = r.halves || bytes.IndexByte(r.scratch[start:], 0xED) >= 0
	// What was given out before stays whole: scratch only grows until Reset.
	return alias(r.scratch[start:])
}

// unescape appends the text of s, the inside of a valid JSON string.
func unescape(dst []byte, s string) []byte {
	for len(s) > 0 {
		i := strings.IndexByte(s, '\\')
		if i < 0 || i+1 >= len(s) {
			return append(dst, s...)
		}
		dst = append(dst, s[:i]...)
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

// codePoint reads the \uXXXX, or the pair of them, that s begins with, and
// gives how many bytes it took.
func codePoint(s string) (rune, int) {
	hi, ok := hex4(s)
	if !ok {
		return utf8.RuneError, 2
	}
	if lo, ok := hex4(s[6:]); ok {
		if c := utf16.DecodeRune(hi, lo); c != utf8.RuneError {
			return c, 12
		}
	}
	return hi, 6
}

// hex4 reads \uXXXX at the beginning of s.
func hex4(s string) (rune, bool) {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return 0, false
	}
	var c rune
	for _, d := range []byte(s[2:6]) {
		switch {
		case d >= '0' && d <= '9':
			d -= '0'
		case d >= 'a' && d <= 'f':
			d -= 'a' - 10
		case d >= 'A' && d <= 'F':
			d -= 'A' - 10
		default:
			return 0, false
		}
		c = c<<4 | rune(d)
	}
	return c, true
}

// appendWTF8 is utf8.AppendRune, but spells a surrogate instead of replacing it.
func appendWTF8(dst []byte, c rune) []byte {
	if !utf16.IsSurrogate(c) {
		return utf8.AppendRune(dst, c)
	}
	return append(dst, 0xE0|byte(c>>12), 0x80|byte(c>>6)&0x3F, 0x80|byte(c)&0x3F)
}

// alias gives the bytes of b as a string without copying them; b must not be
// changed while the string is in use.
func alias(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
