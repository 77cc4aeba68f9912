package codex

import (
	"cmp"

	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

type item struct {
	kind, id, text, status           string
	command, output, exit            jsonscan.Value // of a command
	changes, query                   jsonscan.Value
	tool, arguments, result, failure jsonscan.Value // of an MCP tool
	receivers, prompt, agentStates   jsonscan.Value // of a tool for other agents
	whole                            jsonscan.Value
}

func (d *decoder) read(w *wire.Writer, v jsonscan.Value) (i item) {
	i.whole = v
	var kind, id, text, status jsonscan.Value
	v.Read(
		kind.From("type"), kind.From("item_type"), // the latter until September 2025
		id.From("id"), text.From("text"), status.From("status"), i.command.From("command"),
		i.output.From("aggregated_output"), i.exit.From("exit_code"), i.changes.From("changes"), i.query.From("query"),
		i.tool.From("tool"), i.arguments.From("arguments"), i.result.From("result"), i.failure.From("error"),
		i.receivers.From("receiver_thread_ids"), i.prompt.From("prompt"), i.agentStates.From("agents_states"),
	)
	i.kind, i.id, i.text, i.status = w.Text(kind), w.Text(id), w.Text(text), w.Text(status)
	return i
}

// item emits the chunks of an item. Items of other types, such as todo_list and
// error, are neither content nor calls.
func (d *decoder) item(w *wire.Writer, event string, v jsonscan.Value) *wire.Problem {
	i := d.read(w, v)
	completed := event == "item.completed"
	switch i.kind {
	case "agent_message", "assistant_message": // the latter until September 2025
		if completed {
			d.text(w, i.text)
		}
	case "reasoning":
		if completed {
			d.content(w, chunks.Reasoning, i.text)
		}
	case "command_execution", "file_change", "web_search", "mcp_tool_call", "collab_tool_call":
		if i.id == "" {
			return wire.WrongShape("the item of type %s has no id", i.kind)
		}
		d.call(w, &i, completed)
	case "todo_list", "error":
	default:
		d.unknownItem(w, "item", i.kind, v)
	}
	return nil
}

// unknownItem reads an item of an unknown type, or in an event of an unknown type. Items of
// calls have more than a text.
func (d *decoder) unknownItem(w *wire.Writer, what, kind string, v jsonscan.Value) {
	for m := v.Members(); m.Next(); {
		switch m.Key {
		case "id", "type", "item_type", "text", "message", "items":
		default:
			w.UnknownCall(what, kind, m.Key)
		}
	}
}

func (d *decoder) text(w *wire.Writer, text string) {
	d.start(w)
	if d.Text {
		d.Parts = 0
		w.Emit(chunks.Chunk{Kind: chunks.Start, Fresh: true})
	}
	d.Text = true
	d.content(w, chunks.Text, text)
}

func (d *decoder) content(w *wire.Writer, kind chunks.Kind, text string) {
	d.start(w)
	if text == "" {
		return
	}
	part := d.Parts
	d.Parts++
	w.Emit(chunks.Chunk{Kind: kind, Part: part, Text: text})
	w.Emit(chunks.Chunk{Kind: chunks.PartEnd, Part: part})
}

// call emits a call and, where the item is completed, its result. An item that was
// completed before is not open, so its id begins another call: each process counts
// its items from zero.
func (d *decoder) call(w *wire.Writer, i *item, completed bool) {
	d.start(w)
	if !d.Open.Has(i.id) {
		d.begin(w, i)
	}
	if d.Blank.Has(i.id) && (completed || !i.blank()) {
		w.EmitWhole(chunks.Chunk{Kind: chunks.Fragment, ID: i.id, Args: d.args(w, i), Object: true})
		d.Blank.Remove(i.id)
	}
	if completed {
		d.Open.Remove(i.id)
		d.result(w, i)
	}
}

// begin emits the beginning of a call. The args of most items are whole when they
// start. A search may have its query only when it is completed.
func (d *decoder) begin(w *wire.Writer, i *item) {
	c := chunks.Chunk{Kind: chunks.Fragment, ID: i.id, Name: i.kind, CallKind: "server", Provider: true, Opens: true, Final: true}
	switch i.kind {
	case "mcp_tool_call":
		c.CallKind = "mcp"
		c.Name = w.Text(i.tool)
	case "collab_tool_call":
		c.Name = w.Text(i.tool)
	}
	c.Name = cmp.Or(c.Name, i.kind)
	d.Open.Add(i.id, maxOpen)
	if i.blank() {
		w.Emit(c)
		d.Blank.Add(i.id, maxOpen)
		return
	}
	c.Args, c.Object = d.args(w, i), true
	w.EmitWhole(c)
	d.Blank.Remove(i.id)
}

// input returns the member of an item that is the args of a tool of the CLI.
func (i *item) input() wire.Member {
	switch i.kind {
	case "command_execution":
		return wire.Member{Key: "command", Value: i.command}
	case "file_change":
		return wire.Member{Key: "changes", Value: i.changes}
	case "web_search":
		return wire.Member{Key: "query", Value: i.query}
	}
	return wire.Member{}
}

func (i *item) blank() bool {
	m := i.input()
	elements := m.Value.Elements()
	return m.Key != "" && (!m.Value.Present() || m.Value.Raw == `""` || m.Value.IsArray() && !elements.Next())
}

func (d *decoder) args(w *wire.Writer, i *item) string {
	if m := i.input(); m.Key != "" {
		return w.Object(m)
	}
	if i.kind == "collab_tool_call" {
		return w.Object(wire.Member{Key: "prompt", Value: i.prompt}, wire.Member{Key: "receiver_thread_ids", Value: i.receivers})
	}
	if !i.arguments.Present() {
		w.UnknownMembers("the item", i.whole, "tool", "result", "error")
		return "{}"
	}
	return w.Compact(i.arguments.Raw)
}

func (d *decoder) result(w *wire.Writer, i *item) {
	c := chunks.Chunk{Kind: chunks.Result, ID: i.id, Status: i.resultStatus()}
	switch {
	case i.failure.Present():
		c.Text = w.FailureText(i.failure)
	case i.kind == "command_execution":
		c.Text = w.Text(i.output)
	case i.kind == "collab_tool_call" && i.agentStates.IsNested():
		c.Content = w.Compact(i.agentStates.Raw)
	case i.kind == "mcp_tool_call":
		content := i.result
		if list := content.Member("content"); list.IsArray() {
			content = list
		}
		c.Content, c.Text = w.ContentOf(content)
	}
	w.Emit(c)
}

// resultStatus returns success, error or denied. The exit code is null where the
// command did not end.
func (i *item) resultStatus() string {
	switch {
	case i.status == "declined":
		return "denied"
	case i.status == "failed", i.failure.Present(), i.exit.Present() && i.exit.Raw != "0":
		return "error"
	}
	return "success"
}
