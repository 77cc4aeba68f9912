package codex

import (
	"cmp"
	"strings"

	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

type item struct {
	kind, id, text, status           string
	command, output, exit            jsonscan.Value // of a command
	changes, query, path, sleep      jsonscan.Value
	tool, arguments, result, failure jsonscan.Value // of an MCP tool
	items, success                   jsonscan.Value // of a tool of the client
	receivers, prompt, agentStates   jsonscan.Value // of a tool for other agents
	whole                            jsonscan.Value
}

// read reads an item. Those of session files have the names of some members in camel case.
func read(w *wire.Writer, v jsonscan.Value) (i item) {
	i.whole = v
	var kind, id, text, status jsonscan.Value
	v.Read(
		kind.From("type"), kind.From("item_type"), // the latter until September 2025
		id.From("id"), text.From("text"), status.From("status"), i.command.From("command"),
		i.output.From("aggregated_output"), i.exit.From("exit_code"), i.changes.From("changes"), i.query.From("query"),
		i.tool.From("tool"), i.arguments.From("arguments"), i.result.From("result"), i.failure.From("error"),
		i.receivers.From("receiver_thread_ids"), i.prompt.From("prompt"), i.agentStates.From("agents_states"),
		i.output.From("aggregatedOutput"), i.exit.From("exitCode"), i.receivers.From("receiverThreadIds"), i.agentStates.From("agentsStates"),
		i.path.From("path"), i.sleep.From("duration_ms"), i.items.From("content_items"), i.items.From("contentItems"), i.success.From("success"),
	)
	i.kind, i.id, i.text, i.status = w.Text(kind), w.Text(id), w.Text(text), w.Text(status)
	return i
}

// item emits the chunks of an item. Items of other types, such as todo_list and
// error, are neither content nor calls.
func (d *decoder) item(w *wire.Writer, event string, v jsonscan.Value) *wire.Problem {
	i := read(w, v)
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
	case "todo_list", "error":
	default:
		if !ofCall(i.kind) {
			unknownItem(w, "item", i.kind, v)
			return nil
		}
		if i.id == "" {
			return wire.WrongShape("the item of type %s has no id", i.kind)
		}
		d.call(w, &i, completed)
	}
	return nil
}

// ofCall reports whether items of a type are calls.
func ofCall(kind string) bool {
	switch kind {
	case "command_execution", "file_change", "web_search", "mcp_tool_call", "dynamic_tool_call", "collab_tool_call", "collab_agent_tool_call",
		"image_view", "image_generation", "sleep":
		return true
	}
	return false
}

// unknownItem reads an item of an unknown type, or in an event of an unknown type. Items of
// calls have more than a text.
func unknownItem(w *wire.Writer, what, kind string, v jsonscan.Value) {
	for m := v.Members(); m.Next(); {
		switch m.Key {
		case "id", "type", "item_type", "text", "message", "items", "content", "summary_text", "raw_content":
		default:
			w.UnknownCall(what, kind, m.Key)
		}
	}
}

func (d *decoder) text(w *wire.Writer, text string) {
	d.start(w)
	if d.Text && len(d.Blank) == 0 { // else the args of a call are to come
		d.Parts = 0
		w.StartMessage(true, chunks.Chunk{})
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
		w.EmitWhole(chunks.Chunk{Kind: chunks.Fragment, ID: i.id, Args: i.args(w), Object: true})
		d.Blank.Remove(i.id)
	}
	if completed {
		d.Open.Remove(i.id)
		w.Emit(i.end(w))
	}
}

// begin emits the beginning of a call. The args of most items are whole when they
// start. A search may have its query only when it is completed.
func (d *decoder) begin(w *wire.Writer, i *item) {
	c := i.start(w)
	d.Open.Add(i.id, maxOpen)
	if i.blank() {
		w.Emit(c)
		d.Blank.Add(i.id, maxOpen)
		return
	}
	c.Args, c.Object = i.args(w), true
	w.EmitWhole(c)
	d.Blank.Remove(i.id)
}

// start returns the fragment that begins a call, without its args.
func (i *item) start(w *wire.Writer) chunks.Chunk {
	c := chunks.Chunk{Kind: chunks.Fragment, ID: i.id, Name: cmp.Or(w.Text(i.tool), i.kind), CallKind: "server", Provider: true, Opens: true, Final: true}
	if i.kind == "mcp_tool_call" {
		c.CallKind = "mcp"
	}
	return c
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
	case "image_view":
		return wire.Member{Key: "path", Value: i.path}
	case "sleep":
		return wire.Member{Key: "duration_ms", Value: i.sleep}
	}
	return wire.Member{}
}

func (i *item) blank() bool {
	m := i.input()
	elements := m.Value.Elements()
	return m.Key != "" && (!m.Value.Present() || m.Value.Raw == `""` || m.Value.IsArray() && !elements.Next())
}

func (i *item) args(w *wire.Writer) string {
	if m := i.input(); m.Key != "" {
		return w.Object(m)
	}
	if strings.HasPrefix(i.kind, "collab_") {
		return w.Object(wire.Member{Key: "prompt", Value: i.prompt}, wire.Member{Key: "receiver_thread_ids", Value: i.receivers})
	}
	if !i.arguments.Present() {
		w.UnknownMembers("the item", i.whole, "tool", "result", "error")
		return "{}"
	}
	return w.Compact(i.arguments.Raw)
}

// end returns the result of a call. The image in that of an image_generation is left out.
func (i *item) end(w *wire.Writer) chunks.Chunk {
	c := chunks.Chunk{Kind: chunks.Result, ID: i.id, Status: i.resultStatus()}
	switch {
	case i.failure.Present():
		c.Text = w.FailureText(i.failure)
	case i.kind == "command_execution":
		c.Text = w.Text(i.output)
	case i.agentStates.IsNested():
		c.Content = w.Compact(i.agentStates.Raw)
	case i.items.IsArray():
		c.Content, c.Text = w.ContentOf(i.items)
	case i.kind == "mcp_tool_call":
		content := i.result
		if list := content.Member("content"); list.IsArray() {
			content = list
		}
		c.Content, c.Text = w.ContentOf(content)
	}
	return c
}

// resultStatus returns success, error or denied. The exit code is null where the
// command did not end.
func (i *item) resultStatus() string {
	switch {
	case i.status == "declined":
		return "denied"
	case i.status == "failed", i.failure.Present(), i.exit.Present() && i.exit.Raw != "0", i.success.Kind == jsonscan.False, wire.IsError(i.result):
		return "error"
	}
	return "success"
}
