package encode

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"streamer/internal/events"
)

// turnOfEvents returns a turn with the given events after the start of a run.
func turnOfEvents(t *testing.T, list ...events.Event) turnOf {
	t.Helper()
	list = append([]events.Event{{Type: events.RunStarted}, {Type: events.MessageStarted}}, list...)
	var u turnOf
	for i, e := range list {
		e.EventID, e.Run, e.Place = events.ID{Seq: 1, N: i}, "r", &events.Place{MessageID: e.By}
		if e.Call != "" && e.UID == "" {
			e.UID, e.ToolName = "id-"+e.Call, "f"
		}
		e.By = ""
		body, err := e.Body()
		if err != nil {
			t.Fatal(err)
		}
		u.log = append(u.log, events.Record{Seq: uint64(i + 1), Type: e.Type, Call: e.Call, Data: body})
	}
	return u
}

// sent returns the chunks of a stream whose type begins with kind, with the fields
// after the type.
func sent(b []byte, kind string) (list []string) {
	for f := range strings.SplitSeq(string(b), "\n\n") {
		if rest, ok := strings.CutPrefix(f, `data: {"type":"`+kind); ok {
			list = append(list, strings.TrimSuffix(rest, "}"))
		}
	}
	return list
}

func argsDelta(call string, at int, text string) events.Event {
	return events.Event{Type: events.ToolCallArgsDelta, Call: call, Offset: events.OffsetAt(at), Args: text}
}

func argsComplete(call, text string) events.Event {
	valid := true
	return events.Event{Type: events.ToolCallArgsComplete, Call: call, ArgsText: &text, ToolArgs: json.RawMessage(text), ArgsValid: &valid}
}

// TestAIReplacedArgs checks args of which a delta replaces the end of the earlier
// ones. A client that connects later gets the right deltas; one that has the replaced
// ones gets no more of them, and the right input.
func TestAIReplacedArgs(t *testing.T) {
	u := turnOfEvents(t,
		events.Event{Type: events.ToolCallStart, Call: "1.0"},
		argsDelta("1.0", 0, `{"x":`), argsDelta("1.0", 2, `y":`), argsDelta("1.0", 5, "1}"), argsComplete("1.0", `{"y":1}`))
	const call = `","toolCallId":"id-1.0","inputTextDelta":`
	for history, want := range map[int][]string{
		len(u.log): {call + `"{\"y\":1}"`},
		5:          {call + `"{\"y\":"`, call + `"1}"`}, // connects after the replacement
		0:          {call + `"{\"x\":"`},
	} {
		t.Run(fmt.Sprint(history), func(t *testing.T) {
			b, _ := u.encode(t, "ai-sdk", history)
			if got := sent(b, "tool-input-delta"); !slices.Equal(got, want) {
				t.Errorf("%d events stored: got %q, want %q", history, got, want)
			}
			if got := sent(b, "tool-input-available"); len(got) != 1 || !strings.Contains(got[0], `"input":{"y":1}`) {
				t.Errorf("%d events stored: got input %q", history, got)
			}
		})
	}
}

// TestAIHeldArgs checks that args of a history that exceed the limit are sent in
// several deltas, and that the state is bounded by it.
func TestAIHeldArgs(t *testing.T) {
	piece := strings.Repeat("x", 32<<10)
	list := []events.Event{{Type: events.ToolCallStart, Call: "1.0"}, argsDelta("1.0", 0, `{"a":"`)}
	for i := range 20 {
		list = append(list, argsDelta("1.0", 6+i*len(piece), piece))
	}
	u := turnOfEvents(t, append(list, argsComplete("1.0", `{"a":"`+strings.Repeat(piece, 20)+`"}`))...)
	b, _ := u.encode(t, "ai-sdk", len(u.log))
	if got := len(sent(b, "tool-input-delta")); got < 2 || got > 4 {
		t.Errorf("got %d deltas for 640 KiB, want one for each 256 KiB", got)
	}
	if _, err := reduceAI(b, func(string) bool { return false }); err != nil {
		t.Error(err)
	}
}

// TestAIApprovals checks that the requests of two calls have different ids, even if
// both wait for the same answer on the wire, and that the answers name them.
func TestAIApprovals(t *testing.T) {
	u := turnOfEvents(t,
		events.Event{Type: events.ToolCallStart, Call: "1.0"}, argsComplete("1.0", "{}"),
		events.Event{Type: events.ToolCallStart, Call: "1.1"}, argsComplete("1.1", "{}"),
		events.Event{Type: events.ToolCallAwaiting, Call: "1.0", InterruptID: "int"},
		events.Event{Type: events.ToolCallAwaiting, Call: "1.1", InterruptID: "int"},
		events.Event{Type: events.ToolCallResult, Call: "1.1", Status: events.Denied},
		events.Event{Type: events.ToolCallResult, Call: "1.0", Status: events.Completed},
		events.Event{Type: events.RunFinished, Status: events.Completed})
	b, done := u.encode(t, "ai-sdk", 0)
	if _, err := reduceAI(b, func(string) bool { return false }); err != nil || !done {
		t.Errorf("complete: %v, %v\n%s", done, err, b)
	}
	want := []string{
		`request","toolCallId":"id-1.0","approvalId":"int"`, `request","toolCallId":"id-1.1","approvalId":"int~1.1"`,
		`response","approvalId":"int~1.1","approved":false`, `response","approvalId":"int","approved":true`,
	}
	if got := sent(b, "tool-approval-"); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestAIReset checks when a message that was abandoned is dropped: only if no call of
// it has another end, or none.
func TestAIReset(t *testing.T) {
	call := events.Event{Type: events.ToolCallStart, Call: "1.0"}
	result := func(status events.Status, code events.Code) events.Event {
		return events.Event{Type: events.ToolCallResult, Call: "1.0", Status: status, Reason: &events.Reason{Code: code, Text: "x"}}
	}
	for name, c := range map[string]struct {
		list  []events.Event
		reset bool
	}{
		"text only":               {nil, true},
		"a call that was closed":  {[]events.Event{call, result(events.Cancelled, events.BySuperseded)}, true},
		"a call that completed":   {[]events.Event{call, argsComplete("1.0", "{}"), result(events.Completed, "")}, false},
		"a call that was stopped": {[]events.Event{call, result(events.Cancelled, events.ByInterrupt)}, false},
		"a call that runs":        {[]events.Event{call, argsComplete("1.0", "{}")}, false},
	} {
		t.Run(name, func(t *testing.T) {
			list := append(slices.Clone(c.list), events.Event{Type: events.MessageFinished, Superseded: true}, events.Event{Type: events.MessageStarted, By: "m2"})
			u := turnOfEvents(t, list...)
			b, _ := u.encode(t, "ai-sdk", 0)
			if got := len(sent(b, "reset-step")) == 1; got != c.reset {
				t.Errorf("%s: reset is %v, want %v\n%s", name, got, c.reset, b)
			}
			if _, err := reduceAI(b, func(string) bool { return false }); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
}

// TestAIHumanMessage checks that messages that are written for the model are omitted:
// the client has them.
func TestAIHumanMessage(t *testing.T) {
	u := turnOfEvents(t,
		events.Event{Type: events.MessageStarted, By: "h", Role: "user"},
		events.Event{Type: events.AgentResponseChunk, By: "h", Kind: "text", Content: "asked"},
		events.Event{Type: events.PartFinished, By: "h", Kind: "text"},
		events.Event{Type: events.MessageFinished, By: "h", Role: "user"},
		events.Event{Type: events.AgentResponseChunk, Kind: "text", Content: "answer"})
	b, _ := u.encode(t, "ai-sdk", 0)
	if got := sent(b, "text-delta"); !slices.Equal(got, []string{`","id":"0","delta":"answer"`}) {
		t.Errorf("got %q, want the answer only", got)
	}
}

// TestAIUnreadable checks that a call and a run end even if the bodies of their last
// events cannot be read.
func TestAIUnreadable(t *testing.T) {
	u := turnOfEvents(t,
		events.Event{Type: events.ToolCallStart, Call: "1.0"},
		events.Event{Type: events.ToolCallResult, Call: "1.0"}, events.Event{Type: events.RunFinished})
	for i := range u.log[len(u.log)-2:] {
		u.log[len(u.log)-1-i].Data = []byte("{")
	}
	u.run = "r"
	b, done := u.encode(t, "ai-sdk", 0)
	if _, err := reduceAI(b, func(string) bool { return false }); err != nil || !done {
		t.Errorf("complete: %v, %v\n%s", done, err, b)
	}
}
