package encode

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"streamer/internal/events"
)

// checkAITurn checks the streams of clients that connect at different times and
// returns the number of calls.
func checkAITurn(t *testing.T, name string, u turnOf) int {
	t.Helper()
	b, _ := u.encode(t, "ai-sdk", len(u.log))
	late, err := reduceAI(b, func(string) bool { return false })
	if err != nil {
		t.Fatalf("%s, after its end: %v\n%s", name, err, b)
	}
	open := 0
	for _, p := range late.tools {
		if p != nil && !strings.HasPrefix(p.state, "output-") { // nil: of a step that was reset
			open++
		}
	}
	if open > u.open() {
		t.Errorf("%s: %d calls are open, of which %d have no end in the log\n%s", name, open, u.open(), b)
	}
	u = u.ended()
	odd := replacedArgs(t, u.log)
	var want string
	calls := 0
	for _, history := range []int{len(u.log), len(u.log) / 2, 0} {
		b, done := u.encode(t, "ai-sdk", history)
		live := history < len(u.log)
		m, err := reduceAI(b, func(id string) bool { return live && odd[id] })
		if err != nil {
			t.Fatalf("%s, %d of %d events stored: %v\n%s", name, history, len(u.log), err, b)
		}
		if done != finishes(t, u) {
			t.Errorf("%s: the stream is complete: %v\n%s", name, done, b)
		}
		got := m.String()
		if !live {
			want, calls = got, len(m.tools)
		}
		if got != want && len(odd) == 0 {
			t.Errorf("%s, %d of %d events stored: got\n%s\nwant\n%s", name, history, len(u.log), got, want)
		}
	}
	return calls
}

// finishes reports whether the last run of a turn ends.
func finishes(t *testing.T, u turnOf) bool {
	return slices.ContainsFunc(u.log, func(r events.Record) bool {
		return r.Type == events.RunFinished && decoded(t, r).Run == u.run
	})
}

// replacedArgs returns the calls of which a delta replaces an earlier one.
func replacedArgs(t *testing.T, log []events.Record) map[string]bool {
	odd, sent := map[string]bool{}, map[string]int{}
	for _, r := range log {
		if r.Type != events.ToolCallArgsDelta {
			continue
		}
		e := decoded(t, r)
		if e.Offset.Bytes() != sent[e.Call] {
			odd[e.UID] = true
		}
		sent[e.Call] = e.Offset.Bytes() + len(e.Args)
	}
	return odd
}

func decoded(t *testing.T, r events.Record) (e events.Event) {
	t.Helper()
	if err := json.Unmarshal(r.Data, &e); err != nil {
		t.Fatal(err)
	}
	return e
}

// TestAIReducerFinds checks that each rule of the reducer finds its offence.
func TestAIReducerFinds(t *testing.T) {
	const (
		start = `{"type":"start","messageId":"m"}|{"type":"start-step"}|`
		call  = `{"type":"tool-input-start","toolCallId":"c","toolName":"f","toolMetadata":{}}|`
		whole = call + `{"type":"tool-input-delta","toolCallId":"c","inputTextDelta":"{}"}|{"type":"tool-input-available","toolCallId":"c","toolName":"f","input":{}}|`
		ended = `{"type":"tool-output-available","toolCallId":"c","output":1}|`
		end   = `{"type":"finish-step"}|{"type":"finish","finishReason":"stop"}|[DONE]`
	)
	for stream, want := range map[string]string{
		start + whole + ended + end: "",
		start + whole + `{"type":"tool-approval-request","toolCallId":"c","approvalId":"a"}|{"type":"tool-approval-response","approvalId":"a","approved":true}|` + ended + end: "",
		end: "start must be",
		start + `{"type":"tool-input-delta","toolCallId":"c","inputTextDelta":"{"}|` + end:                 "known: false",
		start + whole + `{"type":"tool-input-delta","toolCallId":"c","inputTextDelta":"{"}|` + end:         "not possible in state input-available",
		start + whole + ended + ended + end:                                                                "has ended",
		start + whole + ended + call + end:                                                                 "known: true",
		start + call + `{"type":"tool-input-available","toolCallId":"c","toolName":"f","input":{}}|` + end: "not the input",
		start + whole + end: "1 calls are open",
		start + whole + `{"type":"finish-step"}|{"type":"abort","reason":"x"}|[DONE]`: "1 calls are open",
		start + call + `{"type":"finish-step"}|{"type":"start-step"}|` + ended + end:  "is open",
		start + `{"type":"text-start","id":"0"}|` + end:                               "1 texts are open",
		start + `{"type":"text-delta","id":"0","delta":"x"}|` + end:                   "open: false",
		start + `{"type":"tool-call-cancelled","toolCallId":"c"}|` + end:              "known: false",
		start + `{"type":"cancelled"}|` + end:                                         "unknown type",
		start + end + `|{"type":"data-x","id":"1","data":1}`:                          "after [DONE]",
		start + whole + `{"type":"reset-step"}|` + end:                                "call c is open",
		start + whole + ended + `{"type":"reset-step"}|` + ended + end:                "known: true",
		start + whole + `{"type":"finish-step"}|{"type":"start-step"}|{"type":"tool-input-error","toolCallId":"c","errorText":"x","toolMetadata":{}}|` + end: "another step",
		start + whole + `{"type":"tool-output-error","toolCallId":"c","errorText":"x"}|` + end:                                                               "not possible",
		strings.TrimSuffix(start+end, "|[DONE]"): "[DONE] is false",
	} {
		t.Run(fmt.Sprintf("%.60s", stream), func(t *testing.T) {
			var b bytes.Buffer
			for data := range strings.SplitSeq(stream, "|") {
				fmt.Fprintf(&b, "data: %s\n\n", data)
			}
			_, err := reduceAI(b.Bytes(), func(string) bool { return false })
			if got := fmt.Sprint(err); (want == "") != (err == nil) || !strings.Contains(got, want) && want != "" {
				t.Errorf("%s\ngot %v, want %q", stream, err, want)
			}
		})
	}
}
