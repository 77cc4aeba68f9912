package encode

import (
	"cmp"
	"slices"
	"strings"

	"streamer/internal/events"
)

// agSubagent is a subagent of the turn: a graph in a namespace, or an agent that a call
// started. Its id is its namespace, so it is the same in each stream. The client refuses
// a second start, so an event of a subagent that has ended is only tagged with its id.
type agSubagent struct {
	id    string
	outer string // the subagent around it, "" at the root
	call  string // id in the stream of the call that started it, "" if that is unknown
	ended bool
}

type agSubagentOutcome struct {
	Type         string   `json:"type"` // success, suspended
	InterruptIDs []string `json:"interruptIds,omitempty"`
}

// graphOf returns the graph in which a namespace is. A last name with a colon is a task
// of a node: the graph is around it.
func graphOf(namespace string) string {
	if i := strings.LastIndexByte(namespace, '|'); strings.Contains(namespace[i+1:], ":") {
		return namespace[:max(i, 0)]
	}
	return namespace
}

// tag returns the subagent of a message that begins in a namespace, "" at the root.
// Where the client has sent the message, it is the subagent that the client has: the
// client refuses any other.
func (a *agUI) tag(message, namespace string) string {
	id := a.enter(graphOf(namespace), "")
	if echoed, ok := a.echoed[message]; ok && message != "" {
		return echoed
	}
	return id
}

// enter appends the start of a subagent at its first event, and those of the subagents
// around it. parent is the call that the event names as its cause, if any; without it,
// a subagent whose namespace is the id of an open call was started by that call.
func (a *agUI) enter(graph, parent string) (id string) {
	switch {
	case graph == "":
		return ""
	case slices.ContainsFunc(a.subagents, func(s *agSubagent) bool { return s.id == graph }):
		return graph
	case len(a.subagents) >= maxNamespaces:
		return "" // its events belong to the root
	}
	cut := strings.LastIndexByte(graph, '|')
	outer, name := a.enter(graph[:max(cut, 0)], ""), graph[cut+1:]
	s := &agSubagent{id: graph}
	if c := a.callWithID(cmp.Or(parent, name)); c != nil {
		s.call, outer = c.id, cmp.Or(outer, c.owner)
		if name == c.id || a.of(name) == c.id {
			name = c.name
		}
	} else if parent != "" {
		s.call = a.of(parent)
	}
	s.outer = outer
	name, _, _ = strings.Cut(name, ":")
	a.subagents = append(a.subagents, s)
	a.send(agEvent{
		Type: "SUBAGENT_STARTED", SubagentRunID: graph, Name: cmp.Or(name, "subagent"),
		ParentSubagentRunID: outer, ParentToolCallID: s.call,
	})
	return graph
}

func (a *agUI) callWithID(id string) *agCall {
	own := a.of(id)
	return find(a.calls, func(c *agCall) bool { return c.id == own })
}

// parent appends the call that caused a call, where it is known late. The subagent that
// it started has ended then, because the call has.
func (a *agUI) parent(e *events.Event) {
	id := a.of(e.ParentCall)
	a.send(agEvent{Type: "CUSTOM", Name: "streamer.parent_call", Value: parentData{callID(e), id}})
	if i := slices.IndexFunc(a.subagents, func(s *agSubagent) bool { return s.id == graphOf(namespaceOf(e)) }); i >= 0 {
		a.endSubagent(a.subagents[i], &events.Event{Status: events.Completed})
	}
}

func (a *agUI) endSubagentsOf(call string, e *events.Event) {
	for _, s := range a.subagents {
		if s.call == call {
			a.endSubagent(s, e)
		}
	}
}

// endSubagent appends the end of a subagent, once: with the result of the call that
// started it, or with the run.
func (a *agUI) endSubagent(s *agSubagent, e *events.Event) {
	if s.ended {
		return
	}
	s.ended = true
	end := agEvent{Type: "SUBAGENT_FINISHED", SubagentRunID: s.id}
	switch {
	case e.Status == events.Interrupted && a.waits(s.id):
		end.Outcome = agSubagentOutcome{Type: "suspended", InterruptIDs: a.interruptsOf(s)}
	case e.Status == events.Completed || e.Status == events.Interrupted:
		end.Outcome = agSubagentOutcome{Type: "success"}
	default:
		end = agEvent{Type: "SUBAGENT_ERROR", SubagentRunID: s.id, Message: reasonText(e.Reason, "The subagent did not complete."), Code: string(e.Status)}
	}
	a.send(end)
}

func (a *agUI) waits(id string) bool {
	return slices.ContainsFunc(a.calls, func(c *agCall) bool { return c.owner == id && c.awaits != nil }) ||
		slices.ContainsFunc(a.subagents, func(s *agSubagent) bool { return s.outer == id && a.waits(s.id) })
}

func (a *agUI) interruptsOf(s *agSubagent) (ids []string) {
	for _, c := range a.calls {
		if c.owner == s.id && c.awaits != nil && !slices.Contains(ids, c.awaits.ID) {
			ids = append(ids, c.awaits.ID)
		}
	}
	return ids
}
