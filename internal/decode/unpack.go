package decode

import (
	"encoding/base64"

	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

// unpack returns the event in {"bytes":"<base64>"} or {"chunk":{"bytes":…}}. Bedrock's
// InvokeModelWithResponseStream packs the events of the model's own format in this way:
// https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_PayloadPart.html
// Any other frame is returned unchanged.
func unpack(f wire.Frame) (wire.Frame, *wire.Problem) {
	switch f.JSON.FirstKey() { // most events end here
	case "bytes", "chunk", "p":
	default:
		return f, nil
	}
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
		p.Offset = 0 // the place is in the packed bytes
		p.Text = "in what bytes holds: " + p.Text
		return f, p
	}
	f.JSON, f.Opened = jsonscan.ValueOf(inner), true
	if f.Name == "chunk" {
		f.Name = ""
	}
	return f, nil
}

// packed returns the base64 text of such a frame, or "". It reads no more members than
// it needs.
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
