package codexserver

import (
	"cmp"

	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

type item struct {
	kind, id, text, content, summary, status        jsonscan.Value
	command, output, exit, changes, query, path     jsonscan.Value
	tool, args, result, failure, items, success     jsonscan.Value
	prompt, receivers, agents, saved, sleep, action jsonscan.Value
	whole                                           jsonscan.Value
}

func read(v jsonscan.Value) (i item) {
	i.whole = v
	v.Read(
		i.kind.From("type"), i.id.From("id"), i.text.From("text"), i.content.From("content"), i.summary.From("summary"), i.status.From("status"),
		i.command.From("command"), i.output.From("aggregatedOutput"), i.exit.From("exitCode"), i.changes.From("changes"), i.query.From("query"),
		i.path.From("path"), i.tool.From("tool"), i.args.From("arguments"), i.result.From("result"), i.failure.From("error"),
		i.items.From("contentItems"), i.success.From("success"), i.prompt.From("prompt"), i.receivers.From("receiverThreadIds"),
		i.agents.From("agentsStates"), i.saved.From("savedPath"), i.sleep.From("durationMs"), i.action.From("action"),
	)
	return i
}

// item emits the chunks of an item. A message of a person may come while calls run.
func (d *decoder) item(w *wire.Writer, t *Thread, v jsonscan.Value, completed bool) *wire.Problem {
	i := read(v)
	id := w.Text(i.id)
	switch i.kind.Str {
	case "userMessage":
		if t.Namespace == "" {
			w.Emit(chunks.Chunk{Kind: chunks.Human, ID: id, Text: w.PlainText(i.content), Aside: true})
		}
	case "agentMessage", "plan":
		if completed {
			d.text(w, t, chunks.Text, id, w.Text(i.text))
		}
	case "reasoning":
		if text := cmp.Or(w.PlainText(i.summary), w.PlainText(i.content)); completed {
			d.text(w, t, chunks.Reasoning, id, text)
		}
	case "commandExecution", "fileChange", "mcpToolCall", "dynamicToolCall", "collabAgentToolCall", "webSearch", "imageView", "imageGeneration", "sleep":
		if !i.id.IsString() || id == "" {
			return wire.WrongType("params.item.id", i.id, "a string that is not empty")
		}
		d.call(w, t, &i, id, completed)
	case "hookPrompt", "subAgentActivity", "enteredReviewMode", "exitedReviewMode", "contextCompaction":
	default:
		unknownItem(w, "item", i.kind.Str, v)
	}
	return nil
}

// unknownItem reads an item of an unknown type, or in an unknown message. Items of calls
// have more than a text.
func unknownItem(w *wire.Writer, what, kind string, v jsonscan.Value) {
	for m := v.Members(); m.Next(); {
		switch m.Key {
		case "id", "type", "text", "clientId", "content", "summary", "phase", "memoryCitation", "delivery", "questions", "fragments", "review":
		default:
			w.UnknownCall(what, kind, m.Key)
		}
	}
}

// call emits a call when its item starts, and its result when it is completed. Items that
// have no start are read too. An item that is completed after its turn was interrupted
// confirms the call that the end of the turn has closed.
func (d *decoder) call(w *wire.Writer, t *Thread, i *item, id string, completed bool) {
	open := d.Open.Has(id)
	name, kind, args := d.called(w, i)
	switch {
	case !open:
		d.endText(w, t)
		c := t.chunk(chunks.Fragment)
		c.Part, c.ID, c.Name, c.CallKind, c.Provider = 0, id, name, kind, kind != ""
		c.Final, c.Opens, c.Whole = true, !completed, completed
		if t.Namespace != t.ID {
			c.ParentCall = t.Namespace
		}
		if blank := args == "" && !completed; blank {
			d.Blank.Add(id, maxCalls)
			w.Emit(c)
			break
		}
		c.Args, c.Object = cmp.Or(args, "{}"), true
		w.EmitWhole(c)
	case d.Blank.Has(id) && (completed || args != ""):
		w.EmitWhole(chunks.Chunk{Kind: chunks.Fragment, Namespace: t.Namespace, ID: id, Args: cmp.Or(args, "{}"), Object: true})
		d.Blank.Remove(id)
	}
	if i.receivers.IsArray() {
		d.adopt(w, id, i.receivers)
		t = d.thread(t.ID) // the list of threads may have moved
	}
	switch {
	case completed:
		d.Open.Remove(id)
		d.Blank.Remove(id)
		t.Answered = true
		d.result(w, t, i, id)
	case !open:
		d.Open.Add(id, maxCalls)
	}
}

// called returns the name, the kind and the args of a call. The args are "" where they
// come later.
func (d *decoder) called(w *wire.Writer, i *item) (name, kind, args string) {
	name, kind = i.kind.Str, "server"
	switch name {
	case "mcpToolCall", "dynamicToolCall":
		kind = map[bool]string{true: "mcp"}[name == "mcpToolCall"]
		if !i.args.Present() {
			w.UnknownMembers("the item", i.whole, "tool", "result", "error", "contentItems")
		}
		return cmp.Or(w.Text(i.tool), name), kind, cmp.Or(w.Compact(i.args.Raw), "{}")
	case "collabAgentToolCall":
		return cmp.Or(w.Text(i.tool), name), kind, w.Object(wire.Member{Key: "prompt", Value: i.prompt}, wire.Member{Key: "receiverThreadIds", Value: i.receivers})
	case "commandExecution":
		args = w.Object(wire.Member{Key: "command", Value: i.command})
	case "fileChange":
		args = w.Object(wire.Member{Key: "changes", Value: i.changes})
	case "imageView":
		args = w.Object(wire.Member{Key: "path", Value: i.path})
	case "sleep":
		args = w.Object(wire.Member{Key: "durationMs", Value: i.sleep})
	case "webSearch":
		if i.query.Raw == `""` && !i.action.Present() {
			return name, kind, ""
		}
		args = w.Object(wire.Member{Key: "query", Value: i.query})
	case "imageGeneration":
		args = "{}"
	}
	return name, kind, args
}

// result emits the result of a call. The image in the result of an imageGeneration is
// left out. The exit code is null where the command did not end.
func (d *decoder) result(w *wire.Writer, t *Thread, i *item, id string) {
	c := chunks.Chunk{Kind: chunks.Result, Namespace: t.Namespace, ID: id, Status: "success"}
	switch {
	case i.status.Str == "declined":
		c.Status = "denied"
	case i.status.Str == "failed", i.failure.Present(), i.success.Kind == jsonscan.False, wire.IsError(i.result), i.exit.Present() && i.exit.Raw != "0":
		c.Status = "error"
	}
	switch kind := i.kind.Str; {
	case i.failure.Present():
		c.Text = w.FailureText(i.failure)
	case kind == "commandExecution":
		c.Text = w.Text(i.output)
	case kind == "mcpToolCall":
		content := i.result
		if list := content.Member("content"); list.IsArray() {
			content = list
		}
		c.Content, c.Text = w.ContentOf(content)
	case kind == "dynamicToolCall":
		c.Content, c.Text = w.ContentOf(i.items)
	case kind == "collabAgentToolCall" && i.agents.IsNested():
		c.Content = w.Compact(i.agents.Raw)
	case kind == "webSearch":
		c.Content, c.Text = w.ContentOf(i.action)
	case kind == "imageGeneration":
		c.Text = w.Text(i.saved)
	}
	w.Emit(c)
}
