package session

import (
	"slices"
	"strings"
	"testing"
	"time"

	"streamer/internal/events"
	"streamer/internal/inputs"
)

const twoCalls = `{"id":"m","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"tool_calls":[` +
	`{"index":0,"id":"call_1","function":{"name":"f","arguments":"{}"}},{"index":1,"id":"call_2","function":{"name":"g","arguments":"{}"}}]}}]}`

// after returns the types of the events that an input causes in a session with
// two open calls, and the first rejected or unmatched event among them.
func after(kind inputs.Kind, data string) (types []events.Type, report *events.Event) {
	var s State
	out := Fold(nil, &s, Input{Input: inputs.Input{Seq: 1, At: time.UnixMilli(1), Token: "s", Kind: inputs.Delta, Data: []byte(twoCalls)}})
	out = Fold(out[:0], &s, Input{Input: inputs.Input{Seq: 2, At: time.UnixMilli(2), Token: "s", Kind: kind, Data: []byte(data)}})
	for i := range out {
		types = append(types, out[i].Type)
		if report == nil && (out[i].Type == events.Rejected || out[i].Type == events.Unmatched) {
			report = &out[i]
		}
	}
	return types, report
}

// TestInterruptBodies checks that an invalid body closes nothing, and that Check
// refuses it with the text of the rejected event.
func TestInterruptBodies(t *testing.T) {
	for _, data := range []string{
		`{"calls":[]}`, `{"calls":null}`, `{"tool_call_ids":[]}`, `{"run":null}`, `{"run_id":"x"}`, `{"Calls":["x"]}`, `{"message_id":""}`,
		`{"call":""}`, `{"calls":"1.0"}`, `{"reason":"a","reason":"b"}`, `{"reason":7}`, `null`, `[]`, `{"calls":["1.0"],"Calls":["1.1"]}`, `{"x":1}`,
	} {
		t.Run(data, func(t *testing.T) {
			types, report := after(inputs.Interrupt, data)
			if !slices.Equal(types, []events.Type{events.Rejected}) || report.Reason.Code != events.BadShape {
				t.Errorf("%s: events %v, want one rejected with bad_shape", data, types)
				return
			}
			if err := Check(inputs.Interrupt, []byte(data)); err == nil || err.Error() != report.Reason.Text {
				t.Errorf("%s: Check returns %v, the event has %q", data, err, report.Reason.Text)
			}
		})
	}
	for data, want := range map[string]int{
		``: 2, `{}`: 2, `{"reason":"user"}`: 2, `{"call":"1.0"}`: 1, `{"tool_call_id":"call_2"}`: 1, `{"calls":["1.0","1.1"]}`: 2,
		`{"calls":["1.0"],"tool_call_ids":["call_1"]}`: 1, `{"message_id":"m"}`: 2, `{"run":"1.0"}`: 2, `{"run":"0.0"}`: 0, `{"call":"call_1"}`: 0,
	} {
		t.Run(data, func(t *testing.T) {
			types, report := after(inputs.Interrupt, data)
			got := 0
			for _, typ := range types {
				if typ == events.ToolCallResult {
					got++
				}
			}
			if got != want || (report != nil) != (want == 0) || want == 0 && (report.Type != events.Unmatched || report.Input != 2) {
				t.Errorf("%s closes %d calls, want %d: %v", data, got, want, types)
			}
			if err := Check(inputs.Interrupt, []byte(data)); err != nil {
				t.Errorf("%s: Check returns %v", data, err)
			}
		})
	}
}

// TestControlBodies checks the bodies of the other control inputs.
func TestControlBodies(t *testing.T) {
	for _, c := range []struct {
		kind inputs.Kind
		data string
		want events.Type // of the first event
		text string
	}{
		{inputs.Progress, `{"tool_call_id":"call_1","percent":50}`, events.ToolCallProgress, ""},
		{inputs.Progress, `{"tool_call_id":"call_1","percent":101}`, events.Rejected, "percent is 101, not a number from 0 to 100"},
		{inputs.Progress, `{"tool_call_id":"call_1","percent":"50"}`, events.Rejected, "percent is a string, not a number"},
		{inputs.Progress, `{"tool_call_id":"call_1","percent":NaN}`, events.Rejected, "'N' where a JSON value is expected"},
		{inputs.Progress, `{"percent":50}`, events.Rejected, "the progress names no call"},
		{inputs.Progress, `{"tool_call_id":"call_9"}`, events.Unmatched, ""},
		{inputs.End, `{"reason":"error"}`, events.ToolCallResult, ""},
		{inputs.End, `{"reason":"failed"}`, events.Rejected, `reason is "failed"`},
		{inputs.End, `{"status":"error"}`, events.Rejected, `the end has no field "status"`},
		{inputs.Result, `{"tool_call_id":"call_1","Content":"x"}`, events.Rejected, `the result has no field "Content"`},
		{inputs.Result, `{"tool_call_id":"call_1","content":"x"}`, events.ToolCallArgsComplete, ""},
	} {
		t.Run(c.data, func(t *testing.T) {
			types, report := after(c.kind, c.data)
			var first events.Type
			if len(types) > 0 {
				first = types[0]
			}
			if first != c.want {
				t.Errorf("%s %s: events %v, want first %q", c.kind, c.data, types, c.want)
				return
			}
			err := Check(c.kind, []byte(c.data))
			if (err != nil) != (c.want == events.Rejected) {
				t.Errorf("%s %s: Check returns %v", c.kind, c.data, err)
			}
			if c.want == events.Rejected && (!strings.Contains(report.Reason.Text, c.text) || !strings.Contains(err.Error(), report.Reason.Text)) {
				t.Errorf("%s %s: rejected with %q, refused with %q, want %q", c.kind, c.data, report.Reason.Text, err, c.text)
			}
		})
	}
}
