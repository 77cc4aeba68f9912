package langchain

import (
	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

type toolEvent struct {
	event, id, name, delta, output, message jsonscan.Value
}

func (e *toolEvent) read(data jsonscan.Value) {
	data.Read(
		e.event.From("event"), e.id.From("tool_call_id"), e.id.From("toolCallId"),
		e.name.From("tool_name"), e.name.From("toolName"), e.delta.From("delta"), e.output.From("output"),
		e.message.From("message"),
	)
}

func (d *Decoder) protocolTool(w *wire.Writer, ns string, data jsonscan.Value) *wire.Problem {
	var e toolEvent
	e.read(data)
	c := chunks.Chunk{Kind: chunks.Progress, Namespace: ns, ID: w.Text(e.id)}
	if c.ID == "" {
		return wire.WrongType("tool_call_id of tools", e.id, "a string")
	}
	switch e.event.Str {
	case "tool-started":
		d.Streams.retry(c.ID)
	case "tool-output-delta":
		c.Text = w.Text(e.delta)
		if e.delta.IsNested() {
			c.Text = w.Compact(e.delta.Raw)
		}
	case "tool-finished":
		if d.protocolOutput(w, ns, e.output) {
			return nil
		}
		c.Kind, c.Name, c.Status = chunks.Result, w.Text(e.name), "success"
		if c.Text = w.Text(e.output); e.output.IsNested() {
			c.Content = w.Compact(e.output.Raw)
		}
	case "tool-error":
		// A ToolMessage with the error text of the framework may follow.
		d.Streams.fail(c.ID)
		c.Kind, c.Name, c.Status, c.Text = chunks.Result, w.Text(e.name), "error", w.Text(e.message)
	default:
		w.Unknown("tools event", e.event.Str, data)
		return nil
	}
	w.Emit(c)
	return nil
}

// protocolOutput emits the result in an output that is a ToolMessage. It reports
// whether the output is one.
func (d *Decoder) protocolOutput(w *wire.Writer, ns string, output jsonscan.Value) bool {
	if !output.IsObject() || !looksLikeMessage(output) {
		return false
	}
	m := readMessage(output)
	return m.kind == kindTool && d.resultMessage(w, place{ns: ns}, &m) == nil
}
