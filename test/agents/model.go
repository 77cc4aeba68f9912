package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
)

type object = map[string]any

// A tool is how a program calls its tool: the name, and the args of a call.
type tool struct {
	name string
	args func(c call) object
}

// A model plays the script of one run in the wire format that a request asks for, and
// records what it said and what it received.
type model struct {
	*httptest.Server
	script script
	tool   tool

	mu    sync.Mutex
	turns int
	record
}

// A record is what the model said and received, and what the tool did.
type record struct {
	Calls   []modelCall       `json:"calls"`
	Texts   []modelText       `json:"texts"`
	Results map[string]string `json:"results"` // that the program sent to the model, by the id of the call
	Tool    string            `json:"tool"`    // lines: "begin A", "end A", "throw A"
}

// ran reports whether the tool recorded a line.
func (r *record) ran(line string) bool { return strings.Contains("\n"+r.Tool, "\n"+line+"\n") }

// modelText is a text as the model said it.
type modelText struct {
	Text string `json:"text"`
	Cut  bool   `json:"cut,omitempty"` // its answer was cut off, or was not the one to the prompt
}

// modelCall is a call as the model said it.
type modelCall struct {
	Step  string `json:"step"`
	ID    string `json:"id"`
	Name  string `json:"name"`
	Args  string `json:"args"`
	Form  string `json:"form,omitempty"` // as call.args
	Whole bool   `json:"whole"`          // the args are whole JSON, and so was the answer
}

func newModel(s script, t tool) *model {
	m := &model{script: s, tool: t, record: record{Results: map[string]string{}}}
	m.Server = httptest.NewServer(http.HandlerFunc(m.serve))
	return m
}

// request is what the formats have in common.
type request struct {
	Model    string            `json:"model"`
	Stream   bool              `json:"stream"`
	Tools    []json.RawMessage `json:"tools"`
	Messages []json.RawMessage `json:"messages"` // of chat and messages
	Input    json.RawMessage   `json:"input"`    // of responses
	Contents []json.RawMessage `json:"contents"` // of Gemini
}

func (m *model) serve(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var q request
	_ = json.Unmarshal(body, &q) // a request of another kind is answered below
	out := wireOf(r.URL.Path)
	switch {
	case strings.Contains(strings.ToLower(r.URL.Path), "count"):
		writeJSON(w, object{"input_tokens": 9, "totalTokens": 9})
		return
	case strings.HasSuffix(r.URL.Path, "/models"):
		writeJSON(w, object{"object": "list", "data": []object{{"id": "m", "object": "model", "created": 1, "owned_by": "o"}}, "models": []object{}})
		return
	case out == nil || r.Method != http.MethodPost:
		w.WriteHeader(http.StatusNotFound)
		return
	}
	s := &stream{w: w, model: cmp.Or(q.Model, "m"), whole: !q.Stream && !strings.Contains(r.URL.Path, ":stream")}
	// Programs also ask for titles and summaries, without the tool.
	if !strings.Contains(string(joined(q.Tools)), `"`+m.tool.name+`"`) {
		m.play(s, out, answer{texts: []string{`{"title":"t"}`}, end: "stop"}, nil)
		return
	}
	m.mu.Lock()
	m.learn(out.results(q))
	turn := m.turns
	m.turns++
	s.turn = turn + 1
	a := lastAnswer()
	if turn < len(m.script.answers) {
		a = m.script.answers[turn]
	}
	calls := m.say(turn, a)
	m.mu.Unlock()
	m.play(s, out, a, calls)
}

// say records an answer, and returns its calls as they are said.
func (m *model) say(turn int, a answer) []modelCall {
	var list []modelCall
	for _, c := range a.calls {
		args, err := json.Marshal(m.tool.args(c))
		if err != nil {
			panic(err) // args are maps of strings
		}
		t := modelCall{Step: c.step, ID: fmt.Sprintf("call_%s%d", c.step, turn), Name: m.tool.name, Args: string(args), Form: c.args, Whole: c.args == "" && a.end != "cut"}
		switch c.args {
		case "cut":
			t.Args = t.Args[:len(t.Args)-4]
		case "invalid":
			t.Args = t.Args[:len(t.Args)-1] + `,]`
		}
		list = append(list, t)
	}
	m.Calls = append(m.Calls, list...)
	for _, t := range a.texts {
		m.Texts = append(m.Texts, modelText{t, a.end == "cut" || turn > len(m.script.answers)}) // programs ask again for themselves
	}
	return list
}

func (m *model) learn(results []result) {
	for _, r := range results {
		m.Results[r.id] = r.text
	}
}

// result is the result of a call in a request.
type result struct{ id, text string }

func (m *model) play(s *stream, out wire, a answer, calls []modelCall) {
	out.begin(s)
	for _, t := range a.texts {
		out.text(s, t)
	}
	for i, c := range calls {
		open := a.end == "cut" || a.end == "length" && i == len(calls)-1
		out.call(s, c, open)
	}
	if a.end == "cut" {
		s.flush()
		panic(http.ErrAbortHandler)
	}
	out.end(s, a.end)
}

// A wire is the state of one answer in a wire format.
type wire interface {
	begin(s *stream)
	text(s *stream, text string)
	// call writes a call. If it is open, its args do not end.
	call(s *stream, c modelCall, open bool)
	end(s *stream, reason string)
	// results returns the results of tools in a request.
	results(q request) []result
}

func wireOf(path string) wire {
	switch {
	case strings.HasSuffix(path, "/chat/completions"):
		return &chat{}
	case strings.HasSuffix(path, "/responses"):
		return &responses{}
	case strings.HasSuffix(path, "/messages"):
		return &messages{}
	case strings.Contains(path, "enerateContent"):
		return &gemini{}
	}
	return nil
}

// A stream writes server-sent events.
type stream struct {
	w     http.ResponseWriter
	model string
	whole bool // the request asked for an answer in one piece
	turn  int  // number of the answer; 0 for a request without the tool
	open  bool
}

// send writes an event, whose name is its type if it has one.
func (s *stream) send(v object) {
	if s.whole {
		return
	}
	if !s.open {
		s.open = true
		s.w.Header().Set("Content-Type", "text/event-stream")
	}
	if name, ok := v["type"].(string); ok {
		fmt.Fprintf(s.w, "event: %s\n", name)
	}
	fmt.Fprintf(s.w, "data: %s\n\n", encode(v))
	s.flush()
}

// id returns the id of the answer.
func (s *stream) id(head string) string { return fmt.Sprint(head, s.turn) }

func (s *stream) flush() {
	if f, ok := s.w.(http.Flusher); ok {
		f.Flush()
	}
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(encode(v)) // the client may be gone
}

func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // of maps that this program makes
	}
	return b
}

func joined(list []json.RawMessage) []byte { return encode(list) }

// halves cuts a text in two.
func halves(s string) []string { return []string{s[:len(s)/2], s[len(s)/2:]} }

// plainText returns the text of content: a string, or parts with a text.
func plainText(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var parts []struct{ Text string }
	if json.Unmarshal(raw, &parts) != nil {
		return string(raw)
	}
	for _, p := range parts {
		s += p.Text
	}
	return s
}
