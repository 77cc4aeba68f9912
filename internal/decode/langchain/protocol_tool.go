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

func (r reader) protocolTool(ns string, data jsonscan.Value) *wire.Problem {
	var e toolEvent
	e.read(data)
	c := chunks.Chunk{Kind: chunks.Progress, Namespace: ns, ID: r.Text(e.id)}
	if c.ID == "" {
		return wire.WrongType("tool_call_id of tools", e.id, "a string")
	}
	switch e.event.Str {
	case "tool-started":
		r.d.Streams.retry(c.ID)
	case "tool-output-delta":
		c.Text = r.Text(e.delta)
		if e.delta.IsNested() {
			c.Text = r.Compact(e.delta.Raw)
		}
	case "tool-finished":
		if r.protocolOutput(ns, e.output) {
			return nil
		}
		c.Kind, c.Name, c.Status = chunks.Result, r.Text(e.name), "success"
		if c.Text = r.Text(e.output); e.output.IsNested() {
			c.Content = r.Compact(e.output.Raw)
		}
	case "tool-error":
		// A ToolMessage with the error text of the framework may follow.
		r.d.Streams.fail(c.ID)
		c.Kind, c.Name, c.Status, c.Text = chunks.Result, r.Text(e.name), "error", r.Text(e.message)
	default:
		r.Unknown("tools event", e.event.Str, data)
		return nil
	}
	r.Emit(c)
	return nil
}

// protocolOutput emits the result in an output that is a ToolMessage. It reports
// whether the output is one.
func (r reader) protocolOutput(ns string, output jsonscan.Value) bool {
	if !output.IsObject() || !looksLikeMessage(output) {
		return false
	}
	m := readMessage(output)
	return m.kind == kindTool && r.resultMessage(place{ns: ns}, &m) == nil
}
