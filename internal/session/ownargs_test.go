package session

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"streamer/internal/events"
	"streamer/internal/inputs"
	"streamer/internal/lifecycle"
	"streamer/test/testkit"
)

// sighting is what a session knew of a call after one of its inputs.
type sighting struct{ id, name, text string }

// witness records each sighting of the calls of a session.
type witness struct {
	state State
	at    int // ms
	seq   uint64
	out   []events.Event
	calls map[string]sighting // the last one of each call
	seen  map[sighting]bool
	valid map[sighting]bool // complete with valid args
	rules lifecycle.Rules
}

func newWitness() *witness {
	w := &witness{calls: map[string]sighting{}, seen: map[sighting]bool{}, valid: map[sighting]bool{}, rules: lifecycle.DefaultRules(), at: 1}
	w.rules.Deltas = lifecycle.Every
	return w
}

// feed folds an input and records what it shows.
func (w *witness) feed(kind inputs.Kind, data []byte) {
	w.seq++
	from := len(w.out)
	w.out = Fold(w.out, &w.state, Input{Rules: &w.rules, Input: inputs.Input{
		Seq: w.seq, At: time.UnixMilli(int64(w.at)), Token: "s", Kind: kind, Data: data,
	}})
	for i := from; i < len(w.out); i++ {
		w.event(&w.out[i])
	}
	for _, m := range w.state.Life.Messages {
		for i := range m.Calls {
			if c := &m.Calls[i]; c.State.Status == events.BuildingArgs {
				w.see(c.State.Call, sighting{c.ID, c.Name, string(c.Text)})
			}
		}
	}
}

func (w *witness) event(e *events.Event) {
	s := w.calls[e.Call]
	s.id, s.name = e.ID, e.ToolName
	if e.IDSynthesized {
		s.id = ""
	}
	switch e.Type {
	case events.ToolCallStart:
	case events.ToolCallArgsDelta:
		s.text = s.text[:min(e.Offset.Bytes(), len(s.text))] + e.Args
	case events.ToolCallArgsComplete:
		if e.ArgsText != nil {
			s.text = *e.ArgsText
		}
		if *e.ArgsValid {
			v := s
			v.text = spelled(v.text)
			w.valid[v] = true
		}
	default:
		return
	}
	w.see(e.Call, s)
}

func (w *witness) see(call string, s sighting) {
	w.calls[call], w.seen[s] = s, true
}

// spelled returns args without what whole messages write in another way.
func spelled(text string) string {
	var b bytes.Buffer
	if json.Compact(&b, []byte(text)) == nil {
		return b.String()
	}
	return text
}

// silence lets time pass. The clock inputs that the session asks for come when they
// are due.
func (w *witness) silence(ms int) {
	for end := w.at + ms; ; {
		timer, ok := w.state.Life.Timer(&w.rules)
		if !ok || int(timer.At) > end {
			w.at = end
			return
		}
		w.at = max(w.at, int(timer.At))
		data, _ := json.Marshal(map[string]any{"kind": timer.Kind, "call": timer.Call})
		w.feed(inputs.Clock, data)
	}
}

// disturb applies a disturbance.
func (w *witness) disturb(how string) {
	for part := range strings.SplitSeq(how, "+") {
		verb, arg, _ := strings.Cut(part, " ")
		switch verb {
		case "silence":
			d, _ := time.ParseDuration(arg)
			w.silence(int(d.Milliseconds()))
		case "end":
			w.feed(inputs.End, fmt.Appendf(nil, `{"reason":%q}`, arg))
		case "interrupt":
			w.feed(inputs.Interrupt, []byte(`{}`))
		case "stop": // an interrupt of the calls that are open
			var calls []string
			for _, m := range w.state.Life.Messages {
				for i := range m.Calls {
					if c := &m.Calls[i].State; !c.Status.Terminal() {
						calls = append(calls, c.Call)
					}
				}
			}
			if arg == "newest" && len(calls) > 0 {
				calls = calls[len(calls)-1:]
			}
			if data, _ := json.Marshal(map[string]any{"calls": calls}); len(calls) > 0 {
				w.feed(inputs.Interrupt, data)
			}
		}
	}
}

// disturbances are what may come between any two inputs of a stream. Silence brings
// deadlines, and the end of a silent run.
var disturbances = []string{
	"end error", "end cancelled", "end completed", "interrupt", "stop", "stop newest",
	"silence 300ms", "silence 3s", "silence 3m", "silence 1h",
	"end error+silence 3s", "interrupt+silence 3s", "interrupt+silence 1h", "end completed+silence 1h", "end error+silence 30h",
}

// disturbed folds a stream with disturbances before the inputs at some positions.
func disturbed(stream [][]byte, how map[int]string) *witness {
	w := newWitness()
	for i, line := range stream {
		w.at += 20
		if d := how[i]; d != "" {
			w.disturb(d)
		}
		w.feed(inputs.Delta, line)
	}
	w.disturb("silence 1s+end completed+silence 2h")
	return w
}

// checkOwnArgs checks that the args of each call of a disturbed stream are text that
// the stream sent for this call, from the beginning of its args on, and that a call
// with valid args is one that the stream has.
func checkOwnArgs(plain, w *witness, how map[int]string) error {
	var errs []string
	forgot, ended := false, false
	for _, d := range how {
		forgot = forgot || strings.Contains(d, "30h")
		ended = ended || strings.Contains(d, "end completed") // a call without args is whole at the end of its run
	}
	for call, s := range w.calls {
		if !plain.seen[s] && !plain.wrote(s) && !(forgot && plain.hasTail(s)) {
			errs = append(errs, fmt.Sprintf("call %s is %+q, which the stream has nowhere", call, s))
		}
	}
	for s := range w.valid {
		if !plain.valid[s] && !plain.ends(s) && !forgot && !(ended && s.text == "") {
			errs = append(errs, fmt.Sprintf("valid call %+q, which the stream does not have", s))
		}
	}
	if len(errs) == 0 {
		return nil
	}
	slices.Sort(errs)
	return fmt.Errorf("%s", strings.Join(errs, "\n"))
}

// wrote reports whether the stream has the text of s in another spelling.
func (w *witness) wrote(s sighting) bool {
	text := spelled(s.text)
	for o := range w.seen {
		if o.id == s.id && o.name == s.name && (strings.TrimSuffix(s.text, "\uFFFD") == o.text || spelled(o.text) == text) {
			return true
		}
	}
	return false
}

// hasTail reports whether the stream sent the text of s within the args of one call
// with its id: a session that was forgotten does not know that it is not the beginning.
func (w *witness) hasTail(s sighting) bool {
	known := false
	for o := range w.seen {
		known = known || o.id == s.id
		if (o.id == s.id || s.id == "") && strings.Contains(o.text, s.text) {
			return true
		}
	}
	return !known
}

// ends reports whether a call of the stream ends with the text of s. Its id or its name
// may come later, and it may have been closed for another reason.
func (w *witness) ends(s sighting) bool {
	for _, o := range w.calls {
		if spelled(o.text) == s.text && (s.id == "" || s.id == o.id) && (s.name == "" || s.name == o.name) {
			return true
		}
	}
	return false
}

// streamOf returns the inputs of a recorded stream.
func streamOf(t testing.TB, file string) [][]byte {
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return slices.Collect(bytes.Lines(data))
}

// TestOwnArgs puts each disturbance at each position of the streams of every format.
func TestOwnArgs(t *testing.T) {
	recorded, _ := filepath.Glob(testkit.Shared("formats", "corpus*", "*", "*.jsonl"))
	if len(recorded) == 0 {
		t.Logf("no recorded streams at %s: set STREAMER_SHARED", testkit.Shared())
	}
	for _, file := range slices.Concat(allStreams(t), recorded) {
		if stream := streamOf(t, file); len(stream) <= 400 && len(bytes.Join(stream, nil)) <= 64<<10 {
			checkStream(t, file, stream, 2)
		}
	}
	for name, stream := range interleavedStreams() {
		checkStream(t, name, stream, 20)
	}
}

// reasonEach: a finish reason in each chunk states that a call without args so far is
// whole.
const reasonEach = "221-openai-chat-finish-repeat-every-chunk"

func checkStream(t *testing.T, name string, stream [][]byte, positions int) {
	plain := disturbed(stream, nil)
	if len(plain.calls) == 0 || strings.Contains(name, reasonEach) {
		return
	}
	for at := 1; at < len(stream); at += 1 + len(stream)/(positions/stride+1) {
		for _, d := range disturbances {
			if !strings.Contains(name, ", ") && strings.Contains(d, "30h") {
				continue // whole messages bring the calls of a forgotten session again
			}
			how := map[int]string{at: d}
			if err := checkOwnArgs(plain, disturbed(stream, how), how); err != nil {
				t.Errorf("%s: %s before line %d:\n%v", name, d, at+1, err)
				return
			}
		}
	}
}

// FuzzOwnArgs puts disturbances at several positions: each pair of bytes is a position
// and a disturbance. The streams are the interleaved ones and the quirks.
func FuzzOwnArgs(f *testing.F) {
	all := interleavedStreams()
	for _, file := range streams(f) {
		all[file] = streamOf(f, file)
	}
	names := slices.Sorted(func(yield func(string) bool) {
		for name := range all {
			if len(all[name]) < 100 && !strings.Contains(name, reasonEach) && !yield(name) {
				return
			}
		}
	})
	for i := range names {
		f.Add(byte(i), []byte{3, 0, 5, 9})
		f.Add(byte(i), []byte{2, 6, 4, 5, 6, 12})
	}
	f.Fuzz(func(t *testing.T, which byte, places []byte) {
		name := names[int(which)%len(names)]
		how := map[int]string{}
		for p := range slices.Chunk(places[:min(len(places), 12)], 2) {
			if len(p) == 2 {
				how[int(p[0])%len(all[name])] = disturbances[int(p[1])%len(disturbances)]
			}
		}
		if err := checkOwnArgs(disturbed(all[name], nil), disturbed(all[name], how), how); err != nil {
			t.Errorf("%s with %v:\n%v", name, how, err)
		}
	})
}

// interleavedStreams returns streams of four calls whose args are cut and interleaved,
// in each format that allows it, with what servers of the format do.
func interleavedStreams() map[string][][]byte {
	all := map[string][][]byte{}
	for name, w := range interleavings() {
		for order, pieces := range orders() {
			var lines [][]byte
			for i, line := range w.stream(pieces) {
				if line != "" {
					lines = append(lines, []byte(strings.ReplaceAll(line, "MESSAGE", fmt.Sprintf("m%d", i))))
				}
			}
			all[name+", "+order] = lines
		}
	}
	return all
}

// piece is a fragment of the args of call n. The first one of a call has its head.
type piece struct {
	n     int
	first bool
	text  string
}

// orders returns the orders in which the fragments of calls come.
func orders() map[string][]piece {
	args := []string{`{"a":{"aa":`, `11`, `1},"aaa":"a"`, `}`, `{"b":2`, `22,"bb":[`, `{"bbb":2}`, `]}`, `{}`, `{"c":33`, `3}`, ``, `{"d":`, `{"dd":4}`, `}`, ` `}
	order := func(which ...int) (list []piece) {
		next := [4]int{}
		for _, n := range which {
			list = append(list, piece{n, next[n] == 0, args[4*n+next[n]]})
			next[n]++
		}
		return list
	}
	return map[string][]piece{
		"in turns":        order(0, 1, 3, 0, 1, 3, 0, 1, 3, 0, 1, 3),
		"heads late":      order(0, 0, 1, 0, 1, 3, 1, 0, 3, 1, 3, 3),
		"one after other": order(0, 0, 0, 0, 1, 1, 1, 1, 3, 3, 3, 3),
		"placeholder":     order(2, 0, 2, 0, 2, 0, 0),
		"backwards":       order(3, 1, 0, 3, 1, 0, 0, 1, 3, 0, 1, 3),
	}
}

// wire writes the lines of a stream.
type wire struct {
	begin []string
	call  func(p piece) string
	end   []string
}

func (w wire) stream(pieces []piece) []string {
	list := slices.Clone(w.begin)
	for _, p := range pieces {
		list = append(list, w.call(p))
	}
	return append(list, w.end...)
}

func quote(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

// chat returns Chat Completions. head and rest are the members of the first fragment of
// a call and of the others besides the args, with %d for the number of the call.
func chat(message, role, head, rest, reason string) wire {
	chunk := func(delta, reason string) string {
		return fmt.Sprintf(`{%s"object":"chat.completion.chunk","choices":[{"index":0,"delta":{%s},"finish_reason":%s}]}`, message, delta, reason)
	}
	again := ""
	if role == "each" {
		again = `"role":"assistant",`
	}
	w := wire{
		call: func(p piece) string {
			f := rest
			if p.first {
				f = head
			}
			f = strings.ReplaceAll(strings.ReplaceAll(f, "%d", fmt.Sprint(p.n)), "ARGS", `"arguments":`+quote(p.text))
			return chunk(again+`"tool_calls":[{`+f+`}]`, reason)
		},
		end: []string{chunk("", `"tool_calls"`), `[DONE]`},
	}
	if role != "" {
		w.begin = []string{chunk(`"role":"assistant","content":null`, "null"), chunk(`"content":"Let me see."`, "null")}
	}
	return w
}

// interleavings returns the ways in which servers interleave calls.
func interleavings() map[string]wire {
	const (
		id, varies = `"id":"m",`, `"id":"MESSAGE",`
		head       = `"index":%d,"id":"call_%d","type":"function","function":{"name":"f%d",ARGS}`
		rest       = `"index":%d,"function":{ARGS}`
		idAgain    = `"index":%d,"id":"call_%d","function":{ARGS}`
		nameless   = `"index":%d,"function":{"name":"f%d",ARGS}`
		byID       = `"id":"call_%d","function":{"name":"f%d",ARGS}`
		lateName   = `"index":%d,"id":"call_%d","function":{ARGS}`
	)
	return map[string]wire{
		"chat":                         chat(id, "once", head, rest, "null"),
		"chat without role":            chat(id, "", head, rest, "null"),
		"chat without message id":      chat("", "once", head, rest, "null"),
		"chat whose message id varies": chat(varies, "once", head, rest, "null"),
		"chat with ids again":          chat(id, "once", head, idAgain, "null"),
		"chat with heads again":        chat(id, "once", head, head, "null"),
		"chat with names again":        chat(id, "once", head, nameless, "null"),
		"chat without ids":             chat(id, "once", nameless, rest, "null"),
		"chat without ids, names each": chat(id, "once", nameless, nameless, "null"),
		"chat without indexes":         chat(id, "once", byID, byID, "null"),
		"chat with a role each":        chat(id, "each", head, rest, "null"),
		"chat with a role each, no id": chat("", "each", head, rest, "null"),
		"chat without names":           chat(id, "once", lateName, rest, "null"),
		"chat with a reason each":      chat(id, "once", head, rest, `"tool_calls"`),
		"langchain":                    langchain(`"id":"m",`),
		"langchain without message id": langchain(``),
		"anthropic": {
			begin: []string{`{"type":"message_start","message":{"id":"m","type":"message","role":"assistant","content":[]}}`},
			call: func(p piece) string {
				d := fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":{"type":"input_json_delta","partial_json":%s}}`, p.n, quote(p.text))
				if p.first {
					d = fmt.Sprintf(`[{"type":"content_block_start","index":%d,"content_block":{"type":"tool_use","id":"call_%d","name":"f%d","input":{}}},%s]`, p.n, p.n, p.n, d)
				}
				return d
			},
			end: []string{`{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":9}}`, `{"type":"message_stop"}`},
		},
		"openai-responses": {
			begin: []string{`{"type":"response.created","response":{"id":"m","object":"response","status":"in_progress","output":[]}}`},
			call: func(p piece) string {
				d := fmt.Sprintf(`{"type":"response.function_call_arguments.delta","item_id":"fc_%d","output_index":%d,"delta":%s}`, p.n, p.n, quote(p.text))
				if p.first {
					d = fmt.Sprintf(`[{"type":"response.output_item.added","output_index":%d,"item":{"type":"function_call","id":"fc_%d","call_id":"call_%d","name":"f%d","arguments":""}},%s]`, p.n, p.n, p.n, p.n, d)
				}
				return d
			},
			end: []string{`{"type":"response.completed","response":{"id":"m","object":"response","status":"completed","output":[]}}`},
		},
		"ag-ui": byCallID(
			[]string{`{"type":"RUN_STARTED","threadId":"t","runId":"r"}`},
			`{"type":"TOOL_CALL_START","toolCallId":"call_%d","toolCallName":"f%d","parentMessageId":"m"}`,
			`{"type":"TOOL_CALL_ARGS","toolCallId":"call_%d","delta":ARGS}`,
			`{"type":"TOOL_CALL_END","toolCallId":"call_%d"}`,
			`{"type":"RUN_FINISHED","threadId":"t","runId":"r"}`,
		),
		"vercel-ui": byCallID(
			[]string{`{"type":"start","messageId":"m"}`, `{"type":"start-step"}`},
			`{"type":"tool-input-start","toolCallId":"call_%d","toolName":"f%d"}`,
			`{"type":"tool-input-delta","toolCallId":"call_%d","inputTextDelta":ARGS}`,
			``,
			`{"type":"finish-step"}`, `{"type":"finish"}`,
		),
	}
}

// byCallID returns a format whose fragments have the ids of their calls.
func byCallID(begin []string, start, delta, stop string, end ...string) wire {
	fill := func(s string, p piece) string {
		return strings.ReplaceAll(strings.ReplaceAll(s, "%d", fmt.Sprint(p.n)), "ARGS", quote(p.text))
	}
	w := wire{begin: begin, call: func(p piece) string {
		d := fill(delta, p)
		if p.first {
			d = "[" + fill(start, p) + "," + d + "]"
		}
		return d
	}}
	for n := range 4 {
		if stop != "" {
			w.end = append(w.end, fill(stop, piece{n: n}))
		}
	}
	w.end = append(w.end, end...)
	return w
}

// langchain returns chunks of LangChain.
func langchain(message string) wire {
	chunk := func(calls, more string) string {
		return fmt.Sprintf(`[{"type":"AIMessageChunk",%s"content":"","tool_call_chunks":[%s]%s},{"langgraph_node":"agent"}]`, message, calls, more)
	}
	return wire{
		call: func(p piece) string {
			id, name := "null", "null"
			if p.first {
				id, name = fmt.Sprintf(`"call_%d"`, p.n), fmt.Sprintf(`"f%d"`, p.n)
			}
			return chunk(fmt.Sprintf(`{"type":"tool_call_chunk","index":%d,"id":%s,"name":%s,"args":%s}`, p.n, id, name, quote(p.text)), "")
		},
		end: []string{chunk("", `,"response_metadata":{"finish_reason":"tool_calls"}`)},
	}
}
