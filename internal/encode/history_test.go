package encode

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"streamer/internal/events"
	"streamer/internal/inputs"
)

// stored returns the first n events of a log as a History gets them, and their turns: here
// each run is one.
func (l *inputLog) stored(n int) (turns []Turn, list []Stored) {
	from, open := uint64(0), false
	for i, r := range l.log[:n] {
		list = append(list, Stored{r, l.read[i]})
		switch {
		case r.Type == events.RunFinished:
			from, open = r.Seq, false
		case r.Type == events.RunStarted && open:
			turns[len(turns)-1].Run = l.read[i].Run
		case r.Type == events.RunStarted:
			turns, open = append(turns, Turn{from, l.read[i].Run}), true
		}
	}
	return turns, list
}

// history returns the messages of the first n events, one a line.
func (l *inputLog) history(shape string, n int) (lines []string) {
	l.t.Helper()
	h, err := FindHistory(shape)
	if err != nil {
		l.t.Fatal(err)
	}
	turns, list := l.stored(n)
	messages, err := h.Messages("s", turns, list, nil)
	if err != nil {
		l.t.Fatal(err)
	}
	for _, m := range messages {
		lines = append(lines, string(m))
	}
	return lines
}

// idsOf returns the ids of messages of a role.
func idsOf(t *testing.T, lines []string, role string) (ids []string) {
	t.Helper()
	for _, line := range lines {
		var m struct{ ID, Role string }
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if m.Role == role {
			ids = append(ids, m.ID)
		}
	}
	return ids
}

// TestHistoryIsTheStream checks that the messages of recorded streams, which are cut and
// ended in different ways, are those that a client has after it read the stream of the last
// run, and that its id is the same after each event: a client that loads the messages in
// mid-stream and then reads the stream has each message once.
func TestHistoryIsTheStream(t *testing.T) {
	checked := 0
	eachEnding(t, func(name string, l *inputLog) {
		list := l.turns()
		end := slices.IndexFunc(l.log, func(r events.Record) bool { return r.Type == events.RunFinished })
		if len(list) == 0 || end >= 0 && slices.ContainsFunc(l.log[end:], func(r events.Record) bool { return r.Call != "" }) {
			return // a call ended behind its run
		}
		checked++
		all := l.history("ai-ui", len(l.log))
		b, _ := list[0].encode(t, "ai-sdk", len(l.log))
		m, err := reduceAI(b, func(string) bool { return true })
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		want := m.shownParts()
		if got := lastUI(t, all, m); m.id != "" && got != want {
			t.Errorf("%s: the history has\n%s\nthe client\n%s", name, got, want)
		}
		ids := idsOf(t, all, "assistant")
		for n := range l.log {
			if n%7 == len(name)%7 {
				got := idsOf(t, l.history("ai-ui", n), "assistant")
				if len(got) > len(ids) || !slices.Equal(got, ids[:len(got)]) {
					t.Errorf("%s after %d events: ids %q, want the first of %q", name, n, got, ids)
				}
			}
		}
		b, _ = list[0].encodeFor(t, nil, len(l.log))
		ag, err := reduceAG(b, nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		shown := ag.shownMessages()
		got := agOf(t, l.history("ag-ui", len(l.log)))
		at := strings.LastIndex(got, shown)
		if at < 0 || strings.Contains(strings.ReplaceAll(got[at+len(shown):], `"role":"user"`, ""), `"role":`) { // a question that no run has taken up may follow
			t.Errorf("%s: the history has\n%s\nthe client\n%s", name, got, shown)
		}
	})
	if checked < 150 {
		t.Errorf("checked %d histories: too few", checked)
	}
}

// shownParts returns the message of a client, without raw deltas of args.
func (m *aiReducer) shownParts() string {
	var b strings.Builder
	fmt.Fprintln(&b, m.id)
	for _, p := range m.parts {
		id, text := p.id, p.text
		if strings.HasPrefix(p.kind, "tool-") {
			text = ""
		}
		if p.input == nil || p.state == "input-streaming" {
			p.input = "in part"
		}
		fmt.Fprintf(&b, "%s %s %q %s %s %s\n", p.kind, id, text, p.state, marshal(p.input), marshal(p.output))
	}
	return b.String()
}

// lastUI returns the last message of the model in the same form. The reducer has no args
// that did not arrive whole.
func lastUI(t *testing.T, lines []string, client *aiReducer) string {
	t.Helper()
	for _, line := range slices.Backward(lines) {
		var m struct {
			ID, Role string
			Parts    []struct {
				Type, ID, Text, ToolCallID, State, ErrorText string
				Input, Output, Data                          any
			}
		}
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatal(err)
		}
		if m.Role != "assistant" {
			continue
		}
		var b strings.Builder
		fmt.Fprintln(&b, m.ID)
		for _, p := range m.Parts {
			id, state, output := p.ToolCallID, p.State, p.Output
			switch {
			case p.Type == "step-start":
				continue
			case p.Type == "text", p.Type == "reasoning":
				state = ""
			case strings.HasPrefix(p.Type, "data-"):
				id, output = p.ID, p.Data
			case p.State == "output-error":
				output = p.ErrorText
			}
			if c := client.tools[p.ToolCallID]; c == nil || c.input == "in part" {
				p.Input = "in part"
			}
			fmt.Fprintf(&b, "%s %s %q %s %s %s\n", p.Type, id, p.Text, state, marshal(p.Input), marshal(output))
		}
		return b.String()
	}
	return ""
}

// shownMessages returns the messages of a client, one a line.
func (m *agReducer) shownMessages() string {
	var b strings.Builder
	for _, s := range m.messages {
		fmt.Fprintf(&b, "%s\n", marshal(s))
	}
	return b.String()
}

// agOf returns messages in the same form.
func agOf(t *testing.T, lines []string) string {
	t.Helper()
	var b strings.Builder
	for _, line := range lines {
		var s agShown
		if err := json.Unmarshal([]byte(line), &s); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s\n", marshal(s))
	}
	return b.String()
}

// TestHistories checks the messages of a session in each shape: a question, a call that is
// answered after the end of its run, one that a person denies, and one that is open.
func TestHistories(t *testing.T) {
	l := &inputLog{t: t}
	add := func(kind inputs.Kind, data string) { l.add(int64(len(l.log))*10, kind, []byte(data)) }
	add(inputs.Delta, `{"type":"human","content":"Weather?","id":"h1"}`)
	add(inputs.Delta, `{"id":"m1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"Look: ","tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"weather","arguments":"{\"city\":\"Oslo\"}"}}]},"finish_reason":"tool_calls"}]}`)
	add(inputs.End, `{}`)
	add(inputs.Result, `{"tool_call_id":"a","content":{"c":21}}`)
	add(inputs.Delta, `{"id":"m2","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"21 degrees."},"finish_reason":"stop"}]}`)
	add(inputs.End, `{}`)
	add(inputs.Delta, `{"type":"human","content":"Mail it.","id":"h2"}`)
	add(inputs.Delta, `{"id":"m3","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"b","type":"function","function":{"name":"mail","arguments":"{\"to\":\"a`)
	add(inputs.Delta, `{"id":"m3","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"b","type":"function","function":{"name":"mail","arguments":"{\"to\":\"a"}}]},"finish_reason":null}]}`)
	for shape, want := range map[string][]string{
		"ai-ui": {
			`{"id":"h1","role":"user","parts":[{"type":"text","text":"Weather?"}]}`,
			`"state":"output-available","input":{"city":"Oslo"},"output":{"c":21}`,
			`{"id":"m2","role":"assistant","parts":[{"type":"step-start"},{"type":"text","text":"21 degrees.","state":"done"}]}`,
			`{"id":"h2","role":"user"`,
			`"state":"input-streaming","input":{"to":"a"}`,
		},
		"ag-ui": {
			`{"id":"h1","role":"user","content":"Weather?"}`,
			`{"id":"m1","role":"assistant","content":"Look: ","toolCalls":[{"id":"a","type":"function","function":{"name":"weather","arguments":"{\"city\":\"Oslo\"}"}`,
			`"role":"tool","content":"{\"c\":21}","toolCallId":"a"`,
			`{"id":"m2","role":"assistant","content":"21 degrees."`,
			`{"id":"h2","role":"user","content":"Mail it."}`,
			`{"id":"m3","role":"assistant","toolCalls":[{"id":"b"`,
		},
		"openai": {
			`{"role":"user","content":"Weather?"}`,
			`{"role":"assistant","content":"Look: ","tool_calls":[{"id":"a","type":"function","function":{"name":"weather","arguments":"{\"city\":\"Oslo\"}"}}]}`,
			`{"role":"tool","content":"{\"c\":21}","tool_call_id":"a"}`,
			`{"role":"assistant","content":"21 degrees."}`,
			`{"role":"user","content":"Mail it."}`,
			`{"role":"assistant","content":null,"tool_calls":[{"id":"b"`,
		},
		"anthropic": {
			`{"role":"user","content":[{"type":"text","text":"Weather?"}]}`,
			`{"role":"assistant","content":[{"type":"text","text":"Look: "},{"type":"tool_use","id":"a","name":"weather","input":{"city":"Oslo"}}]}`,
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"{\"c\":21}"}]}`,
			`{"role":"assistant","content":[{"type":"text","text":"21 degrees."}]}`,
			`{"role":"user","content":[{"type":"text","text":"Mail it."}]}`,
			`{"role":"assistant","content":[{"type":"tool_use","id":"b","name":"mail","input":{}}]}`,
		},
	} {
		got := l.history(shape, len(l.log))
		if len(got) != len(want) {
			t.Errorf("%s: got %d messages, want %d\n%s", shape, len(got), len(want), strings.Join(got, "\n"))
			continue
		}
		for i, w := range want {
			if !strings.Contains(got[i], w) {
				t.Errorf("%s: message %d is %s\nwant %s", shape, i, got[i], w)
			}
		}
	}
	if _, err := FindHistory("x"); err == nil || !strings.Contains(err.Error(), "ai-ui, ag-ui, openai, anthropic") {
		t.Errorf("unknown format: got %v", err)
	}
}
