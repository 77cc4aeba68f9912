package codex

import (
	"slices"

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

func (r reader) read(v jsonscan.Value) (i item) {
	i.whole = v
	for m := v.Members(); m.Next(); {
		switch m.Key {
		case "type", "item_type": // the latter until September 2025
			i.kind = r.Text(m.Value)
		case "id":
			i.id = r.Text(m.Value)
		case "text":
			i.text = r.Text(m.Value)
		case "status":
			i.status = r.Text(m.Value)
		case "command":
			i.command = m.Value
		case "aggregated_output":
			i.output = m.Value
		case "exit_code":
			i.exit = m.Value
		case "changes":
			i.changes = m.Value
		case "query":
			i.query = m.Value
		case "tool":
			i.tool = m.Value
		case "arguments":
			i.arguments = m.Value
		case "result":
			i.result = m.Value
		case "error":
			i.failure = m.Value
		case "receiver_thread_ids":
			i.receivers = m.Value
		case "prompt":
			i.prompt = m.Value
		case "agents_states":
			i.agentStates = m.Value
		}
	}
	return i
}

// item emits the chunks of an item. Items of other types, such as todo_list and
// error, are neither content nor calls.
func (r reader) item(event string, v jsonscan.Value) *wire.Problem {
	i := r.read(v)
	completed := event == "item.completed"
	switch i.kind {
	case "agent_message", "assistant_message": // the latter until September 2025
		if completed {
			r.text(i.text)
		}
	case "reasoning":
		if completed {
			r.content(chunks.Reasoning, i.text)
		}
	case "command_execution", "file_change", "web_search", "mcp_tool_call", "collab_tool_call":
		if i.id == "" {
			return wire.WrongShape("the item of type %s has no id", i.kind)
		}
		r.call(&i, completed)
	case "todo_list", "error":
	default:
		r.unknownItem("item", i.kind, v)
	}
	return nil
}

// unknownItem reads an item of an unknown type, or in an event of an unknown type. Items of
// calls have more than a text.
func (r reader) unknownItem(what, kind string, v jsonscan.Value) {
	for m := v.Members(); m.Next(); {
		switch m.Key {
		case "id", "type", "item_type", "text", "message", "items":
		default:
			r.UnknownCall(what, kind, m.Key)
		}
	}
}

func (r reader) text(text string) {
	r.start()
	if r.d.Text {
		r.d.Parts = 0
		r.Emit(chunks.Chunk{Kind: chunks.Start, Fresh: true})
	}
	r.d.Text = true
	r.content(chunks.Text, text)
}

func (r reader) content(kind chunks.Kind, text string) {
	r.start()
	if text == "" {
		return
	}
	part := r.d.Parts
	r.d.Parts++
	r.Emit(chunks.Chunk{Kind: kind, Part: part, Text: text})
	r.Emit(chunks.Chunk{Kind: chunks.PartEnd, Part: part})
}

// call emits a call and, where the item is completed, its result. An item that was
// completed before is not open, so its id begins another call: each process counts
// its items from zero.
func (r reader) call(i *item, completed bool) {
	r.start()
	if !slices.Contains(r.d.Open, i.id) {
		r.begin(i)
	}
	if slices.Contains(r.d.Blank, i.id) && (completed || !i.blank()) {
		r.Emit(chunks.Chunk{Kind: chunks.Fragment, ID: i.id, Args: r.args(i), Object: true})
		r.seal(i)
	}
	if completed {
		r.d.Open = remove(r.d.Open, i.id)
		r.result(i)
	}
}

// begin emits the beginning of a call. The args of most items are whole when they
// start. A search may have its query only when it is completed.
func (r reader) begin(i *item) {
	c := chunks.Chunk{Kind: chunks.Fragment, ID: i.id, Name: i.kind, CallKind: "server", Provider: true, Opens: true, Final: true}
	switch i.kind {
	case "mcp_tool_call":
		c.CallKind = "mcp"
		c.Name = r.Text(i.tool)
	case "collab_tool_call":
		c.Name = r.Text(i.tool)
	}
	if c.Name == "" {
		c.Name = i.kind
	}
	r.d.Open = append(wire.MakeRoom(r.d.Open, maxOpen), wire.Keep(i.id))
	if i.blank() {
		r.Emit(c)
		r.d.Blank = append(wire.MakeRoom(r.d.Blank, maxOpen), wire.Keep(i.id))
		return
	}
	c.Args, c.Object = r.args(i), true
	r.Emit(c)
	r.seal(i)
}

func (r reader) seal(i *item) {
	r.Emit(chunks.Chunk{Kind: chunks.Seal, ID: i.id})
	r.d.Blank = remove(r.d.Blank, i.id)
}

func remove(list []string, s string) []string {
	if k := slices.Index(list, s); k >= 0 {
		return slices.Delete(list, k, k+1)
	}
	return list
}

func (i *item) blank() bool {
	args := jsonscan.Value{}
	switch i.kind {
	case "command_execution":
		args = i.command
	case "file_change":
		args = i.changes
	case "web_search":
		args = i.query
	default:
		return false
	}
	elements := args.Elements()
	return !args.Present() || args.Raw == `""` || args.IsArray() && !elements.Next()
}

func (r reader) args(i *item) string {
	switch i.kind {
	case "command_execution":
		return r.object(member{`"command"`, i.command})
	case "file_change":
		return r.object(member{`"changes"`, i.changes})
	case "web_search":
		return r.object(member{`"query"`, i.query})
	case "collab_tool_call":
		return r.object(member{`"prompt"`, i.prompt}, member{`"receiver_thread_ids"`, i.receivers})
	}
	if !i.arguments.Present() {
		r.UnknownMembers("the item", i.whole, "tool", "result", "error")
		return "{}"
	}
	if i.arguments.IsNested() {
		return r.Compact(i.arguments.Raw)
	}
	return i.arguments.Raw
}

type member struct {
	rawKey string
	value  jsonscan.Value
}

func (r reader) object(members ...member) string {
	return r.Compact(r.Build(func(dst []byte) []byte {
		dst = append(dst, '{')
		for _, m := range members {
			if m.value.Present() {
				dst = append(wire.AppendKey(dst, m.rawKey), m.value.Raw...)
			}
		}
		return append(dst, '}')
	}))
}

func (r reader) result(i *item) {
	c := chunks.Chunk{Kind: chunks.Result, ID: i.id, Status: i.resultStatus()}
	switch {
	case i.failure.Present():
		c.Text = r.FailureText(i.failure)
	case i.kind == "command_execution":
		c.Text = r.Text(i.output)
	case i.kind == "collab_tool_call" && i.agentStates.IsNested():
		c.Content = r.Compact(i.agentStates.Raw)
	case i.kind == "mcp_tool_call":
		c.Content, c.Text = r.mcpResult(i.result)
	}
	r.Emit(c)
}

// mcpResult returns the content of an MCP result: {"content":[…],"structured_content"}.
func (r reader) mcpResult(v jsonscan.Value) (content, text string) {
	if list := v.Member("content"); list.IsArray() {
		return r.Compact(list.Raw), ""
	}
	if v.IsNested() {
		return r.Compact(v.Raw), ""
	}
	return "", r.Text(v)
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
