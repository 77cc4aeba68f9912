package encode

import "streamer/internal/events"

type handler interface {
	startRun(e *events.Event)
	endRun(e *events.Event)
	startMessage(e *events.Event)
	endMessage(e *events.Event)
	human(e *events.Event)
	content(e *events.Event)
	endPart(e *events.Event)
	startCall(e *events.Event)
	addArgs(e *events.Event)
	completeArgs(e *events.Event)
	await(e *events.Event)
	progress(e *events.Event)
	result(e *events.Event)
	parent(e *events.Event)
}

func dispatch(h handler, e *events.Event) {
	switch e.Type {
	case events.RunStarted:
		h.startRun(e)
	case events.RunFinished:
		h.endRun(e)
	case events.MessageStarted:
		h.startMessage(e)
	case events.MessageFinished:
		h.endMessage(e)
	case events.HumanMessage:
		h.human(e)
	case events.AgentResponseChunk:
		h.content(e)
	case events.PartFinished:
		h.endPart(e)
	case events.ToolCallStart:
		h.startCall(e)
	case events.ToolCallArgsDelta:
		h.addArgs(e)
	case events.ToolCallArgsComplete:
		h.completeArgs(e)
	case events.ToolCallAwaiting:
		h.await(e)
	case events.ToolCallProgress, events.ToolCallAnswered:
		h.progress(e)
	case events.ToolCallResult:
		h.result(e)
	case events.ToolCallParent:
		h.parent(e)
	case events.SessionErased:
		h.endRun(erasedRun(e))
	}
}

// erasedRun returns the end of the run that is open when a session is erased: the log has no
// other for it.
func erasedRun(e *events.Event) *events.Event {
	return &events.Event{
		Type: events.RunFinished, EventID: e.EventID, Session: e.Session, Timestamp: e.Timestamp,
		Status: events.Cancelled, Reason: &events.Reason{Code: events.Code(events.SessionErased), Text: "The session was erased."},
	}
}

// isErasure reports whether the end of a run is that of an erased session, whose calls get
// no results.
func isErasure(end *events.Event) bool {
	return end.Reason != nil && end.Reason.Code == events.Code(events.SessionErased)
}

// isShown reports whether dispatch has a method for events of a type.
func isShown(t events.Type) bool {
	switch t {
	case events.Synthetic, events.ToolCallLateResult, events.OrphanResult, events.Rejected, events.Unmatched, events.Interruption:
		return false
	}
	return true
}

// isLast reports whether the run that ends is the last of its turn. If the event has
// no run, because it cannot be read, it is.
func isLast(e *events.Event, last string) bool {
	return last == "" || e.Run == "" || e.Run == last
}

// isPrompt reports whether messages of a role are written for the model. The client
// has them.
func isPrompt(role string) bool {
	switch role {
	case "user", "human", "system", "developer", "tool":
		return true
	}
	return false
}

// contentKind returns the kind of a content part: text or reasoning.
func contentKind(e *events.Event) string {
	if e.Kind == "reasoning" {
		return "reasoning"
	}
	return "text"
}

func placeOf(e *events.Event) (p events.Place) {
	if e.Place != nil {
		p = *e.Place
	}
	return p
}
