package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"streamer/internal/client"
	"streamer/internal/events"
	"streamer/internal/session"
)

// check returns how the fold of an output differs from what the model and the tools
// recorded.
func check(s script, o output, r *record, data []byte) []string {
	a, err := client.Assemble(bytes.NewReader(data), "")
	if err != nil {
		return []string{err.Error()}
	}
	f := folded{script: s, output: o, record: r, note: o.notes[s.name], events: a.Events, got: a.Calls()}
	if o.refused {
		f.checkRefused()
		return f.faults
	}
	f.rejections()
	if len(f.faults) == 0 {
		f.recognised(data)
	}
	f.checkCalls()
	if o.texts {
		f.checkTexts()
	}
	return f.faults
}

type folded struct {
	script script
	output output
	*record
	note   note
	events []events.Event
	got    []*session.AssembledCall
	faults []string
}

func (f *folded) fault(format string, args ...any) {
	f.faults = append(f.faults, fmt.Sprintf(format, args...))
}

func (f *folded) rejections() {
	rejected := client.Rejections(f.events)
	for _, r := range rejected.Reasons {
		f.fault("line %d is rejected: %s", r.Line, r.Text)
	}
	for _, e := range f.events {
		if e.Type == events.Unmatched || e.Type == events.OrphanResult {
			f.fault("%s: %s %s", e.Type, e.ID, text(e.Target))
		}
	}
}

// checkRefused checks that an output which is not read is rejected, and shows no call.
func (f *folded) checkRefused() {
	if client.Rejections(f.events).Count == 0 || len(f.got) > 0 {
		f.fault("it is not refused: it has %d calls", len(f.got))
	}
}

// recognised checks that the format was recognised: read as it, the events are the same.
func (f *folded) recognised(data []byte) {
	b, err := client.Assemble(bytes.NewReader(data), f.output.format)
	var without, with bytes.Buffer
	if err == nil {
		err = client.WriteEvents(&without, f.events)
	}
	if err == nil {
		err = client.WriteEvents(&with, b.Events)
	}
	if err != nil {
		f.fault("%v", err)
	} else if !bytes.Equal(without.Bytes(), with.Bytes()) {
		f.fault("the format is not recognised: read as %s the events are others", f.output.format)
	}
}

// checkCalls compares the calls that the model said whole, in their order, and forbids
// that others are complete.
func (f *folded) checkCalls() {
	var missing []modelCall
	for _, t := range f.Calls {
		if t.Whole || f.ran("begin "+t.Step) {
			missing = append(missing, t)
		}
	}
	for _, c := range f.got {
		if !c.Complete || !c.ArgsValid {
			f.incomplete(c)
			continue
		}
		i := slices.IndexFunc(missing, func(t modelCall) bool { return f.same(c, t) })
		if i < 0 {
			if !f.note.repaired {
				f.fault("call %s %s %s is none that the model completed", c.ID, c.Name, c.Args)
			}
			continue
		}
		if i > 0 && !f.output.unordered {
			f.fault("call %s comes before call %s", missing[i].Step, missing[0].Step)
		}
		f.checkCall(c, missing[i])
		missing = slices.Delete(missing, i, i+1)
	}
	for _, t := range missing {
		if f.note.silent {
			continue
		}
		f.fault("call %s is missing", t.Step)
	}
}

// same reports whether a call is one of the model.
func (f *folded) same(c *session.AssembledCall, t modelCall) bool {
	switch {
	case f.output.bare:
		return true
	case f.output.ownArgs:
		return strings.Contains(string(c.Args), "mark "+t.Step)
	}
	return c.Name == t.Name && (sameJSON(c.Args, []byte(t.Args)) || t.Form != "" && c.ID == t.ID)
}

// incomplete checks a call whose args are not whole: it has an end, and a good one only
// if the program answered the model so.
func (f *folded) incomplete(c *session.AssembledCall) {
	answered := c.Status == events.Completed && f.Results[c.ID] != ""
	if !answered && !f.ended(c, events.Error, events.Denied, events.Cancelled) {
		f.fault("call %s with args %q is %s", c.ID, c.ArgsText, c.Status)
	}
}

// ended reports whether a call has one of these states, or is open in an output that
// stops before the end of its run.
func (f *folded) ended(c *session.AssembledCall, states ...events.Status) bool {
	if slices.Contains(states, c.Status) {
		return true
	}
	open := c.Status == events.BuildingArgs || c.Status == events.ArgsComplete || c.Status == events.AwaitingInput
	return open && !slices.ContainsFunc(f.events, func(e events.Event) bool { return e.Type == events.RunFinished })
}

func (f *folded) checkCall(c *session.AssembledCall, t modelCall) {
	if c.ID != t.ID && !f.output.ownIDs {
		f.fault("call %s has the id %s", t.ID, c.ID)
	}
	if want := f.status(t); c.Status != want && (want != events.Cancelled || !f.ended(c)) {
		f.fault("call %s is %s, want %s", t.Step, c.Status, want)
	}
	if !f.output.bare {
		f.checkResult(c, t)
	}
	if f.script.person != "" && !f.output.unasked && !f.has(c, events.ToolCallAwaiting) {
		f.fault("call %s never waited for a person", t.Step)
	}
}

// status returns the status that the records of the tool show.
func (f *folded) status(t modelCall) events.Status {
	switch {
	case f.note.status != "":
		return events.Status(f.note.status)
	case f.ran("throw " + t.Step):
		return events.Error
	case f.ran("end " + t.Step):
		return events.Completed
	case f.script.person == "deny":
		return events.Denied
	}
	return events.Cancelled
}

// checkResult compares the result with what the tool returned and, if the program sent
// it to the model, with that.
func (f *folded) checkResult(c *session.AssembledCall, t modelCall) {
	want := ""
	switch {
	case f.ran("throw " + t.Step):
		want = "failed " + t.Step
	case f.ran("end " + t.Step):
		want = "did " + t.Step
	default:
		return
	}
	got := string(f.result(c))
	if sent := f.Results[t.ID]; sent != "" && !strings.Contains(sent, want) {
		return // the program hides the text from the model
	}
	if !strings.Contains(got, want) {
		f.fault("the result of call %s is %s, want %q in it", t.Step, got, want)
	}
}

func (f *folded) result(c *session.AssembledCall) json.RawMessage {
	var list []json.RawMessage
	for _, e := range f.events {
		if e.Type == events.ToolCallResult && e.ID == c.ID {
			list = append(list, e.ToolResult)
		}
	}
	if len(list) != 1 {
		return fmt.Appendf(nil, "%d results", len(list))
	}
	return list[0]
}

func (f *folded) has(c *session.AssembledCall, kind events.Type) bool {
	return slices.ContainsFunc(f.events, func(e events.Event) bool { return e.Type == kind && e.ID == c.ID })
}

// checkTexts checks that the texts of the model are there once, in order, in messages
// that were not superseded.
func (f *folded) checkTexts() {
	// A message in which the run was interrupted or failed is abandoned.
	kept := f.script.stop || slices.ContainsFunc(f.events, func(e events.Event) bool {
		return e.Type == events.RunFinished && e.Status != events.Completed
	})
	var got strings.Builder
	open := map[string]string{} // texts of messages that are not finished
	var order []string
	for _, e := range f.events {
		switch e.Type {
		case events.AgentResponseChunk:
			if e.Kind != "reasoning" {
				order = append(order, e.MessageID)
				open[e.MessageID] += e.Content
			}
		case events.MessageFinished:
			if !e.Superseded || kept {
				got.WriteString(open[e.MessageID])
			}
			delete(open, e.MessageID)
		}
	}
	for _, id := range order {
		got.WriteString(open[id])
		delete(open, id)
	}
	// Programs also say themselves that they were interrupted.
	if said := f.script.stop || f.script.person == "deny"; !matches(got.String(), f.Texts, said) {
		f.fault("the text is %q, want %s", got.String(), text(f.Texts))
	}
}

// matches reports whether a text consists of those that the model said, of which the cut
// ones may be absent, and what may follow if more is set.
func matches(got string, texts []modelText, more bool) bool {
	got = strings.TrimSpace(got)
	if len(texts) == 0 {
		return got == "" || more
	}
	rest, ok := strings.CutPrefix(got, texts[0].Text)
	return ok && matches(rest, texts[1:], more) || texts[0].Cut && matches(got, texts[1:], more)
}

func sameJSON(a, b []byte) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && text(x) == text(y)
}
