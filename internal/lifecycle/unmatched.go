package lifecycle

import (
	"streamer/internal/chunks"
	"streamer/internal/events"
)

// Kinds of inputs that may be unmatched.
const (
	progressKind  = "progress"
	interruptKind = "interrupt"
	answerKind    = "answer"
	resultKind    = "result"
)

// Bounds of the names in an unmatched event.
const (
	maxMissing     = 16  // calls
	maxMissingName = 256 // bytes of a name
)

// ProgressInput applies a progress input. Unlike a progress in a delta, it is
// reported where its call is not open.
func (st *Step) ProgressInput(c *chunks.Chunk) {
	if text := st.tooLong(c); text != "" {
		st.Reject(events.OverLimit, 0, text)
		return
	}
	if st.Progress(c) {
		return
	}
	var t events.Target
	t.ToolCallIDs, t.Calls, t.More = missing(present(c.ID), present(c.Call))
	st.unmatched(progressKind, &t)
}

func present(name string) []string {
	if name == "" {
		return nil
	}
	return []string{name}
}

func (st *Step) unmatched(kind string, target *events.Target) *events.Event {
	e := st.emit(events.Unmatched)
	e.Kind, e.Target, e.Input = kind, target, st.Seq
	return e
}

func (in *Interrupt) target(ids, calls []string) *events.Target {
	t := &events.Target{MessageID: shorten(in.MessageID, maxMissingName), Run: shorten(in.Run, maxMissingName), Namespace: shorten(in.Namespace, maxMissingName)}
	t.ToolCallIDs, t.Calls, t.More = missing(ids, calls)
	return t
}

// missing returns the first names of calls, and the number of the others.
func missing(ids, calls []string) (firstIDs, firstCalls []string, more int) {
	for _, id := range ids[:min(len(ids), maxMissing)] {
		firstIDs = append(firstIDs, shorten(id, maxMissingName))
	}
	for _, call := range calls[:min(len(calls), maxMissing-len(firstIDs))] {
		firstCalls = append(firstCalls, shorten(call, maxMissingName))
	}
	return firstIDs, firstCalls, len(ids) + len(calls) - len(firstIDs) - len(firstCalls)
}
