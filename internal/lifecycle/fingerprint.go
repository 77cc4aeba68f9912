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
	h := fnv.New64a()
	for i := 0; i < len(text); {
		n := jsonscan.TokenLen(text[i:])
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
