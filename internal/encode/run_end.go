package encode

import "streamer/internal/events"

// heldEnd is the end of the last run of a replayed stream, which is held while calls are
// open behind it, up to the last stored event or the next run: what happened to them
// since is part of the stream. A live stream ends with its run, because clients send the
// answers of their users only after that. The zero value holds none.
type heldEnd struct{ end *events.Event }

// hold holds the end of a run behind which calls are open, unless the client is live. It
// reports whether it does.
func (h *heldEnd) hold(e *events.Event, open int, live bool) bool {
	if open == 0 || live {
		return false
	}
	h.end = e
	return true
}

// passes reports whether an event is shown: behind an end that is held, only the
// answers and ends of calls are.
func (h heldEnd) passes(t events.Type) bool {
	if h.end == nil {
		return true
	}
	switch t {
	case events.ToolCallAwaiting, events.ToolCallAnswered, events.ToolCallProgress, events.ToolCallResult:
		return true
	}
	return false
}

// over reports whether an end that is held is to be written after an event of a type,
// with so many calls open.
func (h heldEnd) over(t events.Type, open int) bool {
	return h.end != nil && (open == 0 || t == events.RunStarted || t == events.SessionErased)
}
