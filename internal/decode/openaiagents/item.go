package openaiagents

import (
	"strings"

	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

type rawItem struct {
	kind, id, name, args, output, status, content jsonscan.Value
}

func readItem(v jsonscan.Value) (i rawItem) {
	v.Read(
		i.kind.From("type"), i.id.From("callId"), i.id.From("call_id"), i.name.From("name"), i.args.From("arguments"), i.args.From("action"),
		i.output.From("output"), i.status.From("status"), i.content.From("content"),
	)
	return i
}

// item reads a step of the run. Steps of other names repeat texts of the model, or have no
// call of the program.
func (d *decoder) item(w *wire.Writer, name string, item jsonscan.Value) *wire.Problem {
	var raw, output, target, agent jsonscan.Value
	item.Read(
		raw.From("rawItem"), raw.From("raw_item"), output.From("output"), target.From("targetAgent"), target.From("target_agent"),
		agent.From("agent"), agent.From("sourceAgent"), agent.From("source_agent"),
	)
	if d.Agent == "" && d.First == "" && d.Message != "" {
		d.First = wire.Keep(w.Text(agent.Member("name")))
	}
	i := readItem(raw)
	switch name {
	case "tool_called", "handoff_requested":
		d.call(w, "", &i)
	case "tool_output", "handoff_occurred", "handoff_occured": //nolint:misspell // Python spells it so
		if i.id.IsString() {
			result(w, &i, output)
		}
		if target.IsObject() {
			d.takeOver(w, target)
		}
	case "tool_approval_requested":
		if id := w.Text(i.id); id != "" {
			w.Emit(chunks.Chunk{Kind: chunks.Await, ID: id, Why: "approval"})
			w.Emit(chunks.Chunk{Kind: chunks.RunEnd, Status: "interrupted"})
		}
	case "message_output_created", "reasoning_item_created", "tool_search_called", "tool_search_output_created", "mcp_list_tools",
		"mcp_approval_requested", "mcp_approval_response", "compaction_item_created":
	default:
		w.Unknown("step", name, item)
	}
	return nil
}

// call emits a whole call, which most often was streamed. Tools of the provider have no id
// of a call.
func (d *decoder) call(w *wire.Writer, message string, i *rawItem) {
	id := w.Text(i.id)
	if id == "" {
		return
	}
	c := chunks.Chunk{
		Kind: chunks.Fragment, Namespace: d.Agent, Message: message, ID: id, Name: w.Text(i.name),
		Final: true, Whole: true,
	}
	w.SetArgs(&c, i.args)
	if c.Name == "" {
		c.Name = strings.TrimSuffix(i.kind.Str, "_call")
	}
	w.EmitWhole(c)
}

// result emits a result. The output of the item is that of the tool, and that of the raw
// item what the model gets.
func result(w *wire.Writer, i *rawItem, output jsonscan.Value) {
	c := chunks.Chunk{Kind: chunks.Result, ID: w.Text(i.id), Status: "success"}
	given := i.output
	if given.IsObject() && given.Member("text").IsString() {
		given = given.Member("text")
	}
	if !given.Present() {
		given = output
	}
	c.Content, c.Text = w.OneText(given)
	switch {
	case i.status.Str == "incomplete":
		c.Status = "error"
	case c.Text == "Tool execution was not approved.": // the default text
		c.Status = "denied"
	}
	w.Emit(c)
}

func (d *decoder) whole(w *wire.Writer, response jsonscan.Value) {
	var id, output, usage jsonscan.Value
	response.Read(id.From("id"), output.From("output"), usage.From("usage"))
	message := w.Text(id)
	d.next(wire.Keep(message))
	d.Message, d.Asked = wire.Keep(message), false
	of := chunks.Chunk{Namespace: d.Agent, Message: message}
	start := of
	start.Kind, start.Role, start.Fresh = chunks.Start, "assistant", true
	w.Emit(start)
	part := 0
	for e := output.Elements(); e.Next(); {
		i := readItem(e.Value)
		switch i.kind.Str {
		case "function_call":
			d.Asked = true
			d.call(w, message, &i)
		case "message":
			if text := outputText(w, i.content); text != "" {
				c := of
				c.Kind, c.Part, c.Text = chunks.Text, part, text
				w.Emit(c)
				part++
			}
		}
	}
	of.Kind = chunks.Finish
	w.Emit(of)
	w.EmitUsage(of, usage)
	of.Kind = chunks.Ended
	w.Emit(of)
}

func outputText(w *wire.Writer, content jsonscan.Value) string {
	var text strings.Builder
	for e := content.Elements(); e.Next(); {
		text.WriteString(w.Text(e.Value.Member("text")))
	}
	return text.String()
}
