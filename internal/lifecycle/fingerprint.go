package lifecycle

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"hash/fnv"
	"math"
	"strconv"
)

// fingerprint returns a hash of args that identifies them. It is the same for
// JSON with other blanks, escapes or number formats: frameworks that repeat a
// call write its args anew. 0 stands for unknown args.
func fingerprint(text []byte) uint64 {
	if len(text) == 0 {
		return 0
	}
	h := fnv.New64a()
	for i := 0; i < len(text); {
		n := token(text[i:])
		switch c := text[i]; {
		case c == ' ' || c == '\t' || c == '\r' || c == '\n':
		case c == '"':
			s := unquoted(text[i : i+n])
			h.Write(binary.LittleEndian.AppendUint64([]byte{'"'}, uint64(len(s))))
			h.Write(s)
		case c == '-' || c >= '0' && c <= '9':
			f, _ := strconv.ParseFloat(string(text[i:i+n]), 64) // a number out of range is infinite in both forms
			h.Write(binary.LittleEndian.AppendUint64([]byte{'0'}, math.Float64bits(f)))
		default:
			h.Write(text[i : i+n])
		}
		i += n
	}
	return max(1, h.Sum64())
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

// token returns the length of the string, number or other byte of JSON that text
// begins with.
func token(text []byte) int {
	switch c := text[0]; {
	case c == '"':
		for i := 1; i < len(text); i++ {
			switch text[i] {
			case '\\':
				i++
			case '"':
				return i + 1
			}
		}
		return len(text)
	case c == '-' || c >= '0' && c <= '9':
		for i := 1; i < len(text); i++ {
			switch c := text[i]; {
			case c >= '0' && c <= '9', c == '.', c == 'e', c == 'E', c == '+', c == '-':
			default:
				return i
			}
		}
		return len(text)
	}
	return 1
}
