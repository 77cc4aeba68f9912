package agui

import (
	"cmp"

	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

// subagent reads an event of the run of a subagent. Each run is a namespace.
func (r frame) subagent(e *event) {
	switch e.kind {
	case "SUBAGENT_STARTED":
		r.d.namespace(r.ns).ParentCall = wire.Keep(r.Text(e.parentCall))
	case "SUBAGENT_ERROR":
		r.Emit(chunks.Chunk{Kind: chunks.Failure, Namespace: r.ns, Text: r.FailureText(e.failure)})
		r.d.forget(r.ns)
	case "SUBAGENT_FINISHED":
		if n := r.d.namespace(r.ns); n.Begun {
			r.endMessage(n.Message)
		}
		r.d.forget(r.ns)
	}
}

// runStarted begins a run. Its input repeats the conversation so far, with the
// results that a frontend added since the last run.
func (r frame) runStarted(e *event) *wire.Problem {
	r.d.Items, r.d.Namespaces, r.d.Asked = nil, nil, false
	if !r.d.startRun(r.Text(e.run)) {
		r.Emit(chunks.Chunk{Kind: chunks.RunStart, Run: r.Text(e.run), Explicit: true})
	}
	messages := e.input.Member("messages")
	switch {
	case !messages.Present():
		return nil
	case !messages.IsArray():
		return wire.WrongType("input.messages", messages, "a list of messages")
	}
	return r.snapshot(messages, true)
}

// runFinished ends a run. The outcome is {"type":"success"|"interrupt"|"cancelled"}.
// Before 1.0 it is the type as a string, with the interrupt beside it.
func (r frame) runFinished(e *event) (problem *wire.Problem) {
	outcome, status := e.outcome, "completed"
	if e.outcome.IsObject() {
		outcome = e.outcome.Member("type")
	}
	switch outcome.Str {
	case "interrupt":
		status = "interrupted"
		list := e.outcome.Member("interrupts")
		if list.Present() && !list.IsArray() {
			problem = wire.WrongType("outcome.interrupts", list, "a list")
		}
		for i := list.Elements(); i.Next(); {
			r.await(i.Value)
		}
		if e.interrupt.IsObject() {
			r.await(e.interrupt)
		}
	case "cancelled":
		status = "cancelled"
	default:
		if r.d.Asked {
			status = "interrupted"
		}
	}
	if r.d.Asked { // also the calls whose args a snapshot has completed since
		r.Emit(chunks.Chunk{Kind: chunks.Await, Namespace: r.ns, Why: "interrupt"})
	}
	r.Emit(chunks.Chunk{Kind: chunks.RunEnd, Status: status})
	r.d.Past.AddNew(r.Text(e.run), maxPast)
	r.d.Items, r.d.Namespaces = nil, nil
	return problem
}

func (r frame) await(v jsonscan.Value) {
	var id, reason, call jsonscan.Value
	v.Read(id.From("id"), reason.From("reason"), call.From("toolCallId"))
	c := chunks.Chunk{
		Kind: chunks.Await, Namespace: r.ns, ID: r.Text(call), Why: cmp.Or(r.Text(reason), "interrupt"), InterruptID: r.Text(id),
	}
	r.d.Waiting.AddNew(c.ID, maxWaiting)
	r.Emit(c)
}

// runError ends the run. The code abort means that a client stopped it.
func (r frame) runError(e *event) {
	status := "error"
	if e.code.Str == "abort" {
		status = "cancelled"
	}
	r.Emit(chunks.Chunk{Kind: chunks.RunEnd, Status: status, Text: r.FailureText(e.failure)})
	r.d.Items, r.d.Namespaces = nil, nil
}
