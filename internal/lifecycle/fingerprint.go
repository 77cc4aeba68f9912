package lifecycle

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math"
	"strconv"

	"streamer/internal/jsonscan"
)

// fingerprint returns a hash of args that identifies them. It is the same for
// JSON with other blanks, escapes or number formats: frameworks that repeat a
// call write its args anew. 0 stands for unknown args.
func fingerprint(text []byte) uint64 {
	if len(text) == 0 {
		return 0
	}
	h := newHash()
	for i := 0; i < len(text); {
		n := jsonscan.TokenLen(text[i:])
		switch c := text[i]; {
		case c == ' ' || c == '\t' || c == '\r' || c == '\n':
		case c == '"':
			s := unquoted(text[i : i+n])
			h.number('"', uint64(len(s)))
			h.write(s)
		case c == '-' || c >= '0' && c <= '9':
			f, _ := strconv.ParseFloat(string(text[i:i+n]), 64) // a number out of range is infinite in both forms
			h.number('0', math.Float64bits(f))
		default:
			h.write(text[i : i+n])
		}
		i += n
	}
	return max(1, uint64(h))
}

// hash is the 64-bit FNV-1a hash of what was written. The one of hash/fnv allocates
// memory for each token.
type hash uint64

func newHash() hash { return 14695981039346656037 }

func (h *hash) write(b []byte) {
	for _, c := range b {
		*h = (*h ^ hash(c)) * 1099511628211
	}
}

// number writes a number as eight bytes after a byte that states its kind.
func (h *hash) number(kind byte, n uint64) {
	var b [9]byte
	b[0] = kind
	binary.LittleEndian.PutUint64(b[1:], n)
	h.write(b[:])
}

// unquoted returns the text of a JSON string, or of the beginning of one.
func unquoted(token []byte) []byte {
	if bytes.IndexByte(token, '\\') >= 0 {
		var s string
		if json.Unmarshal(token, &s) == nil {
			return []byte(s)
		}
	}
	return bytes.Trim(token, `"`)
}
