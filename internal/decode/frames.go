package decode

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

// input is the rest of the current input.
type input struct {
	framing framing
	data    string
	at      int // offset of the next line or value
	sse     sseEvent
	text    textRest

	events   jsonscan.Cursor // of an array of events
	eventsAt int             // offset of the array
}

type framing uint8

const (
	nothing    framing = iota
	wholeEvent         // one event that is JSON
	arrayOfEvents
	jsonText // JSON values and other lines
	sseText
	codeLines
	eventStream // frames of AWS
)

// piece is the text of one stream event.
type piece struct {
	input uint64 // sequence of the input in which the text begins
	name  string
	text  string
	base  int  // offset of the text in the input
	valid bool // the text is JSON in UTF-8
	fits  bool // the text fits the template that was found last
	rest  bool // the text is the rest of a line whose beginning is no event
	// joined: base is not the offset of the text, because it was joined from several
	// places.
	joined bool

	failure string        // of the stream, instead of a text
	problem *wire.Problem // instead of a text
}

// open determines the framing of the input.
func (r *Reader) open(data string) {
	r.in = input{data: data}
	in := &r.in
	switch {
	case data == "":
	case r.cut.Frame != nil || beginsFrame(data):
		r.openFrames()
	case r.cut.JSON != nil:
		r.openCut()
	case r.continuesCode(data):
		in.framing = codeLines
	case !r.continues(data):
		r.openText()
	}
}

// openText determines the framing of an input that does not continue another one.
func (r *Reader) openText() {
	in := &r.in
	data := in.data[in.at:]
	if in.framing = r.lines(data); in.framing == nothing {
		r.openJSON(wire.Trim(data))
	}
}

// lines returns the framing of a text that begins with a line that is not JSON, or
// nothing.
func (r *Reader) lines(text string) framing {
	switch {
	case text == "" || nested(text):
	case beginsSSE(text):
		return sseText
	case r.beginsCodes(text):
		return codeLines
	}
	return nothing
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
	if m.unclear() {
		r.join(m.Line, data[in.at:])
		r.state.SSE = nil
		return true
	}
	if !m.continues(data[in.at:]) {
		r.abandon()
		return false
	}
	in.framing = sseText
	r.resume()
	return true
}

// openJSON determines whether the input is one event, an array of events, or other text.
func (r *Reader) openJSON(text string) {
	in := &r.in
	switch {
	case text == "":
	case r.templates.Find(r.state.Format, "", text):
		in.framing = wholeEvent
	case nested(text) && wire.Valid(text) && utf8.ValidString(text):
		in.framing = wholeEvent
		if r.openArray(text, strings.IndexByte(in.data, '[')) {
			in.framing = arrayOfEvents
		}
	default:
		in.framing = jsonText
		if !strings.Contains(text, "\n") {
			in.text.tried = len(in.data) // it is no event
		}
	}
}

// nested reports whether a text begins like an array or an object.
func nested(text string) bool { return text[0] == '{' || text[0] == '[' }

// openArray reports whether a valid text is an array of events, which are then read next.
func (r *Reader) openArray(text string, at int) bool {
	if text[0] != '[' {
		return false
	}
	v := jsonscan.ValueOf(text)
	if tuple(v) {
		return false
	}
	r.in.events, r.in.eventsAt = v.Elements(), at
	return true
}

// pull returns the next piece of the input.
func (r *Reader) pull() (piece, bool) {
	in := &r.in
	for {
		switch framing := in.framing; framing {
		case wholeEvent:
			in.framing = nothing
			p := trimmed(in.data, 0)
			p.valid = true
			return p, true
		case arrayOfEvents:
			return r.nextElement()
		case jsonText:
			if p, ok := r.nextText(); ok || in.framing == framing {
				return p, ok
			}
		case sseText:
			if p, ok := r.nextSSE(); ok || in.framing == framing {
				return p, ok
			}
		case codeLines:
			return r.nextCode()
		case eventStream:
			if p, ok := r.nextFrame(); ok || in.framing == nothing {
				return p, ok
			}
		default:
			return piece{}, false
		}
	}
}

// nextElement returns the next element of an array of events.
func (r *Reader) nextElement() (piece, bool) {
	in := &r.in
	if !in.events.Next() {
		return piece{}, false
	}
	base := in.eventsAt + in.events.Offset()
	return piece{text: in.events.Value.Raw, base: base, valid: true}, true
}

// bom is a byte order mark.
const bom = "\ufeff"

// trimmed returns the piece of a text without the white space around it.
func trimmed(s string, base int) piece {
	text := wire.Trim(s)
	return piece{text: text, base: base + strings.Index(s, text)}
}

// frame returns the frame in a piece. The Offset of the Problem counts from the text of
// the piece.
func (p piece) frame() (wire.Frame, *wire.Problem) {
	f := wire.Frame{Name: p.name}
	switch {
	case p.problem != nil:
		return f, p.problem
	case p.rest:
		return f, &wire.Problem{Code: wire.BadJSON, Text: "the rest of a line that is no event"}
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
	switch f.JSON.FirstKey() { // most events end here
	case "event", "data", "id":
	default:
		return f
	}
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
		return isMetadata(first[1]) && !(first[1].IsEmpty() && certainEvent(first[0].Raw))
	}
	return false
}

// certainEvent reports whether a valid text is an event that is not the first element
// of a message tuple of LangGraph.
func certainEvent(text string) bool {
	f, problem := piece{text: text, valid: true}.frame()
	if problem != nil || find("langchain").Claims(f) >= wire.Perhaps {
		return false
	}
	return slices.ContainsFunc(formats[:], func(format wire.Format) bool { return format.Claims(f) == wire.Surely })
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
