package managedagents

import (
	"cmp"
	"slices"

	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

// Decode emits the chunks of an event. What a client sends comes again in the stream.
func (d *decoder) Decode(w *wire.Writer, f wire.Frame) *wire.Problem {
	var e event
	e.read(f)
	if !e.kind.Present() && e.sent.IsArray() {
		return nil
	}
	return d.event(w, &e, f.JSON)
}

// event emits the chunks of an event. A queued one comes again when it is processed.
func (d *decoder) event(w *wire.Writer, e *event, whole jsonscan.Value) *wire.Problem {
	id := w.Text(e.id)
	if id != "" && e.kind.Str != "event_start" && !d.Seen.AddNew(id, maxSeen) {
		return nil
	}
	switch kind := e.kind.Str; kind {
	case "agent.tool_use", "agent.mcp_tool_use", "agent.custom_tool_use":
		if !e.input.Present() {
			w.UnknownMembers("the event", whole)
		}
		return d.call(w, e, id)
	case "agent.tool_result", "agent.mcp_tool_result", "user.custom_tool_result", "user.tool_result":
		return d.result(w, e)
	case "user.tool_confirmation":
		d.confirm(w, e)
	case "user.message":
		if !e.thread.IsString() {
			w.Emit(chunks.Chunk{Kind: chunks.Human, ID: id, Text: w.PlainText(e.content), Aside: true})
		}
	case "user.interrupt":
		d.Interrupted = d.Interrupted || !e.thread.IsString()
	case "agent.message":
		d.text(w, e, id)
	case "event_delta":
		d.piece(w, e)
	case "span.model_request_start":
		d.start(w)
		d.begin(w, e, id)
	case "span.model_request_end":
		d.endMessage(w, e)
	case "session.status_running":
		d.start(w)
	case "session.status_idle":
		d.idle(w, e)
	case "session.thread_status_idle":
		d.waits(w, e)
	case "session.status_terminated", "session.deleted":
		d.end(w, chunks.Chunk{Status: "cancelled", Text: kind})
	case "session.error":
		d.fail(w, e)
	default:
		if !wire.HasAnyPrefix(kind, "session.", "span.", "workflow_run.") && kind != "event_start" && kind != "agent.thinking" && kind != "agent.thread_message_sent" &&
			kind != "agent.thread_message_received" && kind != "agent.thread_context_compacted" && kind != "user.define_outcome" && kind != "system.message" {
			w.Unknown("event", kind, whole)
		}
	}
	return nil
}

func (d *decoder) start(w *wire.Writer) {
	if !d.Running {
		d.Running, d.Interrupted = true, false
		w.Emit(chunks.Chunk{Kind: chunks.RunStart, Explicit: true})
	}
}

func (d *decoder) end(w *wire.Writer, c chunks.Chunk) {
	if d.Running {
		c.Kind = chunks.RunEnd
		w.Emit(c)
	}
	*d = decoder{Seen: d.Seen, Waits: d.Waits, Denied: d.Denied}
}

// idle ends the run, unless it pauses for an action of the client. Calls that were interrupted get no result.
func (d *decoder) idle(w *wire.Writer, e *event) {
	if d.waits(w, e) {
		return
	}
	c, kind := chunks.Chunk{Status: "completed"}, e.stop.Member("type")
	switch {
	case d.Interrupted:
		c.Status, c.Text = "cancelled", "interrupted"
	case kind.Str == "retries_exhausted", kind.Str == "budget_reached":
		c.Status, c.Text = "error", w.Text(kind)
	default:
		c.Abandons = true
	}
	d.end(w, c)
}

// waits emits that the calls of a pause wait. It reports whether an event is a pause.
func (d *decoder) waits(w *wire.Writer, e *event) bool {
	var kind, ids jsonscan.Value
	e.stop.Read(kind.From("type"), ids.From("event_ids"))
	if kind.Str != "requires_action" {
		return false
	}
	for i := ids.Elements(); i.Next(); {
		d.await(w, w.Text(i.Value), "input")
	}
	return true
}

// await emits that a call waits for a confirmation, or for its result from the client.
func (d *decoder) await(w *wire.Writer, id, why string) {
	if d.Waits.AddNew(id, maxWaits) {
		w.Emit(chunks.Chunk{Kind: chunks.Await, ID: id, Why: why, InterruptID: id})
	}
}

// confirm reads the answer of a person. The result of a denied call follows.
func (d *decoder) confirm(w *wire.Writer, e *event) {
	id := w.Text(e.call)
	switch {
	case e.answer.Str == "deny":
		d.Denied.Add(id, maxWaits)
	case d.Waits.Remove(id):
		w.Emit(chunks.Chunk{Kind: chunks.Resume, InterruptID: id, Text: w.Text(e.answer)})
	}
}

// fail ends the run with an error that is not tried again.
func (d *decoder) fail(w *wire.Writer, e *event) {
	retry := e.failure.Member("retry_status")
	if kind := cmp.Or(wire.TypeOf(retry), retry.Str); kind == "retrying" {
		return
	}
	d.start(w)
	d.end(w, chunks.Chunk{Status: "error", Text: w.FailureText(e.failure)})
}

func (d *decoder) thread(w *wire.Writer, e *event) *Thread {
	id := wire.Keep(w.Text(e.thread))
	for i := range d.Threads {
		if d.Threads[i].ID == id {
			return &d.Threads[i]
		}
	}
	return nil
}

func (d *decoder) begin(w *wire.Writer, e *event, id string) *Thread {
	t := d.thread(w, e)
	if t == nil {
		d.Threads = append(wire.MakeRoom(d.Threads, maxThreads), Thread{ID: wire.Keep(w.Text(e.thread))})
		t = &d.Threads[len(d.Threads)-1]
	}
	*t = Thread{ID: t.ID, Message: wire.Keep(id)}
	c := t.chunk(chunks.Start)
	c.Role = "assistant"
	w.Emit(c)
	return t
}

func (t *Thread) chunk(kind chunks.Kind) chunks.Chunk {
	return chunks.Chunk{Kind: kind, Namespace: t.ID, Message: t.Message}
}

// open returns the open message of an agent. Where its request was not seen, it has the id
// of the event that begins it.
func (d *decoder) open(w *wire.Writer, e *event, id string) *Thread {
	d.start(w)
	if t := d.thread(w, e); t != nil && t.Message != "" {
		return t
	}
	return d.begin(w, e, id)
}

func (d *decoder) endMessage(w *wire.Writer, e *event) {
	t := d.thread(w, e)
	if t == nil || t.Message == "" || t.Message != wire.Keep(w.Text(e.request)) {
		return
	}
	if e.failed.Kind == jsonscan.True { // it is tried again, or session.error follows
		c := t.chunk(chunks.Failure)
		c.Text, c.Spares = "the request to the model failed", true
		w.Emit(c)
	} else {
		w.Emit(t.chunk(chunks.Finish))
		w.EmitUsage(t.chunk(chunks.Usage), e.usage)
		w.Emit(t.chunk(chunks.Ended))
	}
	t.Message = ""
}

// text emits a whole text, without the pieces of it that came before.
func (d *decoder) text(w *wire.Writer, e *event, id string) {
	t, of := d.open(w, e, id), wire.Keep(id)
	n := 0
	for block := e.content.Elements(); block.Next(); n++ {
		text := w.Text(block.Value.Member("text"))
		if at := d.findPiece(of, t.ID, n); at >= 0 {
			text = text[min(d.Pieces[at].Len, len(text)):]
		}
		c := t.chunk(chunks.Text)
		c.Part, c.Text = t.Parts, text
		if text != "" {
			w.Emit(c)
		}
		c.Kind, c.Text = chunks.PartEnd, ""
		w.Emit(c)
		t.Parts++
	}
	d.Pieces = slices.DeleteFunc(d.Pieces, func(p Piece) bool { return p.ID == of })
}

func (d *decoder) findPiece(id, thread string, block int) int {
	return slices.IndexFunc(d.Pieces, func(p Piece) bool { return p.ID == id && p.Thread == thread && p.Block == block })
}

// piece emits a piece of an agent.message whose event follows.
func (d *decoder) piece(w *wire.Writer, e *event) {
	id, text := w.Text(e.of), w.Text(e.delta.Member("text"))
	if content := e.delta.Member("content"); text == "" {
		text = w.Text(content.Member("text"))
	}
	if text == "" {
		return
	}
	t, block := d.open(w, e, id), e.delta.Member("index").Int()
	at := d.findPiece(wire.Keep(id), t.ID, block)
	if at < 0 {
		d.Pieces = append(wire.MakeRoom(d.Pieces, maxPieces), Piece{ID: wire.Keep(id), Thread: t.ID, Block: block})
		at = len(d.Pieces) - 1
	}
	c := t.chunk(chunks.Text)
	c.Part, c.Text = t.Parts+block, text
	w.Emit(c)
	d.Pieces[at].Len += len(text)
}

// call emits a call. One that has to be confirmed waits from its beginning.
func (d *decoder) call(w *wire.Writer, e *event, id string) *wire.Problem {
	if !e.id.IsString() || id == "" {
		return wire.WrongType("id", e.id, "a string that is not empty")
	}
	t := d.open(w, e, id)
	c := t.chunk(chunks.Fragment)
	c.ID, c.Name, c.Final, c.Opens = id, w.Text(e.name), true, true
	switch e.kind.Str {
	case "agent.tool_use":
		c.CallKind, c.Provider = "server", true
	case "agent.mcp_tool_use":
		c.CallKind, c.Provider = "mcp", true
	}
	w.SetArgs(&c, e.input)
	w.EmitWhole(c)
	switch e.permission.Str {
	case "ask":
		d.await(w, id, "approval")
	case "deny":
		d.Denied.Add(id, maxWaits)
	}
	return nil
}

func (d *decoder) result(w *wire.Writer, e *event) *wire.Problem {
	id := cmp.Or(w.Text(e.call), w.Text(e.custom), w.Text(e.mcp))
	if id == "" {
		return wire.WrongShape("the result names no call: tool_use_id is missing or empty")
	}
	c := chunks.Chunk{Kind: chunks.Result, ID: id, Status: "success"}
	if e.failed.Kind == jsonscan.True {
		c.Status = "error"
		if d.Denied.Has(id) {
			c.Status = "denied"
		}
	}
	d.Waits.Remove(id)
	c.Content, c.Text = w.OneText(e.content)
	w.Emit(c)
	return nil
}
