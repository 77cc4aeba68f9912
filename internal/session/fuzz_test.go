package session

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"streamer/internal/events"
	"streamer/internal/inputs"
)

// FuzzResume checks, for any inputs, that a session whose state is stored and
// loaded after each of them has the same events as one that is folded at once, and
// that every event can be written. A line is an input and begins with its kind.
func FuzzResume(f *testing.F) {
	for _, file := range streams(f)[:20] {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(append(bytes.ReplaceAll(append([]byte("d"), data...), []byte("\n"), []byte("\nd")), "\nc{\"kind\":\"flush\"}\ni{}\ne{}\nr{\"tool_call_id\":\"call_a\",\"content\":\"x\"}"...))
	}
	kinds := map[byte]inputs.Kind{'d': inputs.Delta, 'r': inputs.Result, 'p': inputs.Progress, 'i': inputs.Interrupt, 'e': inputs.End, 'c': inputs.Clock}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 8<<10 {
			return
		}
		var l log
		for i, line := range bytes.Split(data, []byte("\n")) {
			if len(line) > 0 && kinds[line[0]] != "" {
				l.add(kinds[line[0]], i*30, string(line[1:]))
			}
		}
		if want, got := fold(l), foldResumed(t, l); !slices.Equal(got, want) {
			t.Errorf("resumed:\n%s\nfolded at once:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	})
}

// FuzzRecut checks that two interleaved calls are the same wherever their args are
// cut into fragments.
func FuzzRecut(f *testing.F) {
	f.Add(`{"city":"Paris"}`, `{"n":[1,2,{"x":null}]}`, []byte{1, 2, 3, 200})
	f.Add(`{"q":"\ud83d\ude00 é 你好"}`, `{}`, []byte{0, 1})
	f.Add(`"a string"`, `12.5e3`, []byte{7})
	f.Add(`{"cut`, ``, []byte{1, 1, 1})
	f.Fuzz(func(t *testing.T, a, b string, cuts []byte) {
		if len(a)+len(b) > 4<<10 {
			return
		}
		a, b = strings.ToValidUTF8(a, "?"), strings.ToValidUTF8(b, "?")
		want := assembledArgs(recut(a, b, nil))
		got := assembledArgs(recut(a, b, cuts))
		if !slices.Equal(got, want) {
			t.Errorf("cut by %v: %q, whole: %q", cuts, got, want)
		}
	})
}

// recut returns a stream of two calls whose args are cut into pieces of the
// lengths in cuts.
func recut(a, b string, cuts []byte) log {
	var l log
	delta := func(index int, head, args string) {
		text, _ := json.Marshal(args)
		l.add(inputs.Delta, len(l)*10, fmt.Sprintf(`{"id":"m","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"tool_calls":[{"index":%d,%s"function":{%s"arguments":%s}}]}}]}`, index, head, map[bool]string{true: `"name":"f",`}[head != ""], text))
	}
	delta(0, `"id":"call_a",`, "")
	delta(1, `"id":"call_b",`, "")
	rest := [2]string{a, b}
	for i := 0; rest[0] != "" || rest[1] != ""; i++ {
		which, n := i%2, len(rest[i%2])
		if len(cuts) > 0 {
			n = min(n, 1+int(cuts[i%len(cuts)])%16)
		}
		// The wire cannot cut a character: JSON text is UTF-8.
		for n < len(rest[which]) && rest[which][n]&0xC0 == 0x80 {
			n++
		}
		if n > 0 {
			delta(which, "", rest[which][:n])
			rest[which] = rest[which][n:]
		}
	}
	l.add(inputs.Delta, len(l)*10, `{"id":"m","object":"chat.completion.chunk","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`)
	l.add(inputs.Clock, 1<<20, `{"kind":"flush"}`)
	return l
}

func assembledArgs(l log) []string {
	var s State
	var out []events.Event
	for _, in := range l {
		out = Fold(out, &s, in)
	}
	var args []string
	deltas := map[string]string{}
	for i := range out {
		switch e := &out[i]; e.Type {
		case events.ToolCallArgsDelta:
			deltas[e.ID] += e.Args
		case events.ToolCallArgsComplete:
			text := *e.ArgsText
			if deltas[e.ID] != text && deltas[e.ID] != "" {
				args = append(args, "deltas differ: "+deltas[e.ID])
			}
			args = append(args, fmt.Sprintf("%s %s %s %v %s", e.ID, e.ToolName, text, *e.ArgsValid, e.ToolArgs))
		}
	}
	return args
}
