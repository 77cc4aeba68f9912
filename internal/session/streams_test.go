package session

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"streamer/internal/events"
	"streamer/internal/inputs"
)

// TestNamespaces: the streams of agents below the root are decoded apart, even if their
// pieces interleave, and an end closes the calls of its own agent only.
func TestNamespaces(t *testing.T) {
	var s State
	var seq uint64
	var story []string
	feed := func(kind inputs.Kind, namespace, parent, data string) {
		seq++
		header := inputs.Header{}
		if kind == inputs.Delta {
			header[inputs.HeaderFormat] = []string{"anthropic"}
		}
		if namespace != "" {
			header[inputs.HeaderNamespace], header[inputs.HeaderParentCall] = []string{namespace}, []string{parent}
		}
		in := inputs.Input{Seq: seq, At: time.UnixMilli(int64(seq)), Token: "s", Kind: kind, Header: header, Data: []byte(data)} //nolint:gosec // small
		for _, e := range Fold(nil, &s, Input{Input: in}) {
			switch e.Type {
			case events.ToolCallStart, events.ToolCallArgsComplete, events.ToolCallResult, events.Rejected, events.RunFinished:
				ns := ""
				if e.Place != nil {
					ns = e.Namespace
				}
				story = append(story, strings.TrimSpace(fmt.Sprintf("%s %s %s %s %s", ns, e.Type, e.ID, e.ParentCall, e.Status)))
			}
		}
		stored, err := s.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		loaded, err := Load(stored)
		if err != nil {
			t.Fatal(err)
		}
		s = *loaded
	}
	call := func(id string) []string {
		return []string{
			`{"type":"message_start","message":{"id":"msg_` + id + `","role":"assistant","content":[]}}`,
			`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"` + id + `","name":"read","input":{}}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"a\":`,
			`1}"}}`,
			`{"type":"content_block_stop","index":0}`,
			`{"type":"message_delta","delta":{"stop_reason":"tool_use"}}`,
			`{"type":"message_stop"}`,
		}
	}
	a, b := call("toolu_a"), call("toolu_b")
	for i := range a {
		feed(inputs.Delta, "agents|x", "toolu_0", a[i])
		feed(inputs.Delta, "", "", b[i])
	}
	feed(inputs.End, "agents|x", "", `{"reason":"cancelled"}`)
	feed(inputs.Result, "", "", `{"type":"tool_result","tool_use_id":"toolu_b","content":"ok"}`)
	feed(inputs.End, "", "", `{"reason":"completed"}`)
	want := []string{
		"agents|x tool_call_start toolu_a toolu_0", "tool_call_start toolu_b",
		"agents|x tool_call_args_complete toolu_a", "tool_call_args_complete toolu_b",
		"agents|x tool_call_result toolu_a  cancelled", "tool_call_result toolu_b  completed", "run_finished   completed",
	}
	if got, want := strings.Join(story, "\n"), strings.Join(want, "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
