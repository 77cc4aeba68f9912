package decode

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/tidwall/gjson"
)

// input is what is left of the current input.
type input struct {
	framing framing
	data    string
	at      int // of the next line
	line    int // of the last line read; 1-based
	events  walker
	sse     sseEvent
}

type framing uint8

const (
	nothing    framing = iota
	wholeEvent         // checked
	oneEvent
	arrayOfEvents
	ndjson
	sseText
)

// piece is the text of one stream event.
type piece struct {
	name  string
	text  string
	base  int // of the text in the input, 0 where it is put together
	line  int
	valid bool // it is known to be JSON in UTF-8

	problem *Problem // instead of a text
}

// open finds out how the input is framed.
func (r *Reader) open(data string) {
	r.in = input{data: data}
	in := &r.in
	if data == "" || r.goesOn(data) {
		return
	}
	if data[0] != '{' && data[0] != '[' && beginsSSE(data) {
		in.framing = sseText
		return
	}
	r.openJSON(trim(data))
}

// goesOn tells whether an input goes on with SSE text that the last one cut.
func (r *Reader) goesOn(data string) bool {
	in, m := &r.in, r.mem.SSE
	if m == nil {
		return false
	}
	if m.CR && data[0] == '\n' {
		in.at = 1
	}
	m.CR = false
	if !m.pending() {
		return false
	}
	if !m.goesOn(data[in.at:]) {
		r.abandon()
		return false
	}
	in.framing = sseText
	r.resume()
	return true
}

// openJSON tells one event, an array of events, and a line for each.
func (r *Reader) openJSON(text string) {
	in := &r.in
	switch {
	case text == "":
	case r.moulds.find(r.mem.Format, "", text):
		in.framing = wholeEvent
	case jsonText(text) && utf8.ValidString(text):
		v := valueOf(text)
		in.framing = wholeEvent
		if isArray(v) && !tuple(v) {
			in.framing, in.events = arrayOfEvents, elements(v)
		}
	case severalLines(text):
		in.framing = ndjson
	default:
		in.framing = oneEvent
	}
}

// severalLines tells NDJSON, with perhaps a broken line, from one broken JSON
// text that is spread over lines.
func severalLines(text string) bool {
	if strings.Contains(text, "\n{") || strings.Contains(text, "\n[") {
		return true
	}
	first, _, more := strings.Cut(text, "\n")
	return more && jsonText(trim(first))
}

// pull gives the next piece of the input.
func (r *Reader) pull() (piece, bool) {
	in := &r.in
	switch in.framing {
	case wholeEvent, oneEvent:
		p := trimmed(in.data, 0, 0)
		p.valid = in.framing == wholeEvent
		in.framing = nothing
		return p, true
	case arrayOfEvents:
		if !in.events.next() {
			return piece{}, false
		}
		text := in.events.value.Raw
		base := strings.IndexByte(in.data, '[') + in.events.at - len(text)
		return piece{text: text, base: base, valid: true}, true
	case ndjson:
		return in.nextLine()
	case sseText:
		return r.nextSSE()
	}
	return piece{}, false
}

// nextLine gives the next line of NDJSON that is not blank.
func (in *input) nextLine() (piece, bool) {
	for in.at < len(in.data) {
		start := in.at
		line, _, _ := strings.Cut(in.data[start:], "\n")
		in.at += len(line) + 1
		in.line++
		if p := trimmed(line, start, in.line); p.text != "" {
			return p, true
		}
	}
	return piece{}, false
}

const bom = "\ufeff"

// trim cuts white space, and a byte order mark at the beginning.
func trim(s string) string {
	if s != "" && (s[0] == '{' || s[0] == '[') && (s[len(s)-1] == '}' || s[len(s)-1] == ']') {
		return s // as most are
	}
	return strings.Trim(strings.TrimPrefix(s, bom), " \t\r\n")
}

func trimmed(s string, base, line int) piece {
	text := trim(s)
	return piece{text: text, base: base + strings.Index(s, text), line: line}
}

// frame reads a piece. Offsets of the Problem count from the piece's text.
func (p piece) frame() (Frame, *Problem) {
	f := Frame{Name: p.name}
	if p.problem != nil {
		return f, p.problem
	}
	if saysDone(p.text) {
		f.Done = true
		return f, nil
	}
	if !p.valid {
		if problem := checkJSON(p.text); problem != nil {
			return f, problem
		}
	}
	f.JSON = valueOf(p.text)
	if f.Name == "" {
		f = unwrap(f)
	}
	f, problem := openBytes(f)
	if problem != nil {
		return f, problem
	}
	// An event may say all it has to say by its name, and have null as data.
	named := f.Name != "" && f.JSON.Type == gjson.Null
	if f.JSON.Type != gjson.JSON && !f.Done && !named {
		return f, &Problem{Code: BadShape, Text: fmt.Sprintf("the event is %s, not an object", typeName(f.JSON))}
	}
	return f, nil
}

// saysDone tells the end of a stream, as OpenAI says it; some quote it.
func saysDone(text string) bool { return text == "[DONE]" || text == `"[DONE]"` }

// unwrap opens {"event":NAME,"data":…}, perhaps with an "id", which is how a
// server-sent event is written as JSON.
func unwrap(f Frame) Frame {
	var name, data gjson.Result
	for m := members(f.JSON); m.next(); {
		switch m.key {
		case "event":
			name = m.value
		case "data":
			data = m.value
		case "id":
		default:
			return f
		}
	}
	if name.Type != gjson.String || data.Raw == "" {
		return f
	}
	return Frame{Name: name.Str, JSON: data, Done: saysDone(data.Raw)}
}

// tuple tells an array that is one event of LangGraph from an array of events:
// [mode, payload], [namespace, mode, payload] and [chunk, metadata].
func tuple(v gjson.Result) bool {
	var first [3]gjson.Result
	n := 0
	for e := elements(v); n < len(first) && e.next(); n++ {
		first[n] = e.value
	}
	switch {
	case n == 2 && first[0].Type == gjson.String:
		return true
	case n == 3 && isArray(first[0]) && first[1].Type == gjson.String:
		return true
	case n == 2 && isObject(first[0]) && isObject(first[1]):
		return isMetadata(first[1])
	}
	return false
}

// isMetadata recognises the second half of a LangGraph message tuple. What
// stream events of any format have in common is that they have none of these.
func isMetadata(v gjson.Result) bool {
	empty := true
	for m := members(v); m.next(); {
		if strings.HasPrefix(m.key, "langgraph_") || strings.HasPrefix(m.key, "ls_") || m.key == "checkpoint_ns" || m.key == "__pregel_task_id" {
			return true
		}
		empty = false
	}
	return empty
}
