package decode

import (
	"encoding/base64"

	"github.com/tidwall/gjson"
)

// openBytes opens {"bytes":"<base64>"} and {"chunk":{"bytes":…}}: so Bedrock's
// InvokeModelWithResponseStream sends the events of the model's own format.
// https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_PayloadPart.html
// A frame that is no such thing stays as it is.
func openBytes(f Frame) (Frame, *Problem) {
	encoded := packed(f.JSON)
	if encoded == "" {
		return f, nil
	}
	text, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return f, nil
	}
	inner := trim(alias(text))
	if p := checkJSON(inner); p != nil {
		p.Offset = 0 // the place is in bytes nobody sees
		p.Text = "in what bytes holds: " + p.Text
		return f, p
	}
	f.JSON, f.Opened = valueOf(inner), true
	if f.Name == "chunk" {
		f.Name = ""
	}
	return f, nil
}

// packed gives the base64 text of such a frame, or "". One look at the first
// key is enough for any other.
func packed(v gjson.Result) (encoded string) {
	for m := members(v); m.next(); {
		switch {
		case m.key == "bytes" && isString(m.value):
			encoded = m.value.Str
		case m.key == "chunk" && isObject(m.value):
			encoded = member(m.value, "bytes").Str
		case m.key != "p":
			return ""
		}
	}
	return encoded
}
