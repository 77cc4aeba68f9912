package patch

import (
	"encoding/json"
	"strings"

	"streamer/internal/events"
)

// Outcome is the outcome of a call according to the event log of its session. An
// open call has neither a result nor a reason.
type Outcome struct {
	Name    string
	Content json.RawMessage // the real result, a string or other JSON
	IsError bool            // the real result is an error
	// At is the position of the real result in the log, as passed to Add, if
	// Content is not included. 0 means no such result.
	At     uint64
	Reason events.Text // reason why there is no real result
}

func (o *Outcome) real() bool { return o.Content != nil || o.At != 0 }

// Limits of Outcomes.
const (
	maxOutcomes = 200_000 // calls, and as many results without a call; the oldest calls are forgotten
	maxContent  = 1 << 10 // bytes of a result whose content is kept
)

// Outcomes collects the outcomes of a session's calls from its events. The zero
// value is empty and ready to use.
type Outcomes struct {
	calls   map[string]*callState // by Event.Call
	order   []*callState          // in the order of the calls' first events
	orphans map[string]*callState // orphan results, by id
}

type callState struct {
	Outcome
	call, id, uid string
	argsComplete  bool // an event reported complete args
	argsValid     bool // those args are JSON
	synthesized   bool // the model sent no id
}

// Add adds the next event of the session's log. at is its position there and is
// not 0. Events that do not end a call are useful too: they show that the call
// exists.
func (o *Outcomes) Add(at uint64, e *events.Event) {
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
	t.id, t.uid, t.Name, t.synthesized = e.ID, e.UID, e.ToolName, e.IDSynthesized
	return t
}

// takeOrphan adds a result whose call is not in the log, for example because
// another process received the model's stream. The first result of an id counts.
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

// setResult sets the real result. A rejection without a text is a reason and not a
// result.
func (t *callState) setResult(at uint64, e *events.Event) {
	t.Content, t.At, t.IsError, t.Reason = nil, 0, e.Status == events.Error || e.Status == events.Denied, ""
	switch {
	case e.ToolResultRef != nil || len(e.ToolResult) > maxContent:
		t.At = at
	case e.Status == events.Denied && text(string(e.ToolResult)) == "":
		t.Reason = events.TextDenied
	default:
		t.Content = ResultOf(e)
	}
}

// ResultOf returns the real result of an event as Outcome.Content. A list of text
// blocks, which each provider writes differently, becomes one string.
func ResultOf(e *events.Event) json.RawMessage {
	if len(e.ToolResult) == 0 {
		return json.RawMessage(`""`)
	}
	return joinTextBlocks(e.ToolResult)
}

// joinTextBlocks returns the text of a list of text blocks, one line per block, and
// any other value unchanged.
func joinTextBlocks(content json.RawMessage) json.RawMessage {
	var lines []string
	for _, block := range elements(string(content)) {
		line, count := member(block, "text"), 0
		for range members(block) {
			count++
		}
		if count != 2 || !oneOf(text(member(block, "type")), "text input_text output_text") || !strings.HasPrefix(line, `"`) {
			return content
		}
		lines = append(lines, line[1:len(line)-1])
	}
	if lines == nil {
		return content
	}
	return json.RawMessage(`"` + strings.Join(lines, `\n`) + `"`)
}

// reasonOf returns the reason for which the call was closed. The text of the event
// is more precise than the code if the args were not reported complete.
func (t *callState) reasonOf(e *events.Event) events.Text {
	if e.Reason == nil {
		return events.TextInterrupted
	}
	for _, lang := range events.Langs {
		for _, reason := range reasons() {
			if e.Reason.Text == events.Fill(events.Sentence(reason, lang), e.ToolName, e.ID) {
				return reason
			}
		}
	}
	// The operator configured the text. Only args that are known to be invalid
	// prove that the call was not run.
	return events.TextFor(e.Reason.Code, t.argsValid || !t.argsComplete)
}

// Log returns the outcomes for Options.Log: by the id of the call, also by its uid if
// that differs, and by the name of the tool if the model sent no id.
func (o *Outcomes) Log() map[string][]Outcome {
	log := make(map[string][]Outcome, len(o.order)+len(o.orphans))
	for _, t := range o.order {
		log[t.id] = append(log[t.id], t.Outcome)
		if t.uid != "" && t.uid != t.id {
			log[t.uid] = append(log[t.uid], t.Outcome)
		}
		if t.synthesized {
			key := nameKey(t.Name)
			log[key] = append(log[key], t.Outcome)
		}
	}
	for id, t := range o.orphans {
		if log[id] == nil {
			log[id] = []Outcome{t.Outcome}
		}
	}
	return log
}
