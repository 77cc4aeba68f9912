package encode

import (
	"cmp"
	"slices"

	"streamer/internal/events"
)

// agOutcome is the end of a run that did not fail.
type agOutcome struct {
	Type       string        `json:"type"` // success, interrupt, cancelled
	Pending    []string      `json:"pendingToolCallIds,omitempty"`
	Interrupts []agInterrupt `json:"interrupts,omitempty"`
}

type agInterrupt struct {
	ID         string       `json:"id"`
	Reason     string       `json:"reason"`
	Message    string       `json:"message,omitempty"`
	ToolCallID string       `json:"toolCallId,omitempty"`
	ExpiresAt  *events.Time `json:"expiresAt,omitempty"`
	Metadata   *agMetadata  `json:"metadata,omitempty"`

	SubagentRunID string `json:"subagentRunId,omitempty"`
}

type agRunData struct {
	Run    string        `json:"run,omitempty"`
	Status events.Status `json:"status,omitempty"` // the rest is that of the end
	Reason events.Code   `json:"reason,omitempty"`
	Detail string        `json:"detail,omitempty"`
}

// agAwaitData is the value of the event streamer.awaiting_input.
type agAwaitData struct {
	ToolCallID  string `json:"toolCallId"`
	InterruptID string `json:"interruptId"`
	Kind        string `json:"kind,omitempty"`
}

// agCallList names the calls that wait for one answer.
type agCallList struct {
	ToolCallIDs []string `json:"toolCallIds"`
}

// startRun begins the run at its start, or at the message of a user before it, and replaces the history of the client by the same without
// what follows. A run that continues the turn continues the run.
func (a *agUI) startRun(e *events.Event) {
	if a.runStarted {
		return
	}
	a.runStarted = true
	a.thread, a.run = a.session, cmp.Or(a.last, e.Run, a.session)
	if a.client != nil {
		a.thread, a.run = cmp.Or(a.client.Thread, a.thread), cmp.Or(a.client.Run, a.run)
	}
	a.send(agEvent{Type: "RUN_STARTED", ThreadID: a.thread, RunID: a.run, Metadata: &agMetadata{agRunData{Run: cmp.Or(a.last, e.Run)}}})
	if a.client == nil {
		return
	}
	if list := a.echo(a.client.Messages); len(a.client.Messages) > 0 {
		a.send(agEvent{Type: "MESSAGES_SNAPSHOT", Messages: &list})
	}
	a.client = nil
}

// endRun ends what the run has left open, and the run of the client if this is the
// last of the turn.
func (a *agUI) endRun(e *events.Event) {
	for len(a.messages) > 0 {
		a.endMessageAt(a.messages[0].place, &events.Event{})
	}
	for _, c := range slices.Clone(a.calls) {
		if text, data, ends := c.endWith(e, c.ended && !c.invalid); ends {
			a.end(c, text, data)
		}
	}
	if !isLast(e, a.last) {
		return
	}
	if a.asked = slices.ContainsFunc(a.calls, asks); !a.held.hold(e, len(a.calls), a.deltas.live) {
		a.finish(e)
	}
}

func (a *agUI) finish(e *events.Event) {
	a.done = true
	for _, s := range slices.Backward(a.subagents) {
		a.endSubagent(s, e)
	}
	data := agRunData{Run: cmp.Or(e.Run, a.last), Status: e.Status}
	if e.Reason != nil {
		data.Reason, data.Detail = e.Reason.Code, e.Reason.Detail
	}
	status := e.Status
	if status == events.Interrupted && a.asked && !slices.ContainsFunc(a.calls, asks) {
		status = events.Completed // all that it asked was answered since
	}
	end := agEvent{Type: "RUN_FINISHED", ThreadID: a.thread, RunID: a.run, Metadata: &agMetadata{data}}
	switch status {
	case events.Completed:
		o := agOutcome{Type: "success"}
		for _, c := range a.calls {
			o.Pending = append(o.Pending, c.id)
		}
		end.Outcome = o
	case events.Interrupted:
		end.Outcome = agOutcome{Type: "interrupt", Interrupts: a.interrupts(e)}
	case events.Cancelled:
		end.Outcome = agOutcome{Type: "cancelled"}
	default:
		end = agEvent{
			Type: "RUN_ERROR", Message: reasonText(e.Reason, "The run failed."),
			Code: string(cmp.Or(data.Reason, events.ByRunError)), Metadata: end.Metadata,
		}
	}
	a.send(end)
}

func asks(c *agCall) bool { return c.awaits != nil }

// interrupts returns the answers for which the run waits, at least one. Calls that
// wait for the same answer share it.
func (a *agUI) interrupts(e *events.Event) (list []agInterrupt) {
	calls := map[string]*agCallList{}
	for _, c := range a.calls {
		if c.awaits == nil {
			continue
		}
		if calls[c.awaits.ID] == nil {
			one := *c.awaits
			calls[one.ID] = &agCallList{}
			one.Metadata = &agMetadata{calls[one.ID]}
			list = append(list, one)
		}
		calls[c.awaits.ID].ToolCallIDs = append(calls[c.awaits.ID].ToolCallIDs, c.id)
	}
	if len(list) == 0 {
		list = []agInterrupt{{ID: cmp.Or(e.Run, a.session), Reason: "input"}}
	}
	return list
}

// await records the answer for which a call waits, for the end of the run, and
// appends an event about it.
func (a *agUI) await(e *events.Event) {
	c := findCall(a.calls, e.Call)
	if c == nil {
		return
	}
	c.awaits = &agInterrupt{ID: cmp.Or(e.InterruptID, c.call), Reason: cmp.Or(e.Kind, "input"), Message: requestReason(e), ToolCallID: c.id, ExpiresAt: e.Deadline, SubagentRunID: c.owner}
	a.send(agEvent{Type: "CUSTOM", Name: "streamer.awaiting_input", Value: agAwaitData{c.id, c.awaits.ID, e.Kind}})
}

// progress appends an event with the progress of a call. It ends a wait for a person.
func (a *agUI) progress(e *events.Event) {
	c := findCall(a.calls, e.Call)
	if c == nil {
		return
	}
	if e.Status != "" {
		c.awaits = nil
	}
	if e.Type == events.ToolCallAnswered || isAutomatic(e) {
		return
	}
	a.send(agEvent{Type: "CUSTOM", Name: "streamer.progress", Value: progressData{c.id, e.Progress, e.Percent}})
}
