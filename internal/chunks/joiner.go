package chunks

import (
	"strings"
	"unicode/utf8"
)

// Joiner makes valid UTF-8 of text that comes in pieces in WTF-8. A surrogate
// pair that is cut between two pieces becomes its character, and a half without
// its other half becomes U+FFFD. Decoding each piece separately would turn every
// emoji that a provider cuts in the middle into two U+FFFD. The zero value is
// ready to use.
type Joiner struct {
	// High is a high surrogate that waits for its low one, 0 if there is none.
	High rune
}

// Join returns the text that is certain after piece. It allocates only where
// piece has a surrogate half or one waits.
func (j *Joiner) Join(piece string) string {
	if j.High == 0 && strings.IndexByte(piece, 0xED) < 0 || piece == "" {
		return piece
	}
	var b strings.Builder
	for i := 0; i < len(piece); {
		half := surrogate(piece[i:])
		if j.High != 0 {
			high := j.High
			j.High = 0
			if half >= 0xDC00 {
				b.WriteRune((high-0xD800)<<10 + (half - 0xDC00) + 0x10000)
				i += 3
				continue
			}
			b.WriteRune(utf8.RuneError)
		}
		switch {
		case half == 0:
			n := 1 + strings.IndexByte(piece[i+1:], 0xED)
			if n == 0 {
				n = len(piece) - i
			}
			b.WriteString(piece[i : i+n])
			i += n
		case half < 0xDC00:
			j.High = half
			i += 3
		default:
			b.WriteRune(utf8.RuneError)
			i += 3
		}
	}
	return b.String()
}

// End returns the rest of the text where no piece follows: U+FFFD for a waiting
// half, else "".
func (j *Joiner) End() string {
	if j.High == 0 {
		return ""
	}
	j.High = 0
	return string(utf8.RuneError)
}

// surrogate returns the surrogate half that s begins with in WTF-8, or 0.
func surrogate(s string) rune {
	if len(s) < 3 || s[0] != 0xED || s[1] < 0xA0 || s[1] > 0xBF || s[2] < 0x80 || s[2] > 0xBF {
		return 0
	}
	return 0xD000 | rune(s[1]&0x3F)<<6 | rune(s[2]&0x3F)
}
