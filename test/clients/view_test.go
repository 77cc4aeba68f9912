package clients

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"streamer/internal/events"
)

// call is a call as the event log has it.
type call struct {
	id, name string
	message  string
	args     json.RawMessage // nil if they are not complete, or invalid
	status   events.Status
	reason   string
	result   json.RawMessage
	cut      bool // its run ended before its args
}

// view is what a client must show of some runs.
type view struct {
	calls   []*call
	texts   []string // of messages, sorted
	asked   []string // by persons
	pending []string // ids of the calls that stay open
	end     events.Event
}

// viewOf returns the view of a client of runs that follow each other.
func (k *kind) viewOf(l *sessionLog, runs []run) *view {
	last := runs[len(runs)-1]
	v := &view{end: last.end}
	records := l.records[runs[0].after : last.to+1]
	calls := map[string]*call{}
	texts := map[string]string{}
	abandoned := "" // the last message, if it was abandoned
	for i := range records {
		e := &records[i].Event
		switch c := calls[e.Call]; e.Type {
		case events.ToolCallStart:
			calls[e.Call] = &call{id: e.UID, name: e.ToolName, message: messageOf(e), status: events.BuildingArgs}
			v.calls = append(v.calls, calls[e.Call])
		case events.AgentResponseChunk:
			if e.Kind == "text" {
				texts[messageOf(e)] += e.Content
			}
		case events.MessageFinished:
			if abandoned = ""; e.Superseded {
				abandoned = messageOf(e)
			}
		case events.MessageStarted:
			if k.drops && abandoned != "" {
				delete(texts, abandoned)
				v.calls = slices.DeleteFunc(v.calls, func(c *call) bool { return c.message == abandoned })
			}
		case events.RunFinished:
			for _, c := range v.calls {
				c.endRun()
			}
		case events.HumanMessage:
			v.asked = append(v.asked, e.Content)
		default:
			if c != nil {
				c.apply(e)
			}
		}
	}
	for _, text := range texts {
		v.texts = append(v.texts, text)
	}
	slices.Sort(v.texts)
	for _, c := range v.calls {
		if c.open() {
			v.pending = append(v.pending, c.id)
		}
	}
	slices.Sort(v.pending)
	return v
}

// messageOf returns the name of the message of an event.
func messageOf(e *events.Event) string {
	return fmt.Sprintf("%s %s %d", e.MessageID, e.Namespace, e.Choice)
}

// endRun ends a call whose args are incomplete at the end of its run: no client can
// answer it. The event log ends it later.
func (c *call) endRun() {
	if c.status == events.BuildingArgs {
		c.status, c.reason, c.cut = events.Cancelled, "args_incomplete", true
	}
}

// apply applies an event about the call.
func (c *call) apply(e *events.Event) {
	if c.cut {
		return
	}
	switch e.Type {
	case events.ToolCallArgsComplete:
		c.status, c.args = events.ArgsComplete, e.ToolArgs
	case events.ToolCallAwaiting:
		c.status = events.AwaitingInput
	case events.ToolCallResult:
		c.status, c.result = e.Status, e.ToolResult
		if e.Reason != nil {
			c.reason = string(e.Reason.Code)
		}
	}
}

func (c *call) open() bool {
	return c.status == events.BuildingArgs || c.status == events.ArgsComplete || c.status == events.AwaitingInput
}

// shown is what a client shows at the end, in the form that all scripts print.
type shown struct {
	Outcome      string
	FinishReason string
	Texts        []string
	Questions    []string // nil if the client does not show them
	Pending      []string
	Open         int      // parts that are still open
	Extra        int      // calls and results that are shown twice
	Ended        bool     // the client saw the end
	Problems     []string // states that went back
	Calls        []shownCall
	Messages     json.RawMessage   // to be sent to a later job
	Events       []string          // of an EventSource
	Durable      []json.RawMessage // of a client of Durable Streams
	Stored       []json.RawMessage // the same, read at the end
	Tail         string            // offset of the end
	Refused      string            // reason why it cannot write
	IsAbort      bool
	IsDisconnect bool
	IsError      bool
}

type shownCall struct {
	ID, Name, State, Reason string
	Status                  events.Status
	Args, Result            json.RawMessage
}

// check reports each difference between a view and what a client shows.
func (v *view) check(t *testing.T, what string, k *kind, got *shown) {
	t.Helper()
	if !got.Ended || got.Open+got.Extra > 0 || len(got.Problems) > 0 || got.IsError || got.IsDisconnect {
		t.Errorf("%s: ended is %v, %d parts are open, %d are shown twice, problems %q, error %v, disconnected %v", what, got.Ended, got.Open, got.Extra, got.Problems, got.IsError, got.IsDisconnect)
	}
	if want := k.outcomes[v.end.Status]; got.Outcome != want {
		t.Errorf("%s: the outcome is %q, want %q", what, got.Outcome, want)
	}
	slices.Sort(got.Texts)
	if !slices.Equal(got.Texts, v.texts) {
		t.Errorf("%s: the texts are %q, want %q", what, got.Texts, v.texts)
	}
	if want := v.questions(k); got.Questions != nil && !slices.Equal(got.Questions, want) {
		t.Errorf("%s: the questions are %q, want %q", what, got.Questions, want)
	}
	if len(got.Calls) != len(v.calls) {
		t.Errorf("%s: shows %d calls, want %d", what, len(got.Calls), len(v.calls))
	}
	for _, c := range v.calls {
		i := slices.IndexFunc(got.Calls, func(s shownCall) bool { return s.ID == c.id })
		if i < 0 {
			t.Errorf("%s: does not show call %s", what, c.id)
		} else if diff := c.differs(k, &got.Calls[i]); diff != "" {
			t.Errorf("%s: call %s: %s\nshown %s", what, c.id, diff, marshal(t, got.Calls[i]))
		}
	}
}

// questions returns the questions that a client shows: that which it has sent is shown
// once.
func (v *view) questions(k *kind) []string {
	if k.sent == "" || slices.Contains(v.asked, k.sent) {
		return v.asked
	}
	return append([]string{k.sent}, v.asked...)
}

// differs returns the first difference between a call and what a client shows of it,
// or "".
func (c *call) differs(k *kind, got *shownCall) string {
	switch {
	case got.Name != c.name:
		return fmt.Sprintf("the name is %q, want %q", got.Name, c.name)
	case got.State != k.states[c.status]:
		return fmt.Sprintf("the state is %q, want %q, because it is %s", got.State, k.states[c.status], c.status)
	case c.args != nil && !sameJSON(got.Args, c.args):
		return fmt.Sprintf("the args are %s, want %s", got.Args, c.args)
	case c.open():
		return ""
	case c.status == events.Denied && k.deniesWithoutMore:
		return ""
	case got.Status != c.status || got.Reason != c.reason:
		return fmt.Sprintf("it has status %q and reason %q, want %q and %q", got.Status, got.Reason, c.status, c.reason)
	case c.result != nil && !sameResult(got.Result, c.result):
		return fmt.Sprintf("the result is %s, want %s", got.Result, c.result)
	}
	return ""
}

// sameJSON reports whether two JSON values are equal.
func sameJSON(a, b json.RawMessage) bool {
	var x, y any
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return false
	}
	p, errP := json.Marshal(x)
	q, errQ := json.Marshal(y)
	return errP == nil && errQ == nil && bytes.Equal(p, q)
}

// sameResult reports whether a result is the one that is shown, or its text.
func sameResult(got, want json.RawMessage) bool {
	var text string
	return sameJSON(got, want) || json.Unmarshal(got, &text) == nil && sameJSON([]byte(text), want)
}

func marshal(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
