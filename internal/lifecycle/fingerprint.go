package lifecycle

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"hash/fnv"
	"math"
	"strconv"
)

// fingerprint tells the args of calls apart: it is the same for JSON that was
// written with other blanks, escapes or forms of a number, as frameworks do
// that repeat what a model said. 0 stands for args that are not known.
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
			f, _ := strconv.ParseFloat(string(text[i:i+n]), 64) // out of range is infinite, on both sides
			h.Write(binary.LittleEndian.AppendUint64([]byte{'0'}, math.Float64bits(f)))
		default:
			h.Write(text[i : i+n])
		}
		i += n
	}
	return max(1, h.Sum64())
}

// unquoted gives the text of a JSON string, or what there is of one.
func unquoted(token []byte) []byte {
	if bytes.IndexByte(token, '\\') >= 0 {
		var s string
		if json.Unmarshal(token, &s) == nil {
			return []byte(s)
		}
	}
	return bytes.Trim(token, `"`)
}

// token gives the length of the string, number or other byte of JSON that text
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
