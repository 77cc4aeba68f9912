package encode

import (
	"bytes"
	"encoding/json"
)

// dataFrame appends a frame whose only field is v as JSON on one line. Where v
// cannot be written as JSON, because raw JSON in it is invalid, it appends nothing.
func dataFrame(dst []byte, v any) []byte {
	buf := bytes.NewBuffer(append(dst, "data: "...))
	enc := json.NewEncoder(buf)
	enc.SetEscapeHTML(false)
	if enc.Encode(v) != nil { // ends with LF
		return dst
	}
	return append(buf.Bytes(), '\n')
}
