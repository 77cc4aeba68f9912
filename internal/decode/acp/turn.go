package acp

import (
	"slices"

	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

func (d *decoder) startRun(w *wire.Writer) {
	if !d.Run {
		w.Emit(chunks.Chunk{Kind: chunks.RunStart, Explicit: true})
	}
	d.Run, d.Cancelled = true, false
}

// restart reads that a client connects to an agent that has just started. The one before
// it will answer nothing.
func (d *decoder) restart(w *wire.Writer) {
	if d.Run {
		d.end(w, chunks.Chunk{Status: "error", Text: "the agent ended without a response"})
	}
	*d = decoder{}
}

// response reads a response, of either side. Its content shows to which request it
// belongs, because both sides number their requests.
func (d *decoder) response(w *wire.Writer, m *message) {
	id := key(m.id)
	ours := false
	if d.Loads, ours = take(d.Loads, id); ours && !m.result.Member("stopReason").Present() {
		return
	}
	outcome, stop := m.result.Member("outcome"), m.result.Member("stopReason")
	switch {
	case stop.IsString():
		d.Prompts, _ = take(d.Prompts, id)
		d.endTurn(w, w.Text(stop))
	case outcome.IsObject():
		d.answer(w, id, outcome)
	case m.result.Member("action").IsString():
		d.elicited(w, id, m.result.Member("action"))
	case m.failure.Present():
		if d.Prompts, ours = take(d.Prompts, id); ours {
			d.fail(w, m.failure)
			return
		}
		d.takeAsk(id)
	}
}

// requestCancelled is the code of the error that answers a request which the other side
// has cancelled, by $/cancel_request.
const requestCancelled = "-32800"

func (d *decoder) fail(w *wire.Writer, failure jsonscan.Value) {
	end := chunks.Chunk{Status: "error", Text: w.FailureText(failure)}
	if d.Cancelled || failure.Member("code").Raw == requestCancelled {
		end.Status = "cancelled"
	}
	d.end(w, end)
}

func (d *decoder) state(w *wire.Writer, u *update) {
	switch u.state.Str {
	case "running":
		d.startRun(w)
	case "idle": // the response to the prompt has only acknowledged it
		d.Prompts = nil
		d.endTurn(w, w.Text(u.stop))
	case "requires_action":
		if len(d.Asks) == 0 {
			w.Emit(chunks.Chunk{Kind: chunks.Await, Why: "action"})
		}
	}
}

// endTurn ends the run with the reason of the agent. Some agents have another reason
// where the client has cancelled.
func (d *decoder) endTurn(w *wire.Writer, reason string) {
	if !d.Run {
		return
	}
	end := chunks.Chunk{Status: "completed", Abandons: true}
	if d.Cancelled || reason == "cancelled" {
		end = chunks.Chunk{Status: "cancelled"}
	}
	if d.Open {
		c := d.chunk(chunks.Finish)
		c.Reason, c.Truncated = reason, d.cut() || reason == "max_tokens" || end.Status == "cancelled"
		w.Emit(c)
	}
	d.end(w, end)
}

// end ends the run. Calls that a person has rejected are denied even if the agent does
// not report it.
func (d *decoder) end(w *wire.Writer, c chunks.Chunk) {
	for _, id := range d.Denied {
		if k := d.call(id); k != nil && !k.Done {
			w.Emit(chunks.Chunk{Kind: chunks.Result, ID: id, Status: "denied", Text: denial})
		}
	}
	for i := range d.Calls {
		d.Calls[i].done()
	}
	c.Kind = chunks.RunEnd
	w.Emit(c)
	*d = decoder{Prompts: d.Prompts, Loads: d.Loads, Calls: d.Calls}
}

const denial = "The tool call was denied."

// ask reads a request for a permission. It has the call as far as it changed. Some
// agents do not name the call. Then all open calls wait.
func (d *decoder) ask(w *wire.Writer, m *message) *wire.Problem {
	u := update{asks: true}
	u.read(m.params.Member("toolCall"))
	if !u.call.Present() {
		u.call = m.params.Member("toolCallId")
	}
	id := w.Text(u.call)
	if u.call.Present() {
		if problem := d.updateCall(w, &u, false); problem != nil {
			return problem
		}
		d.seal(w, d.call(id), id)
	}
	a := Ask{ID: key(m.id), Call: wire.Keep(id)}
	for o := m.params.Member("options").Elements(); o.Next(); {
		switch o.Value.Member("kind").Str {
		case "reject_once", "reject_always":
			if len(a.Rejects) < maxOptions {
				a.Rejects = append(a.Rejects, wire.Keep(w.Text(o.Value.Member("optionId"))))
			}
		}
	}
	d.Asks = append(wire.MakeRoom(d.Asks, maxAsks), a)
	w.Emit(chunks.Chunk{Kind: chunks.Await, ID: id, Why: "approval", InterruptID: w.Text(m.id)})
	return nil
}

// elicit reads a request for input. Only one for a call makes that call wait.
func (d *decoder) elicit(w *wire.Writer, m *message) {
	id := w.Text(m.params.Member("toolCallId"))
	c := d.call(id)
	if c == nil {
		return
	}
	d.seal(w, c, id)
	d.Asks = append(wire.MakeRoom(d.Asks, maxAsks), Ask{ID: key(m.id), Call: c.ID})
	w.Emit(chunks.Chunk{Kind: chunks.Await, ID: id, Why: "input", InterruptID: w.Text(m.id)})
}

// elicited reads the answer to a request for input: accept, decline or cancel. The tool
// goes on with any of them.
func (d *decoder) elicited(w *wire.Writer, id string, action jsonscan.Value) {
	if _, ok := d.takeAsk(id); ok {
		w.Emit(chunks.Chunk{Kind: chunks.Resume, InterruptID: w.Text(jsonscan.ValueOf(id)), Text: w.Text(action)})
	}
}

func (d *decoder) takeAsk(id string) (Ask, bool) {
	for i, a := range d.Asks {
		if a.ID == id {
			d.Asks = slices.Delete(d.Asks, i, i+1)
			return a, true
		}
	}
	return Ask{}, false
}

// answer reads the answer to a request for a permission: {"outcome":"selected","optionId"}
// or {"outcome":"cancelled"}. The call of a rejected one fails later.
func (d *decoder) answer(w *wire.Writer, id string, outcome jsonscan.Value) {
	a, ok := d.takeAsk(id)
	if !ok || outcome.Member("outcome").Str != "selected" {
		return
	}
	option := w.Text(outcome.Member("optionId"))
	if slices.Contains(a.Rejects, option) {
		d.Denied = append(wire.MakeRoom(d.Denied, maxAsks), a.Call)
		return
	}
	w.Emit(chunks.Chunk{Kind: chunks.Resume, InterruptID: w.Text(jsonscan.ValueOf(id)), Text: option})
}
