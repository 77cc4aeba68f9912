// Package pi reads the output of the coding agent pi with --mode json, the events of
// --mode rpc, and its session files, which are also those of OpenClaw:
// https://github.com/earendil-works/pi/blob/main/packages/coding-agent/docs/json.md, session-format.md
//
//	session{version,id,cwd}, agent_start → turn_start → message_start{message:{role:"assistant"}}
//	→ message_update{assistantMessageEvent:{type:"toolcall_start|toolcall_delta|toolcall_end|text_delta|thinking_delta",contentIndex,delta,id,toolName,toolCall}} …
//	→ message_end{message:{role,content,stopReason,usage}} → tool_execution_start{toolCallId,toolName,args}
//	→ tool_execution_update{partialResult} … → tool_execution_end{result,isError} → turn_end … → agent_end
//
//	{"type":"message","id","parentId","message":{…}}, compaction, model_change and others, in a session file
//
// A run is from agent_start to agent_end, and ends as its last message. Messages have no
// ids. Until version 1.5, an update has the message so far, which may hold what later deltas
// bring, so only the id and the name of a call are read from it. message_end completes the
// calls: pi runs none of a message that ended with an error, or was cut off, and repairs the
// args that it has of them.
package pi

import (
	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
	"streamer/internal/stored"
)

// Format returns the format pi.
func Format() wire.Format {
	return wire.Format{
		Name: "pi", Shape: "openai",
		Keys:    []string{"type"},
		Claims:  claims,
		Console: true,
		New:     func() wire.Decoder { return new(decoder) },
	}
}

func claims(f wire.Frame) wire.Claim {
	kind := f.Type()
	switch kind {
	case "agent_start", "turn_start":
		return wire.Surely
	case "session", "agent_end", "turn_end", "message_start", "message_update", "message_end":
	case "tool_execution_start", "tool_execution_update", "tool_execution_end":
	case "message": // of a session file
		var at, message jsonscan.Value
		f.Read(at.From("timestamp"), message.From("message"))
		return wire.SurelyIf(at.IsString() && ofMessage(message) && message.Member("content").Present(), wire.No)
	default:
		if beside(kind) || wire.HasAnyPrefix(kind, "queue_", "compaction_", "auto_", "session_", "thinking_", "tool_", "message_", "turn_", "agent_") {
			return wire.IfKnown
		}
		return wire.No
	}
	var e event
	e.read(f)
	switch kind {
	case "session":
		return wire.SurelyIf(e.version.Kind == jsonscan.Number && e.cwd.IsString(), wire.No)
	case "agent_end":
		return wire.SurelyIf(e.messages.IsArray(), wire.IfKnown)
	case "message_update":
		return wire.SurelyIf(e.update.IsObject(), wire.IfKnown)
	case "turn_end", "message_start", "message_end":
		return wire.SurelyIf(ofMessage(e.message), wire.IfKnown)
	}
	return wire.SurelyIf(e.call.IsString(), wire.IfKnown)
}

// beside reports whether events or entries of a type are no part of the conversation, or repeat it.
func beside(kind string) bool {
	switch kind {
	case "session", "turn_start", "turn_end", "entry_appended", "response", "extension_ui_request", "extension_error", "bash_execution_update", // of --mode rpc
		"model_change", "thinking_level_change", "usage", "compaction", "context_edit", "branch_summary", "custom", "custom_message", "label", "session_info":
		return true
	}
	return false
}

// ofMessage reports whether a message is of this format. Those of Anthropic have ids.
func ofMessage(v jsonscan.Value) bool {
	var role, id jsonscan.Value
	v.Read(role.From("role"), id.From("id"))
	return role.IsString() && !id.Present()
}

type event struct {
	kind, version, cwd, message, messages, update jsonscan.Value
	call, name, args, partial, result, failed     jsonscan.Value // of a tool_execution
	parent                                        jsonscan.Value // the call whose tool has made it
}

func (e *event) read(f wire.Frame) {
	f.Read(
		e.kind.From("type"), e.message.From("message"), e.update.From("assistantMessageEvent"), e.version.From("version"), e.cwd.From("cwd"),
		e.messages.From("messages"), e.call.From("toolCallId"), e.name.From("toolName"), e.args.From("args"), e.partial.From("partialResult"),
		e.result.From("result"), e.failed.From("isError"), e.parent.From("parentToolCallId"),
	)
}

type decoder struct {
	Running bool
	Runs    bool     // calls that run have events
	Beside  bool     // calls began outside of a message of the model
	Open    bool     // a message of the model has begun
	Streams bool     // its texts have come
	Calling bool     // the args of a call come
	Stop    string   // the stop reason of the last message
	Failure string   // and its error
	Calls   wire.IDs // of the calls without a result
}

func (d *decoder) Fields(f *stored.Fields) {
	f.Flag("r", &d.Running)
	f.Flag("x", &d.Runs)
	f.Flag("b", &d.Beside)
	f.Flag("o", &d.Open)
	f.Flag("t", &d.Streams)
	f.Flag("k", &d.Calling)
	f.Text("s", &d.Stop)
	f.Text("e", &d.Failure)
	d.Calls.Fields(f, "c")
}

const maxCalls = 256

// Decode emits the chunks of an event. turn_end and agent_end repeat messages.
func (d *decoder) Decode(w *wire.Writer, f wire.Frame) *wire.Problem {
	var e event
	e.read(f)
	switch kind := e.kind.Str; kind {
	case "agent_start":
		w.StartRun(d.Running)
		*d = decoder{Running: true}
	case "agent_end":
		d.end(w)
	case "message_start", "message_end":
		if !e.message.IsObject() {
			return wire.WrongType("message", e.message, "an object")
		}
		if kind == "message_end" {
			d.message(w, e.message, false)
		} else if e.message.Member("role").Str == "assistant" {
			d.begin(w)
		}
	case "message_update":
		if !e.update.IsObject() {
			return wire.WrongType("assistantMessageEvent", e.update, "an object")
		}
		d.update(w, e.update)
	case "tool_execution_start", "tool_execution_update", "tool_execution_end":
		if kind == "tool_execution_start" && !e.args.Present() {
			w.UnknownMembers("the event", f.JSON, "toolCallId", "toolName")
		}
		return d.execution(w, &e)
	case "message":
		d.message(w, e.message, true)
	default:
		if !beside(kind) {
			w.Unknown("event", kind, f.JSON)
		}
	}
	return nil
}

func (d *decoder) end(w *wire.Writer) {
	c := chunks.Chunk{Kind: chunks.RunEnd, Status: "completed", Text: d.Failure}
	switch d.Stop {
	case "aborted":
		c.Status = "cancelled"
	case "error":
		c.Status = "error"
	}
	c.Abandons = c.Status == "completed"
	w.Emit(c)
	*d = decoder{}
}

func (d *decoder) begin(w *wire.Writer) {
	w.StartMessage(d.Beside, chunks.Chunk{})
	d.Open, d.Beside, d.Streams, d.Calling, d.Stop, d.Failure = true, false, false, false, "", ""
}

// execution emits a call that is not known or not complete, its progress and its result.
func (d *decoder) execution(w *wire.Writer, e *event) *wire.Problem {
	id := w.Text(e.call)
	if !e.call.IsString() || id == "" {
		return wire.WrongType("toolCallId", e.call, "a string that is not empty")
	}
	d.Runs = true
	known := d.Calls.Has(id)
	switch e.kind.Str {
	case "tool_execution_start":
		if known && e.args.IsEmpty() { // perhaps instead of args that are no JSON
			w.Emit(chunks.Chunk{Kind: chunks.Seal, ID: id})
			break
		}
		d.Beside = d.Beside || !known && !d.Open
		d.whole(w, chunks.Chunk{ID: id, ParentCall: w.Text(e.parent)}, e.name, e.args)
	case "tool_execution_update":
		if known {
			w.Emit(chunks.Chunk{Kind: chunks.Progress, ID: id, Text: wire.Excerpt(w.PlainText(e.partial.Member("content")))})
		}
	default:
		d.result(w, id, e.result, e.failed)
	}
	return nil
}

func (d *decoder) whole(w *wire.Writer, c chunks.Chunk, name, args jsonscan.Value) {
	c.Kind, c.Name, c.Final, c.Whole = chunks.Fragment, w.Text(name), true, true
	w.SetArgs(&c, args)
	w.EmitWhole(c)
	d.Calls.AddNew(c.ID, maxCalls)
}

func (d *decoder) result(w *wire.Writer, id string, v, failed jsonscan.Value) {
	d.Calls.Remove(id)
	c := chunks.Chunk{Kind: chunks.Result, ID: id, Status: "success"}
	if failed.Kind == jsonscan.True {
		c.Status = "error"
	}
	if content := v.Member("content"); content.IsArray() {
		v = content
	}
	c.Content, c.Text = w.OneText(v)
	w.Emit(c)
}
