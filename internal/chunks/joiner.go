package chunks

import (
	"strings"
	"unicode/utf8"
)

// Joiner makes valid UTF-8 of text that comes in pieces in WTF-8: a surrogate
// pair cut between two pieces becomes its character, and a half that stays
// alone U+FFFD. (Decoding each piece for itself would make two U+FFFD of every
// emoji that a provider cuts in the middle.) The zero value is ready.
type Joiner struct {
	// High is the half that waits for its partner, 0 if none does.
	High rune
}

// Join gives the text that is certain after piece. It allocates only where
// there is a half to treat.
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

// End gives what is left when no more comes: U+FFFD for a waiting half.
func (j *Joiner) End() string {
	if j.High == 0 {
		return ""
	}
	j.High = 0
	return string(utf8.RuneError)
}

// surrogate reads a half of a surrogate pair in WTF-8, or 0 where there is none.
func surrogate(s string) rune {
	if len(s) < 3 || s[0] != 0xED || s[1] < 0xA0 || s[1] > 0xBF || s[2] < 0x80 || s[2] > 0xBF {
		return 0
	}
	return 0xD000 | rune(s[1]&0x3F)<<6 | rune(s[2]&0x3F)
}
