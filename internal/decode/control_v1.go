package decode

import (
	"streamer/internal/chunks"

	"github.com/tidwall/gjson"
)

// ProgressV1 reads a progress as fold version 1 does: any number is a percent.
func ProgressV1(data []byte) (chunks.Chunk, *Problem) {
	b := body{r: new(Reader)}
	c := b.progress(b.open(data, "progress", false))
	if c.ID == "" && c.Call == "" {
		b.fail(&Problem{Code: BadShape, Text: noTarget})
	}
	return c, b.problem
}

// InterruptV1 reads an interrupt as fold version 1 does: unknown fields, null
// and empty lists name nothing, and what names nothing means everything.
func InterruptV1(data []byte) (InterruptBody, *Problem) {
	b := body{r: new(Reader)}
	var in InterruptBody
	for m := members(b.open(data, "interrupt", true)); m.next(); {
		switch m.key {
		case "reason":
			in.Reason = b.text(m.key, m.value)
		case "tool_call_ids":
			in.ToolCallIDs = b.texts(m.key, m.value)
		case "calls":
			in.Calls = b.texts(m.key, m.value)
		case "message_id":
			in.MessageID, in.HasMessageID = b.text(m.key, m.value), present(m.value)
		case "run":
			in.Run = b.text(m.key, m.value)
		}
	}
	return in, b.problem
}

// EndV1 reads an end as fold version 1 does: unknown fields are ignored, and
// what has no reason has completed.
func EndV1(data []byte) (string, *Problem) {
	b := body{r: new(Reader)}
	reason := ""
	for m := members(b.open(data, "end", true)); m.next(); {
		if m.key == "reason" {
			reason = b.text(m.key, m.value)
		}
	}
	if reason == "" {
		reason = "completed"
	}
	return b.oneOf("reason", reason, "completed", "error", "cancelled"), b.problem
}

// ResultV1 reads a result as fold version 1 does: unknown fields of the native
// shape are ignored.
func ResultV1(data []byte) ([]chunks.Chunk, *Problem) {
	return results(data, func(gjson.Result) *Problem { return nil })
}
