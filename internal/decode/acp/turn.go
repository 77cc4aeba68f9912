package acp

import (
	"slices"

	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

func (r reader) prompt(m *message) {
	r.d.Prompts = add(r.d.Prompts, m.id)
	r.Emit(chunks.Chunk{Kind: chunks.Human, Text: r.PlainText(m.params.Member("prompt"))})
	r.startRun()
}

func (r reader) startRun() {
	if !r.d.Run {
		r.Emit(chunks.Chunk{Kind: chunks.RunStart, Explicit: true})
	}
	r.d.Run, r.d.Cancelled = true, false
}

// restart reads that a client connects to an agent that has just started. The one before
// it will answer nothing.
func (r reader) restart() {
	if r.d.Run {
		r.end(chunks.Chunk{Status: "error", Text: "the agent ended without a response"})
	}
	*r.d = Decoder{}
}

// response reads a response, of either side. Its content shows to which request it
// belongs, because both sides number their requests.
func (r reader) response(m *message) {
	id := key(m.id)
	ours := false
	if r.d.Loads, ours = take(r.d.Loads, id); ours && !m.result.Member("stopReason").Present() {
		return
	}
	outcome, stop := m.result.Member("outcome"), m.result.Member("stopReason")
	switch {
	case stop.IsString():
		r.d.Prompts, _ = take(r.d.Prompts, id)
		r.endTurn(r.Text(stop))
	case outcome.IsObject():
		r.answer(id, outcome)
	case m.failure.Present():
		if r.d.Prompts, ours = take(r.d.Prompts, id); ours {
			r.end(chunks.Chunk{Status: "error", Text: r.FailureText(m.failure)})
			return
		}
		r.d.takeAsk(id)
	}
}

func (r reader) state(u *update) {
	switch u.state.Str {
	case "running":
		r.startRun()
	case "idle": // the response to the prompt has only acknowledged it
		r.d.Prompts = nil
		r.endTurn(r.Text(u.stop))
	case "requires_action":
		if len(r.d.Asks) == 0 {
			r.Emit(chunks.Chunk{Kind: chunks.Await, Why: "action"})
		}
	}
}

// endTurn ends the run with the reason of the agent. Some agents have another reason
// where the client has cancelled.
func (r reader) endTurn(reason string) {
	if !r.d.Run {
		return
	}
	end := chunks.Chunk{Status: "completed", Abandons: true}
	if r.d.Cancelled || reason == "cancelled" {
		end = chunks.Chunk{Status: "cancelled"}
	}
	if r.d.Open {
		c := r.d.chunk(chunks.Finish)
		c.Reason, c.Truncated = reason, reason == "max_tokens" || end.Status == "cancelled"
		r.Emit(c)
	}
	r.end(end)
}

// end ends the run. Calls that a person has rejected are denied even if the agent does
// not report it.
func (r reader) end(c chunks.Chunk) {
	for _, id := range r.d.Denied {
		if k := r.d.call(id); k != nil && !k.Done {
			r.Emit(chunks.Chunk{Kind: chunks.Result, ID: id, Status: "denied", Text: denial})
		}
	}
	for i := range r.d.Calls {
		r.d.Calls[i].done()
	}
	c.Kind = chunks.RunEnd
	r.Emit(c)
	*r.d = Decoder{Prompts: r.d.Prompts, Loads: r.d.Loads, Calls: r.d.Calls}
}

const denial = "The tool call was denied."

// ask reads a request for a permission. It has the call as far as it changed. Some
// agents do not name the call. Then all open calls wait.
func (r reader) ask(m *message) *wire.Problem {
	var u update
	u.read(m.params.Member("toolCall"))
	if !u.call.Present() {
		u.call = m.params.Member("toolCallId")
	}
	id := r.Text(u.call)
	if u.call.Present() {
		if problem := r.call(&u, false); problem != nil {
			return problem
		}
		r.seal(r.d.call(id), id)
	}
	a := Ask{ID: key(m.id), Call: wire.Keep(id)}
	for o := m.params.Member("options").Elements(); o.Next(); {
		switch o.Value.Member("kind").Str {
		case "reject_once", "reject_always":
			if len(a.Rejects) < maxOptions {
				a.Rejects = append(a.Rejects, wire.Keep(r.Text(o.Value.Member("optionId"))))
			}
		}
	}
	r.d.Asks = append(wire.MakeRoom(r.d.Asks, maxAsks), a)
	r.Emit(chunks.Chunk{Kind: chunks.Await, ID: id, Why: "approval", InterruptID: r.Text(m.id)})
	return nil
}

// takeAsk removes a request for a permission. It returns false where there is none with
// the id.
func (d *Decoder) takeAsk(id string) (Ask, bool) {
	for i, a := range d.Asks {
		if a.ID == id {
			rest := make([]Ask, 0, len(d.Asks)-1)
			d.Asks = append(append(rest, d.Asks[:i]...), d.Asks[i+1:]...)
			return a, true
		}
	}
	return Ask{}, false
}

// answer reads the answer to a request for a permission: {"outcome":"selected","optionId"}
// or {"outcome":"cancelled"}. The call of a rejected one fails later.
func (r reader) answer(id string, outcome jsonscan.Value) {
	a, ok := r.d.takeAsk(id)
	if !ok || outcome.Member("outcome").Str != "selected" {
		return
	}
	option := r.Text(outcome.Member("optionId"))
	if slices.Contains(a.Rejects, option) {
		r.d.Denied = append(wire.MakeRoom(r.d.Denied, maxAsks), a.Call)
		return
	}
	r.Emit(chunks.Chunk{Kind: chunks.Resume, InterruptID: r.Text(jsonscan.ValueOf(id)), Text: option})
}
