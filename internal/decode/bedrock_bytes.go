package decode

import (
	"encoding/base64"

	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

// openBytes opens {"bytes":"<base64>"} and {"chunk":{"bytes":…}}: so Bedrock's
// InvokeModelWithResponseStream sends the events of the model's own format.
// https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_PayloadPart.html
// A frame that is no such thing stays as it is.
func openBytes(f wire.Frame) (wire.Frame, *wire.Problem) {
	encoded := packed(f.JSON)
	if encoded == "" {
		return f, nil
	}
	text, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return f, nil
	}
	inner := wire.Trim(wire.Alias(text))
	if p := wire.Check(inner); p != nil {
		p.Offset = 0 // the place is in bytes nobody sees
		p.Text = "in what bytes holds: " + p.Text
		return f, p
	}
	f.JSON, f.Opened = jsonscan.ValueOf(inner), true
	if f.Name == "chunk" {
		f.Name = ""
	}
	return f, nil
}

// packed gives the base64 text of such a frame, or "". One look at the first
// key is enough for any other.
func packed(v jsonscan.Value) (encoded string) {
	for m := v.Members(); m.Next(); {
		switch {
		case m.Key == "bytes" && m.Value.IsString():
			encoded = m.Value.Str
		case m.Key == "chunk" && m.Value.IsObject():
			encoded = m.Value.Member("bytes").Str
		case m.Key != "p":
			return ""
		}
	}
	return encoded
}
