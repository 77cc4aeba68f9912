package langchain

import (
	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

func (d *decoder) protocolTool(w *wire.Writer, ns string, data jsonscan.Value) *wire.Problem {
	var event, id, name, delta, output, message jsonscan.Value
	data.Read(
		event.From("event"), id.From("tool_call_id"), id.From("toolCallId"), name.From("tool_name"),
		name.From("toolName"), delta.From("delta"), output.From("output"), message.From("message"),
	)
	c := chunks.Chunk{Kind: chunks.Progress, Namespace: ns, ID: w.Text(id)}
	if c.ID == "" {
		return wire.WrongType("tool_call_id of tools", id, "a string")
	}
	switch event.Str {
	case "tool-started":
		d.Streams.retry(c.ID)
	case "tool-output-delta":
		c.Text = w.Text(delta)
		if delta.IsNested() {
			c.Text = w.Compact(delta.Raw)
		}
	case "tool-finished":
		if d.protocolOutput(w, ns, output) {
			return nil
		}
		c.Kind, c.Name, c.Status = chunks.Result, w.Text(name), "success"
		c.Content, c.Text = w.ContentOf(output)
	case "tool-error":
		// A ToolMessage with the error text of the framework may follow.
		d.Streams.fail(c.ID)
		c.Kind, c.Name, c.Status, c.Text = chunks.Result, w.Text(name), "error", w.Text(message)
	default:
		w.Unknown("tools event", event.Str, data)
		return nil
	}
	w.Emit(c)
	return nil
}

// protocolOutput emits the result in an output that is a ToolMessage. It reports
// whether the output is one.
func (d *decoder) protocolOutput(w *wire.Writer, ns string, output jsonscan.Value) bool {
	if !output.IsObject() || !looksLikeMessage(output) {
		return false
	}
	m := readMessage(output)
	return m.kind == kindTool && d.resultMessage(w, place{ns: ns}, &m) == nil
}
