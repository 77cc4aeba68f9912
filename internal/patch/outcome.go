package patch

import (
	"encoding/json"
	"strings"

	"streamer/internal/events"
)

// Outcome is what became of a call, by the event log of its session. One with
// neither a result nor a reason is of a call that is still open.
type Outcome struct {
	Name    string
	Content json.RawMessage // the real result, a string or other JSON
	IsError bool            // the real result is an error
	// At is where the log has the real result, in the words of whoever read
	// the log, if Content is not at hand; 0 where there is none.
	At     uint64
	Reason events.Text // why there is no real result
}

// real tells whether the call has a real result.
func (o *Outcome) real() bool { return o.Content != nil || o.At != 0 }

// Bounds of what Outcomes keeps.
const (
	maxOutcomes = 200_000 // calls, and results without one; the oldest are forgotten
	maxAtHand   = 1 << 10 // bytes of a result that is kept itself
)

// Outcomes collects what the events of one session say of its calls. The zero
// value has seen no event.
type Outcomes struct {
	calls   map[string]*callState // by the calls' own names
	order   []*callState          // as the calls began
	orphans map[string]*callState // results whose call was never seen, by id
}

// told is what was told of a call.
type callState struct {
	Outcome
	call, id, uid string
	argsComplete  bool // args were complete
	argsValid     bool // and are JSON
}

// Take takes the next event of the session's log and its place there, which is
// not 0. An event that says nothing of how a call ended is welcome too: it
// tells that there is the call.
func (o *Outcomes) Take(at uint64, e *events.Event) {
	if e.Type == events.OrphanResult {
		o.takeOrphan(at, e)
		return
	}
	if e.Call == "" {
		return
	}
	t := o.record(e)
	switch e.Type {
	case events.ToolCallArgsComplete:
		t.argsComplete, t.argsValid = true, e.ArgsValid != nil && *e.ArgsValid
	case events.ToolCallResult:
		if e.Synthetic {
			t.Reason = t.reasonOf(e)
		} else {
			t.setResult(at, e)
		}
	case events.ToolCallLateResult:
		if !e.Conflict && !t.real() {
			t.setResult(at, e)
		}
	}
}

// get gives what is told of an event's call.
func (o *Outcomes) record(e *events.Event) *callState {
	t := o.calls[e.Call]
	if t == nil {
		if o.calls == nil {
			o.calls = map[string]*callState{}
		}
		if len(o.order) == maxOutcomes {
			delete(o.calls, o.order[0].call)
			o.order = o.order[1:]
		}
		t = &callState{call: e.Call}
		o.calls[e.Call] = t
		o.order = append(o.order, t)
	}
	t.id, t.uid, t.Name = e.ID, e.UID, e.ToolName
	return t
}

// orphan takes a result whose call was not seen: the model's stream may have
// gone another way. Of several with an id, the first counts.
func (o *Outcomes) takeOrphan(at uint64, e *events.Event) {
	if e.ID == "" || o.orphans[e.ID] != nil || len(o.orphans) == maxOutcomes {
		return
	}
	if o.orphans == nil {
		o.orphans = map[string]*callState{}
	}
	t := &callState{id: e.ID}
	t.Name = e.ToolName
	t.setResult(at, e)
	o.orphans[e.ID] = t
}

// answer is the real result. A rejection that says nothing is a reason, and
// no result.
func (t *callState) setResult(at uint64, e *events.Event) {
	t.Content, t.At, t.IsError, t.Reason = nil, 0, e.Status == events.Error || e.Status == events.Denied, ""
	switch {
	case e.ToolResultRef != nil || len(e.ToolResult) > maxAtHand:
		t.At = at
	case e.Status == events.Denied && text(string(e.ToolResult)) == "":
		t.Reason = events.TextDenied
	default:
		t.Content = ResultOf(e)
	}
}

// ResultOf gives the real result in an event as Outcome.Content: a list of
// nothing but text, which each provider writes in its own way, is that text.
func ResultOf(e *events.Event) json.RawMessage {
	if len(e.ToolResult) == 0 {
		return json.RawMessage(`""`)
	}
	return joinTextBlocks(e.ToolResult)
}

// joined gives the text of a list of text blocks, a line each, and any other
// value as it is.
func joinTextBlocks(content json.RawMessage) json.RawMessage {
	var lines []string
	for _, block := range elements(string(content)) {
		text, count := member(block, "text"), 0
		for range members(block) {
			count++
		}
		if count != 2 || member(block, "type") != `"text"` || !strings.HasPrefix(text, `"`) {
			return content
		}
		lines = append(lines, text[1:len(text)-1])
	}
	if lines == nil {
		return content
	}
	return json.RawMessage(`"` + strings.Join(lines, `\n`) + `"`)
}

// why gives the sentence that the call was closed with. The event has its
// words, which tell more than the code where the args were not announced.
func (t *callState) reasonOf(e *events.Event) events.Text {
	if e.Reason == nil {
		return events.TextInterrupted
	}
	for _, lang := range events.Langs {
		for _, sort := range reasons() {
			if e.Reason.Text == events.Fill(events.Sentence(sort, lang), e.ToolName, e.ID) {
				return sort
			}
		}
	}
	// Words of an operator's own. That a call was not run is said only of
	// args that are known to be no JSON.
	return events.TextFor(e.Reason.Code, t.argsValid || !t.argsComplete)
}

// Log gives what is known, as Options.Log takes it: by the id of the call, and
// by its uid where that is another.
func (o *Outcomes) Log() map[string][]Outcome {
	log := make(map[string][]Outcome, len(o.order)+len(o.orphans))
	for _, t := range o.order {
		log[t.id] = append(log[t.id], t.Outcome)
		if t.uid != "" && t.uid != t.id {
			log[t.uid] = append(log[t.uid], t.Outcome)
		}
	}
	for id, t := range o.orphans {
		if log[id] == nil {
			log[id] = []Outcome{t.Outcome}
		}
	}
	return log
}
