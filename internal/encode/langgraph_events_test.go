package encode

import (
	"fmt"
	"strings"
	"testing"

	"streamer/internal/events"
)

// TestLangGraphFinds checks that each rule of the clients finds its offence.
func TestLangGraphFinds(t *testing.T) {
	const start = `{"type":"AIMessageChunk","id":"m","tool_call_chunks":[{"index":0,"id":"c","name":"f","args":""}]}`
	const result = `{"type":"tool","id":"r","tool_call_id":"c","status":"success"}`
	for _, c := range []struct {
		chunks []string
		want   string
	}{
		{[]string{start, result}, ""},
		{[]string{start, start}, "call 0 of 1"},
		{[]string{`{"type":"AIMessageChunk","id":"m","tool_call_chunks":[{"index":0,"args":"{"}]}`}, "call 0 of 0"},
		{[]string{result, result}, "second result"},
		{[]string{`{"type":"AIMessageChunk","id":""}`}, "no id"},
		{[]string{`{"type":"ai","id":"m"}`}, "unknown type"},
		{[]string{start, strings.Replace(start, `"m"`, `"n"`, 1)}, "two places"},
	} {
		t.Run(c.want, func(t *testing.T) {
			var frames []string
			for _, k := range c.chunks {
				frames = append(frames, "event: messages\ndata: ["+k+",{}]\n\n")
			}
			_, err := readLangGraph(frames, nil)
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%q: got %v, want %q", c.chunks, err, c.want)
			}
		})
	}
	for _, frames := range [][]string{
		{"id: 2\nevent: end\ndata: null\n\n", "id: 3\nevent: end\ndata: null\n\n"},
		{"id: 2\nevent: custom\ndata: 1\n\n", "id: 2\nevent: custom\ndata: 1\n\n"},
		{"event: other\ndata: 1\n\n"},
		{"event: end\ndata: {\n\n"},
		{"data: 1\n\n"},
	} {
		if _, err := readLangGraph(frames, nil); err == nil {
			t.Errorf("%q: got no error", frames)
		}
	}
}

// TestAgentProtocolFinds checks that each rule of the clients finds its offence.
func TestAgentProtocolFinds(t *testing.T) {
	const (
		start  = `messages {"event":"message-start","id":"m","run_id":"m","role":"ai"}`
		block  = `messages {"event":"content-block-start","run_id":"m","index":0,"content":{"type":"text","text":""}}`
		second = `messages {"event":"content-block-start","run_id":"m","index":1,"content":{"type":"text","text":""}}`
		delta  = `messages {"event":"content-block-delta","run_id":"m","index":0,"delta":{"type":"text-delta","text":"x"}}`
		end    = `messages {"event":"content-block-finish","run_id":"m","index":0,"content":{"type":"text","text":"x"}}`
		finish = `messages {"event":"message-finish","run_id":"m"}`
		tool   = `tools {"event":"tool-started","tool_call_id":"c"}`
		ended  = `tools {"event":"tool-finished","tool_call_id":"c"}`
	)
	for _, c := range []struct {
		list []string
		want string
	}{
		{[]string{start, block, delta, end, second, finish}, "a block is open"},
		{[]string{start, block, delta, end, finish, tool, ended}, ""},
		{[]string{start, start}, "second start"},
		{[]string{block}, "not open"},
		{[]string{start, block, second}, "interleave"},
		{[]string{start, block, delta, delta, end}, "the deltas are"},
		{[]string{start, block, delta, end, delta}, "not open"},
		{[]string{start, finish, finish}, "not open"},
		{[]string{ended}, "the call is"},
		{[]string{tool, ended, ended}, "the call is"},
		{[]string{`other {}`}, "unknown method"},
	} {
		t.Run(c.want, func(t *testing.T) {
			_, err := readAgentProtocol(apFrames(c.list))
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%q: got %v, want %q", c.list, err, c.want)
			}
		})
	}
	if _, err := readAgentProtocol(append(apFrames([]string{tool}), apFrames([]string{tool})...)); err == nil {
		t.Error("one id twice in a connection: got no error")
	}
}

// apFrames returns frames with the given methods and data, and their numbers as ids.
func apFrames(list []string) (frames []string) {
	for i, s := range list {
		method, data, _ := strings.Cut(s, " ")
		id := string(rune('a' + i))
		frames = append(frames, "id: "+id+"\nevent: "+method+"\ndata: {\"type\":\"event\",\"event_id\":\""+id+"\",\"seq\":1,\"method\":\""+method+"\",\"params\":{\"namespace\":[],\"data\":"+data+"}}\n\n")
	}
	return frames
}

// TestFilter checks which frames a filter selects.
func TestFilter(t *testing.T) {
	one := 1
	for _, c := range []struct {
		f    Filter
		ns   string
		want bool
	}{
		{Filter{}, "a:1|b:2", true},
		{Filter{Channels: []string{"tools"}}, "", false},
		{Filter{Channels: []string{"tools", "messages"}}, "", true},
		{Filter{Depth: &one}, "a:1", true},
		{Filter{Depth: &one}, "a:1|b:2", false},
		{Filter{Namespaces: [][]string{{"a"}}}, "a:1|b:2", true},
		{Filter{Namespaces: [][]string{{"a:1"}}}, "a:1|b:2", true},
		{Filter{Namespaces: [][]string{{"a:2"}}}, "a:1|b:2", false},
		{Filter{Namespaces: [][]string{{"b"}}}, "a:1|b:2", false},
		{Filter{Namespaces: [][]string{{"a", "b", "c"}}}, "a:1|b:2", false},
		{Filter{Namespaces: [][]string{{"a"}}, Depth: &one}, "a:1|b:2", true},
		{Filter{Namespaces: [][]string{{}}, Depth: &one}, "a:1|b:2", false},
	} {
		t.Run(fmt.Sprint(c.ns, " ", c.want), func(t *testing.T) {
			if got := c.f.selects("messages", splitNamespace(c.ns)); got != c.want {
				t.Errorf("%+v selects %q: got %v, want %v", c.f, c.ns, got, c.want)
			}
		})
	}
}

// TestAgentProtocolQueue checks that blocks that wait for another block are bounded:
// beyond the limit the first block ends, and no blocks interleave.
func TestAgentProtocolQueue(t *testing.T) {
	list := []events.Event{{Type: events.ToolCallStart, Call: "1.0"}, argsDelta("1.0", 0, `{"a":`)}
	piece := strings.Repeat("x", 200<<10)
	for i := range 8 {
		call := "2." + string(rune('0'+i))
		list = append(list, events.Event{Type: events.ToolCallStart, Call: call}, argsComplete(call, `{"a":"`+piece+`"}`))
	}
	list = append(list, argsDelta("1.0", 5, `1}`), argsComplete("1.0", `{"a":1}`))
	u := turnOfEvents(t, list...)
	enc := open(t, "agent-protocol").(*agentProtocol)
	b := enc.Live(nil, 0)
	for _, r := range u.log {
		b = enc.Event(b, r, Parse(r))
		for _, m := range enc.messages {
			if m.queued > maxQueued+len(piece)*2 {
				t.Fatalf("%d bytes wait", m.queued)
			}
		}
	}
	c, err := readAgentProtocol(strings.SplitAfter(strings.TrimSuffix(string(b), "\n\n"), "\n\n"))
	if err != nil || len(c.tools) != 9 || !strings.Contains(string(b), "Too many calls") {
		t.Errorf("got %d calls, %v", len(c.tools), err)
	}
}

// TestAgentProtocolReplacedArgs checks that args of which a delta replaces the end of
// the earlier ones are right in the whole content of the block.
func TestAgentProtocolReplacedArgs(t *testing.T) {
	u := turnOfEvents(t,
		events.Event{Type: events.ToolCallStart, Call: "1.0"},
		argsDelta("1.0", 0, `{"x":`), argsDelta("1.0", 2, `y":`), argsDelta("1.0", 5, "1}"), argsComplete("1.0", `{"y":1}`))
	for _, history := range []int{0, 4, len(u.log)} {
		frames, _ := u.framesOf(t, "agent-protocol", history, 0)
		if all := strings.Join(frames, ""); !strings.Contains(all, `"content-block-finish","run_id":"message~1.1","index":0,"content":{"type":"tool_call","id":"id-1.0","name":"f","args":{"y":1}}`) {
			t.Errorf("%d events stored: got\n%s", history, all)
		}
	}
}
