package codex

import (
	"regexp"
	"strings"

	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
	"streamer/internal/stored"
)

// Rollout returns the format codex-rollout: the session files of the Codex CLI,
// ~/.codex/sessions/…/rollout-….jsonl, from September 2025 on:
// https://github.com/openai/codex/blob/main/codex-rs/protocol/src/protocol.rs
//
//	{"timestamp","type":"response_item","payload":{"type":"function_call","call_id","name","arguments":TEXT}}
//	{"timestamp","type":"response_item","payload":{"type":"function_call_output","call_id","output"}}
//	{"timestamp","type":"event_msg","payload":{"type":"task_started","turn_id"}} … task_complete, or turn_aborted{"reason"}
//
//	{"timestamp","type":"event_msg","payload":{"type":"item_completed","item":{"type":"McpToolCall","id",…}}}
//
// Every item is whole. Those of the model are response_items. The events have them too, under
// the same ids, and also what a program of the model runs, and what people write: in
// response_items, that is mixed with what the CLI adds.
func Rollout() wire.Format {
	return wire.Format{
		Name: "codex-rollout", Shape: "responses",
		Keys:   []string{"payload"},
		Claims: rolloutClaims,
		New:    func() wire.Decoder { return new(rollout) },
	}
}

func rolloutClaims(f wire.Frame) wire.Claim {
	var kind, payload, at jsonscan.Value
	f.Read(kind.From("type"), payload.From("payload"), at.From("timestamp"))
	if !payload.IsObject() || !at.IsString() {
		return wire.No
	}
	switch kind.Str {
	case "session_meta", "response_item", "event_msg", "turn_context", "compacted", "world_state":
		return wire.Surely
	}
	return wire.IfKnown
}

type rollout struct {
	Text    bool     // the message has its text
	Results bool     // the message has results, so that the next item of the model begins another
	Parts   int      // content parts of the message so far
	Calls   []Call   // the latest, oldest first
	Early   wire.IDs // the latest texts that only an event has
}

func (d *rollout) Fields(f *stored.Fields) {
	f.Flag("t", &d.Text)
	f.Flag("o", &d.Results)
	stored.Number(f, "p", &d.Parts)
	stored.List(f, "c", &d.Calls, (*Call).fields)
	d.Early.Fields(f, "e")
}

func (d *rollout) Decode(w *wire.Writer, f wire.Frame) *wire.Problem {
	var kind, payload jsonscan.Value
	f.Read(kind.From("type"), payload.From("payload"))
	if !payload.IsObject() {
		return wire.WrongType("payload", payload, "an object")
	}
	switch kind.Str {
	case "response_item":
		return d.item(w, payload)
	case "event_msg":
		d.event(w, payload)
	case "session_meta", "turn_context", "compacted", "world_state", "token_usage_record", "inter_agent_communication_metadata":
	default:
		unknownPayload(w, "line", kind.Str, payload)
	}
	return nil
}

func (d *rollout) event(w *wire.Writer, v jsonscan.Value) {
	var kind, turn, reason, message, item jsonscan.Value
	v.Read(kind.From("type"), turn.From("turn_id"), reason.From("reason"), message.From("message"), item.From("item"))
	switch kind.Str {
	case "task_started", "turn_started":
		d.next()
		w.Emit(chunks.Chunk{Kind: chunks.RunStart, Run: w.Text(turn), Explicit: true})
	case "task_complete", "turn_complete":
		d.end(w, chunks.Chunk{Run: w.Text(turn), Status: "completed"})
	case "turn_aborted":
		d.end(w, chunks.Chunk{Run: w.Text(turn), Status: "cancelled", Text: w.Text(reason)})
	case "user_message": // until 2025
		w.Emit(chunks.Chunk{Kind: chunks.Human, Text: w.Text(message)})
	case "item_started", "item_updated", "item_completed":
		d.turnItem(w, item, kind.Str == "item_completed")
	default:
		known := d.callEvent(w, kind.Str, v) || d.repeats(w.Text(v.Member("call_id"))) || d.repeats(w.Text(item.Member("id")))
		if !known && !strings.HasSuffix(kind.Str, "_request") && !strings.HasSuffix(kind.Str, "_delta") {
			unknownPayload(w, "event", kind.Str, v)
		}
	}
}

// next forgets the message of a turn. Items may come after its end.
func (d *rollout) next() {
	*d = rollout{Calls: d.Calls, Early: d.Early}
}

func (d *rollout) end(w *wire.Writer, c chunks.Chunk) {
	d.endCalls(w)
	c.Kind, c.Abandons = chunks.RunEnd, c.Status == "completed"
	w.Emit(c)
	d.next()
}

func (d *rollout) item(w *wire.Writer, v jsonscan.Value) *wire.Problem {
	var kind, id, own, name, args, input, action, output, role, content, summary, status jsonscan.Value
	v.Read(
		kind.From("type"), id.From("call_id"), own.From("id"), name.From("name"), args.From("arguments"), input.From("input"), action.From("action"),
		output.From("output"), role.From("role"), content.From("content"), summary.From("summary"), status.From("status"),
	)
	switch kind.Str {
	case "message":
		if role.Str == "assistant" {
			if text := itemsText(w, content); !d.Early.Remove(text) {
				d.text(w, chunks.Text, text)
			}
		}
	case "reasoning":
		if text := itemsText(w, summary); !d.Early.Remove(text) {
			d.text(w, chunks.Reasoning, text)
		}
	case "function_call", "custom_tool_call", "local_shell_call", "web_search_call", "tool_search_call":
		if kind.Str == "web_search_call" && id.Str == "" {
			if id = own; id.Str == "" {
				return nil // it names neither its call nor a result
			}
		}
		if id.Str == "" {
			return wire.WrongShape("the item of type %s has no call_id", kind.Str)
		}
		c := chunks.Chunk{Kind: chunks.Fragment, ID: w.Text(id), Name: w.Text(name), Final: true, Opens: true}
		if known := d.find(c.ID); known != nil && known.Item && !known.Model {
			known.Model = true
			return nil
		}
		d.begin(w, false)
		ended := kind.Str == "web_search_call" && status.Str == "completed" // the result has no item
		d.add(Call{ID: c.ID, Model: true, Open: !ended})
		switch kind.Str {
		case "function_call":
			c.Args = w.Text(args)
		case "custom_tool_call":
			c.CallKind, c.Args = "custom", w.Text(input)
		default:
			c.Name, c.CallKind, c.Args, c.Object = strings.TrimSuffix(kind.Str, "_call"), "server", "{}", true
			if action.IsObject() {
				c.Args = w.Compact(action.Raw)
			}
		}
		if !args.Present() && !input.Present() && !action.Present() {
			w.UnknownMembers("the item", v, "id", "name", "status")
		}
		w.EmitWhole(c)
		if ended {
			w.Emit(chunks.Chunk{Kind: chunks.Result, ID: c.ID, Status: "success"})
		}
	case "function_call_output", "custom_tool_call_output", "local_shell_call_output", "tool_search_output":
		text := itemsText(w, output)
		d.answer(w, chunks.Chunk{Kind: chunks.Result, ID: w.Text(id), Text: text, Status: outcome(text)})
	default:
		unknownPayload(w, "item", kind.Str, v)
	}
	return nil
}

// begin begins another message behind results, or behind its text where another follows.
func (d *rollout) begin(w *wire.Writer, fresh bool) {
	if d.Results || fresh {
		w.StartMessage(true, chunks.Chunk{})
		d.Text, d.Results, d.Parts = false, false, 0
	}
}

func (d *rollout) text(w *wire.Writer, kind chunks.Kind, text string) {
	d.begin(w, kind == chunks.Text && d.Text)
	d.Text = d.Text || kind == chunks.Text
	d.part(w, kind, text)
}

func (d *rollout) part(w *wire.Writer, kind chunks.Kind, text string) {
	if text != "" {
		w.Emit(chunks.Chunk{Kind: kind, Part: d.Parts, Text: text})
		w.Emit(chunks.Chunk{Kind: chunks.PartEnd, Part: d.Parts})
		d.Parts++
	}
}

// itemsText returns the text of a string, or of content items. The output of a call was a
// string until 2025, with {"output","metadata"} in it.
func itemsText(w *wire.Writer, v jsonscan.Value) string {
	if v.IsString() {
		return w.Text(v)
	}
	var text strings.Builder
	for e := v.Elements(); e.Next(); {
		text.WriteString(w.Text(e.Value) + w.Text(e.Value.Member("text")))
	}
	return text.String()
}

// exitPattern finds the exit code in the text of an output: in its first lines, or in the
// metadata of 2025.
var exitPattern = regexp.MustCompile(`(?m)^Process exited with code (-?\d+)$|"exit_code":\s*(-?\d+)`)

// outcome returns the status of a result, for which the files have no member.
func outcome(text string) string {
	head := text[:min(len(text), 2<<10)]
	switch m := exitPattern.FindStringSubmatch(text); {
	case strings.Contains(head, "rejected by user"):
		return "denied"
	case strings.Contains(head, "aborted by user"):
		return "cancelled"
	case m != nil && m[1]+m[2] != "0":
		return "error"
	}
	return ""
}
