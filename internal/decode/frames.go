package decode

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

// input is the rest of the current input.
type input struct {
	framing framing
	data    string
	at      int // offset of the next line
	line    int // number of the last line read, from 1
	events  jsonscan.Cursor
	sse     sseEvent
}

type framing uint8

const (
	nothing    framing = iota
	wholeEvent         // valid JSON
	oneEvent
	arrayOfEvents
	ndjson
	sseText
	codeLines
)

// piece is the text of one stream event.
type piece struct {
	name  string
	text  string
	base  int // offset of the text in the input; 0 if the text was joined from several inputs
	line  int
	valid bool // the text is JSON in UTF-8

	problem *wire.Problem // instead of a text
}

// open determines the framing of the input.
func (r *Reader) open(data string) {
	r.in = input{data: data}
	in := &r.in
	if data == "" {
		return
	}
	if r.continuesCode(data) {
		in.framing = codeLines
		return
	}
	if r.continues(data) {
		return
	}
	if data[0] != '{' && data[0] != '[' {
		switch {
		case beginsSSE(data):
			in.framing = sseText
			return
		case r.beginsCodes(data):
			in.framing = codeLines
			return
		}
	}
	r.openJSON(wire.Trim(data))
}

// continues reports whether an input continues SSE text that the last input cut.
func (r *Reader) continues(data string) bool {
	in, m := &r.in, r.state.SSE
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
	if !m.continues(data[in.at:]) {
		r.abandon()
		return false
	}
	in.framing = sseText
	r.resume()
	return true
}

// openJSON determines whether the input is one event, an array of events, or NDJSON.
func (r *Reader) openJSON(text string) {
	in := &r.in
	switch {
	case text == "":
	case r.templates.Find(r.state.Format, "", text):
		in.framing = wholeEvent
	case wire.Valid(text) && utf8.ValidString(text):
		v := jsonscan.ValueOf(text)
		in.framing = wholeEvent
		if v.IsArray() && !tuple(v) {
			in.framing, in.events = arrayOfEvents, v.Elements()
		}
	case severalLines(text):
		in.framing = ndjson
	default:
		in.framing = oneEvent
	}
}

// severalLines reports whether a text is NDJSON, in which a line may be invalid. The
// alternative is one invalid JSON text of several lines.
func severalLines(text string) bool {
	if strings.Contains(text, "\n{") || strings.Contains(text, "\n[") {
		return true
	}
	first, _, more := strings.Cut(text, "\n")
	return more && wire.Valid(wire.Trim(first))
}

// pull returns the next piece of the input.
func (r *Reader) pull() (piece, bool) {
	in := &r.in
	switch in.framing {
	case wholeEvent, oneEvent:
		p := trimmed(in.data, 0, 0)
		p.valid = in.framing == wholeEvent
		in.framing = nothing
		return p, true
	case arrayOfEvents:
		if !in.events.Next() {
			return piece{}, false
		}
		text := in.events.Value.Raw
		base := strings.IndexByte(in.data, '[') + in.events.Offset()
		return piece{text: text, base: base, valid: true}, true
	case ndjson:
		return in.nextLine()
	case sseText:
		return r.nextSSE()
	case codeLines:
		return r.nextCode()
	}
	return piece{}, false
}

// nextLine returns the next line of NDJSON that is not blank.
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

// bom is a byte order mark.
const bom = "\ufeff"

// trimmed returns the piece of a text without the white space around it.
func trimmed(s string, base, line int) piece {
	text := wire.Trim(s)
	return piece{text: text, base: base + strings.Index(s, text), line: line}
}

// frame returns the frame in a piece. The Offset of the Problem counts from the text of
// the piece.
func (p piece) frame() (wire.Frame, *wire.Problem) {
	f := wire.Frame{Name: p.name}
	if p.problem != nil {
		return f, p.problem
	}
	code := isCode(f.Name) // its JSON may be a string
	if isDone(p.text) && !code {
		f.Done = true
		return f, nil
	}
	if !p.valid {
		if problem := wire.Check(p.text); problem != nil {
			return f, problem
		}
	}
	f.JSON = jsonscan.ValueOf(p.text)
	if f.Name == "" {
		f = unwrap(f)
		code = isCode(f.Name)
	}
	f, problem := unpack(f)
	if problem != nil {
		return f, problem
	}
	// An event may consist of its name alone, with null as data.
	named := f.Name != "" && f.JSON.Kind <= jsonscan.Null
	if !f.JSON.IsNested() && !f.Done && !named && !code {
		return f, &wire.Problem{Code: wire.BadShape, Text: fmt.Sprintf("the event is %s, not an object", f.JSON.Kind)}
	}
	return f, nil
}

// isDone reports whether a text is the end of a stream of OpenAI. Some servers quote it.
func isDone(text string) bool { return text == "[DONE]" || text == `"[DONE]"` }

// unwrap returns the event in {"event":NAME,"data":…,"id"?}, which is a server-sent
// event as JSON.
func unwrap(f wire.Frame) wire.Frame {
	var name, data jsonscan.Value
	for m := f.JSON.Members(); m.Next(); {
		switch m.Key {
		case "event":
			name = m.Value
		case "data":
			data = m.Value
		case "id":
		default:
			return f
		}
	}
	if name.Kind != jsonscan.String || data.Raw == "" {
		return f
	}
	return wire.Frame{Name: name.Str, JSON: data, Done: isDone(data.Raw) && !isCode(name.Str)}
}

// tuple reports whether an array is one event of LangGraph, not a list of events:
// [mode, payload], [namespace, payload], [namespace, mode, payload] or
// [chunk, metadata].
func tuple(v jsonscan.Value) bool {
	var first [3]jsonscan.Value
	n := 0
	for e := v.Elements(); n < len(first) && e.Next(); n++ {
		first[n] = e.Value
	}
	switch {
	case n == 2 && (first[0].IsString() || wire.IsNamespace(first[0])):
		return true
	case n == 3 && first[0].IsArray() && first[1].IsString():
		return true
	case n == 2 && first[0].IsObject() && first[1].IsObject():
		return isMetadata(first[1])
	}
	return false
}

// isMetadata reports whether v is the second half of a message tuple of LangGraph.
// Events of other formats have none of these members.
func isMetadata(v jsonscan.Value) bool {
	empty := true
	for m := v.Members(); m.Next(); {
		if strings.HasPrefix(m.Key, "langgraph_") || strings.HasPrefix(m.Key, "ls_") || m.Key == "checkpoint_ns" || m.Key == "__pregel_task_id" {
			return true
		}
		empty = false
	}
	return empty
}
