package decode

import (
	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

// ProgressV1 reads a progress as fold version 1 does: any number is a percent.
func ProgressV1(data []byte) (chunks.Chunk, *wire.Problem) {
	b := newBody()
	c := b.progress(b.Open(data, "progress", false))
	if c.ID == "" && c.Call == "" {
		b.Fail(&wire.Problem{Code: wire.BadShape, Text: noTarget})
	}
	return c, b.Problem
}

// InterruptV1 reads an interrupt as fold version 1 does: unknown fields, null and
// empty lists name nothing, and an interrupt that names nothing closes everything.
func InterruptV1(data []byte) (InterruptBody, *wire.Problem) {
	b := newBody()
	var in InterruptBody
	for m := b.Open(data, "interrupt", true).Members(); m.Next(); {
		switch m.Key {
		case "reason":
			in.Reason = b.Text(m.Key, m.Value)
		case "tool_call_ids":
			in.ToolCallIDs = b.Texts(m.Key, m.Value)
		case "calls":
			in.Calls = b.Texts(m.Key, m.Value)
		case "message_id":
			in.MessageID, in.HasMessageID = b.Text(m.Key, m.Value), m.Value.Present()
		case "run":
			in.Run = b.Text(m.Key, m.Value)
		}
	}
	return in, b.Problem
}

// EndV1 reads an end as fold version 1 does: unknown fields are ignored, and an end
// without a reason means completed.
func EndV1(data []byte) (string, *wire.Problem) {
	b := newBody()
	reason := ""
	for m := b.Open(data, "end", true).Members(); m.Next(); {
		if m.Key == "reason" {
			reason = b.Text(m.Key, m.Value)
		}
	}
	if reason == "" {
		reason = "completed"
	}
	return b.OneOf("reason", reason, "completed", "error", "cancelled"), b.Problem
}

// ResultV1 reads a result as fold version 1 does: unknown fields of the native
// shape are ignored.
func (r *Reader) ResultV1(data []byte) ([]chunks.Chunk, *wire.Problem) {
	return r.results(data, func(jsonscan.Value) *wire.Problem { return nil })
}
