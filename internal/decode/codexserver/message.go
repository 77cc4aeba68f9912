package codexserver

import (
	"strings"

	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

// Decode emits the chunks of a message. The answers to requests of the client have no
// effect: those that resume or read a thread have its history.
func (d *decoder) Decode(w *wire.Writer, f wire.Frame) *wire.Problem {
	var m message
	m.read(f)
	var thread, item, itemID, delta jsonscan.Value
	m.params.Read(thread.From("threadId"), item.From("item"), itemID.From("itemId"), delta.From("delta"))
	switch method := m.method.Str; method {
	case "":
		d.answer(w, &m)
	case "turn/started":
		d.startTurn(w, d.thread(w.Text(thread)), m.params.Member("turn"))
	case "turn/completed":
		d.endTurn(w, d.thread(w.Text(thread)), m.params.Member("turn"))
	case "thread/tokenUsage/updated":
		d.usage(w, d.thread(w.Text(thread)), m.params)
	case "item/started", "item/completed":
		if !item.IsObject() {
			return wire.WrongType("params.item", item, "an object")
		}
		return d.item(w, d.thread(w.Text(thread)), item, method == "item/completed")
	case "item/agentMessage/delta", "item/plan/delta":
		d.write(w, d.thread(w.Text(thread)), chunks.Text, w.Text(itemID), w.Text(delta))
	case "item/reasoning/textDelta", "item/reasoning/summaryTextDelta":
		d.write(w, d.thread(w.Text(thread)), chunks.Reasoning, w.Text(itemID), w.Text(delta))
	case "item/commandExecution/outputDelta", "item/fileChange/outputDelta":
		d.progress(w, w.Text(itemID), w.Text(delta))
	case "item/mcpToolCall/progress":
		d.progress(w, w.Text(itemID), w.Text(m.params.Member("message")))
	case "serverRequest/resolved":
		d.resolve(w, m.params.Member("requestId"), "", true)
	default:
		return d.other(w, &m, itemID, f)
	}
	return nil
}

// other reads the requests of the server that wait for a person. Other messages are not
// part of the conversation, except those with names like items.
func (d *decoder) other(w *wire.Writer, m *message, itemID jsonscan.Value, f wire.Frame) *wire.Problem {
	method := m.method.Str
	switch {
	case strings.HasSuffix(method, "/requestApproval"):
		d.ask(w, m.id, w.Text(itemID), "approval")
	case method == "item/tool/requestUserInput", method == "mcpServer/elicitation/request":
		d.ask(w, m.id, w.Text(itemID), "input")
	case method == "item/tool/call": // the client runs the tool of an item
	case method == "turn/start", method == "turn/steer", method == "turn/interrupt", method == "turn/diff/updated", method == "turn/plan/updated":
	case wire.HasAnyPrefix(method, "item/commandExecution/", "item/reasoning/", "item/autoApprovalReview/", "rawResponseItem/"):
	case strings.HasPrefix(method, "codex/event/") && len(d.Threads) > 0: // repeats items in the form of 2025
	case wire.HasAnyPrefix(method, "item/", "turn/", "codex/event/"), !strings.Contains(method, "/"):
		unknownItem(w, "message", method, m.params.Member("item"))
		w.Unknown("message", method, f.JSON)
	}
	return nil
}

func (d *decoder) ask(w *wire.Writer, id jsonscan.Value, call, why string) {
	if id.Present() && d.Open.Has(call) {
		d.Asks.Add(id.Raw, maxAsks)
		w.Emit(chunks.Chunk{Kind: chunks.Await, ID: call, Why: why, InterruptID: id.Raw})
	}
}

// answer reads an answer of the client. A call that it refuses ends as declined.
func (d *decoder) answer(w *wire.Writer, m *message) {
	var decision, action, answers jsonscan.Value
	m.result.Read(decision.From("decision"), action.From("action"), answers.From("answers"))
	given := w.Text(decision)
	if decision.IsObject() {
		given = decision.FirstKey()
	}
	switch {
	case given == "decline", given == "cancel":
		d.resolve(w, m.id, "", false)
	case given != "", action.IsString(), answers.IsObject():
		d.resolve(w, m.id, given+w.Text(action), true)
	}
}

func (d *decoder) resolve(w *wire.Writer, id jsonscan.Value, text string, resumes bool) {
	if d.Asks.Remove(id.Raw) && resumes {
		w.Emit(chunks.Chunk{Kind: chunks.Resume, InterruptID: id.Raw, Text: text})
	}
}

func (d *decoder) startTurn(w *wire.Writer, t *Thread, turn jsonscan.Value) {
	id := w.Text(turn.Member("id"))
	*t = Thread{ID: t.ID, Namespace: t.Namespace, Turn: wire.Keep(id)}
	if t.Namespace == "" {
		w.Emit(chunks.Chunk{Kind: chunks.RunStart, Run: id, Explicit: true})
	}
}

// endTurn ends a run, or the messages of another agent. The items of a turn at its end are
// a summary of those before.
func (d *decoder) endTurn(w *wire.Writer, t *Thread, turn jsonscan.Value) {
	var id, status, failure jsonscan.Value
	turn.Read(id.From("id"), status.From("status"), failure.From("error"))
	c := t.chunk(chunks.RunEnd)
	c.Run, c.Status = w.Text(id), "completed"
	switch status.Str {
	case "interrupted":
		c.Status, c.Text = "cancelled", "interrupted"
	case "failed":
		c.Status, c.Text = "error", w.FailureText(failure)
	default:
		c.Abandons = true
	}
	switch {
	case t.Namespace == "":
		c.Part = 0
		w.Emit(c)
	case c.Abandons:
		w.Emit(t.chunk(chunks.Finish))
		w.Emit(t.chunk(chunks.Ended))
	default:
		w.Emit(chunks.Chunk{Kind: chunks.Failure, Namespace: t.Namespace, Text: c.Text})
	}
	*t = Thread{ID: t.ID, Namespace: t.Namespace}
}

func (d *decoder) usage(w *wire.Writer, t *Thread, params jsonscan.Value) {
	of := chunks.Chunk{Namespace: t.Namespace, Kind: chunks.Finish, Truncated: len(d.Blank) > 0} // whose args are to come
	w.Emit(of)
	w.EmitUsage(of, params.Member("tokenUsage").Member("last"))
	t.Part, t.Said, t.Answered, t.Item = 0, false, false, ""
}

func (d *decoder) progress(w *wire.Writer, id, text string) {
	if d.Open.Has(id) {
		w.Emit(chunks.Chunk{Kind: chunks.Progress, ID: id, Text: wire.Excerpt(text)})
	}
}

func (d *decoder) write(w *wire.Writer, t *Thread, kind chunks.Kind, item, text string) {
	if text == "" {
		return
	}
	if item != t.Item {
		d.endText(w, t)
		d.begin(w, t, kind)
		t.Item = wire.Keep(item)
	}
	c := t.chunk(kind)
	c.Text = text
	w.Emit(c)
}

func (d *decoder) endText(w *wire.Writer, t *Thread) {
	if t.Item != "" {
		w.Emit(t.chunk(chunks.PartEnd))
		t.Item = ""
		t.Part++
	}
}

// begin begins another message before a text that follows a text or a result, unless the
// args of a call are to come.
func (d *decoder) begin(w *wire.Writer, t *Thread, kind chunks.Kind) {
	if len(d.Blank) == 0 && (t.Answered || t.Said && kind == chunks.Text) {
		t.Part, t.Said, t.Answered = 0, false, false
		w.StartMessage(true, chunks.Chunk{Namespace: t.Namespace})
	}
	t.Said = t.Said || kind == chunks.Text
}

// text emits the text of an item that is completed, unless it came in pieces.
func (d *decoder) text(w *wire.Writer, t *Thread, kind chunks.Kind, item, text string) {
	if t.Item != wire.Keep(item) || item == "" {
		d.write(w, t, kind, item, text)
	}
	d.endText(w, t)
}
