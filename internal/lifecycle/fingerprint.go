package lifecycle

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"hash/fnv"
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
	var small [512]byte
	b := small[:0]
	for i := 0; i < len(text); {
		n := jsonscan.TokenLen(text[i:])
		switch c := text[i]; {
		case c == ' ' || c == '\t' || c == '\r' || c == '\n':
		case c == '"':
			s := unquoted(text[i : i+n])
			b = binary.LittleEndian.AppendUint64(append(b, '"'), uint64(len(s)))
			b = append(b, s...)
		case c == '-' || c >= '0' && c <= '9':
			f, _ := strconv.ParseFloat(string(text[i:i+n]), 64) // a number out of range is infinite in both forms
			b = binary.LittleEndian.AppendUint64(append(b, '0'), math.Float64bits(f))
		default:
			b = append(b, text[i:i+n]...)
		}
		i += n
	}
	h := fnv.New64a()
	h.Write(b)
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
