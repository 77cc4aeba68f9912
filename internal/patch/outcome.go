package patch

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"streamer/internal/events"
)

// Outcome is the outcome of a call according to the event log of its session, and what
// identifies the call. An open call has neither a result nor a reason. A result without a
// call has no UID.
type Outcome struct {
	ID, UID   string // as in events
	Namespace string
	Name      string
	// ArgsAt is the position of the event with the args in the log, as passed to Add, if
	// they are not included: see SetArgs. 0 means that they are, or unknown.
	ArgsAt uint64
	args   []argsKey // the model's, and what a person made of them; nil if unknown
	cut    bool      // the model's args are not JSON, or unknown

	Content json.RawMessage // the real result, a string or other JSON
	IsError bool            // the real result is an error
	// At is the position of the real result in the log, as passed to Add, if
	// Content is not included. 0 means no such result.
	At     uint64
	Reason events.Text // reason why there is no real result
}

func (o *Outcome) real() bool { return o.Content != nil || o.At != 0 }

// SetArgs includes the args, as the model wrote them. Nil means that they are not stored.
func (o *Outcome) SetArgs(text []byte) {
	if o.ArgsAt = 0; text != nil {
		o.addArgs(text)
	}
}

func (o *Outcome) addArgs(text []byte) {
	if key := keyOfText(string(text)); !slices.Contains(o.args, key) {
		o.args = append(o.args, key)
	}
}

// mayHave reports whether the args of the call may have a key.
func (o *Outcome) mayHave(args argsKey) bool {
	return o.cut || o.ArgsAt != 0 || slices.Contains(o.args, args)
}

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
	orphans []*callState          // results without a call
}

type callState struct {
	Outcome
	call         string
	text         []byte // the args, until an event reports them as complete
	argsComplete bool   // an event reported complete args
	argsValid    bool   // those args are JSON
	conflict     bool   // the result came behind another one
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
	case events.ToolCallArgsDelta:
		if at := e.Offset.Bytes(); !t.argsComplete && at >= 0 && at <= len(t.text) { // another text may replace the end
			t.text = append(t.text[:at], e.Args...)
		}
	case events.ToolCallArgsComplete:
		t.completeArgs(at, e)
	case events.ToolCallAnswered:
		if e.ToolArgs != nil {
			t.addArgs(e.ToolArgs)
		}
	case events.ToolCallResult:
		switch {
		case e.Synthetic:
			t.Reason = t.reasonOf(e)
		case !t.conflict:
			t.setResult(at, e)
		}
	case events.ToolCallLateResult:
		if t.conflict = t.conflict || e.Conflict; e.ToolResult != nil || e.ToolResultRef != nil {
			t.setResult(at, e)
		}
	}
}

func (t *callState) completeArgs(at uint64, e *events.Event) {
	t.argsComplete, t.argsValid, t.text = true, e.ArgsValid != nil && *e.ArgsValid, nil
	switch t.cut = !t.argsValid; {
	case e.ArgsRef != nil:
		t.ArgsAt = at
	case e.ArgsText != nil:
		t.SetArgs([]byte(*e.ArgsText))
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
	t.ID, t.UID, t.Name = e.ID, cmp.Or(e.UID, e.ID, e.Call), e.ToolName
	if e.Place != nil {
		t.Namespace = e.Namespace
	}
	return t
}

// takeOrphan adds a result whose call is not in the log, for example because
// another process received the model's stream.
func (o *Outcomes) takeOrphan(at uint64, e *events.Event) {
	if e.ID == "" || e.Place != nil && e.Namespace != "" && !isNode(e.Namespace) || len(o.orphans) == maxOutcomes {
		return
	}
	t := &callState{}
	t.ID, t.Name = e.ID, e.ToolName
	t.setResult(at, e)
	o.orphans = append(o.orphans, t)
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

// Log returns the outcomes for Options.Log.
func (o *Outcomes) Log() []Outcome {
	log := make([]Outcome, 0, len(o.order)+len(o.orphans))
	for _, t := range append(slices.Clip(o.order), o.orphans...) {
		of := t.Outcome
		if !t.argsComplete && t.UID != "" {
			of.cut = !isComplete(string(t.text))
			if len(t.text) > 0 {
				of.addArgs(t.text)
			}
		}
		log = append(log, of)
	}
	return log
}
