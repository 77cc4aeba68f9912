package decode

import (
	"fmt"
	"strings"

	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

// Server-sent events: https://html.spec.whatwg.org/multipage/server-sent-events.html
//
// The text may be cut anywhere between inputs, also inside a character. What
// the cut leaves over waits in the Memory. Two things differ from the
// specification, because an input is a message and not a read of a socket:
//
// An event is over at a blank line, and also at the end of an input where its
// data is one complete JSON object or array, or [DONE]; nothing that makes sense
// could follow. So publishers may leave the blank line out.
//
// A publisher may die in mid-event and another one begin. While an event is
// cut, an input that begins by itself (whole JSON, or a field such as data:)
// goes on with the cut event only where that keeps the event's data a
// beginning of JSON, or, at the end of a line, where it is the next field.
// Otherwise the cut event is lost and reported, and the input stands by
// itself. Where both readings hold, going on wins. An input that does not
// begin by itself always goes on.

// SSE is an SSE event that was cut between two inputs.
type SSE struct {
	Line []byte `json:"l,omitzero"` // of a line that is cut, but not in its data
	Data []byte `json:"d,omitzero"` // data lines so far, joined by newlines
	Has  bool   `json:"h,omitzero"` // there was a data line
	Open bool   `json:"o,omitzero"` // the last data line is cut
	Name string `json:"n,omitzero"` // the event's name so far
	CR   bool   `json:"r,omitzero"` // the last byte was a carriage return: a newline that follows ends nothing
	Skip bool   `json:"k,omitzero"` // the event was too long: drop the rest of it

	scan jsonscan.Scanner // follows Data; made anew after loading
}

func (m *SSE) pending() bool {
	return len(m.Line) > 0 || m.Has || m.Name != "" || m.Skip
}

// status follows Data to its end.
func (m *SSE) status() jsonscan.Status {
	return m.scan.Write(wire.Alias(m.Data[m.scan.Offset():]))
}

// complete tells whether the data is one whole event.
func (m *SSE) complete() bool {
	if !m.Has || m.Skip {
		return false
	}
	if saysDone(wire.Trim(wire.Alias(m.Data))) {
		return true
	}
	return m.status() == jsonscan.Done && (m.scan.First() == '{' || m.scan.First() == '[')
}

// takes tells whether the data can go on with text.
func (m *SSE) takes(text string) bool {
	m.status()
	scan := m.scan
	if m.Has && !m.Open {
		scan.Write("\n")
	}
	first, _, _ := strings.Cut(text, "\n")
	return scan.Write(strings.TrimSuffix(first, "\r")) != jsonscan.Bad
}

// goesOn tells whether an input belongs to the event that is cut.
func (m *SSE) goesOn(data string) bool {
	field, isJSON := beginsField(data), beginsJSON(data)
	switch {
	case field == "" && !isJSON:
		return true
	case m.Skip:
		return false
	case m.Open || string(m.Line) == "data:":
		return m.takes(data)
	case isJSON:
		return false
	case len(m.Line) == 0 && field == "data":
		return m.takes(strings.TrimPrefix(data, "data:"))
	}
	return true
}

var sseFields = [...]string{"data", "event", "id", "retry"}

// beginsField names the field an input begins with, where its colon is there
// too.
func beginsField(data string) string {
	for _, field := range sseFields {
		if strings.HasPrefix(data, field) && strings.HasPrefix(data[len(field):], ":") {
			return field
		}
	}
	return ""
}

// beginsJSON tells an input that is JSON, or NDJSON, by itself.
func beginsJSON(data string) bool {
	text := wire.Trim(data)
	if text == "" || text[0] != '{' && text[0] != '[' {
		return false
	}
	if wire.Valid(text) {
		return true
	}
	first, rest, _ := strings.Cut(text, "\n")
	rest = wire.Trim(rest)
	return rest != "" && (rest[0] == '{' || rest[0] == '[') && wire.Valid(wire.Trim(first))
}

// beginsSSE tells SSE text, whole or cut, where nothing is pending.
func beginsSSE(data string) bool {
	text := strings.TrimLeft(strings.TrimPrefix(data, bom), " \t\r\n")
	switch {
	case text == "":
		return false
	case text[0] == ':':
		return true
	case text[0] == '{' || text[0] == '[':
		return false
	case strings.HasPrefix(bom, text):
		return true // cut inside it
	}
	line := text
	if end := strings.IndexAny(text, "\r\n"); end >= 0 {
		line = text[:end]
	}
	for _, field := range sseFields {
		name, _, colon := strings.Cut(line, ":")
		if name == field && (colon || len(line) < len(text)) || len(line) == len(text) && strings.HasPrefix(field, line) {
			return true
		}
	}
	return strings.Contains(text, "\ndata:")
}

// sseEvent is the event being read.
type sseEvent struct {
	data    string // of its only data line, in the input
	base    int    // of data in the input
	line    int    // of the first data line; 0 where it came in an earlier input
	newline int    // place of the next newline, once found, plus 1
}

// abandon gives up the event that is cut.
func (r *Reader) abandon() {
	m := r.sse()
	if m.Has && !m.Skip {
		r.wrong = &wire.Problem{Code: wire.BadJSON, Text: fmt.Sprintf("an event was cut off after %d bytes of data and never continued", len(m.Data))}
	}
	r.state.SSE = nil
}

// resume begins to read SSE text where the last input left off.
func (r *Reader) resume() {
	m := r.sse()
	if len(m.Line) > 0 && string(m.Line) != "data:" && beginsField(r.in.data[r.in.at:]) != "" {
		// Its newline was left out, or lost.
		line := wire.Alias(m.Line)
		m.Line = nil
		r.field(line, 0)
	}
}

// nextSSE reads lines up to the end of an event.
func (r *Reader) nextSSE() (piece, bool) {
	m, in := r.sse(), &r.in
	for {
		start := in.at
		line, ok := in.sseLine(m)
		if !ok {
			return r.endSSE()
		}
		switch {
		case m.Open:
			m.Data, m.Open = append(m.Data, line...), false
			continue
		case len(m.Line) > 0:
			line = wire.Alias(append(m.Line, line...))
			m.Line, start = nil, 0
		}
		line, start = cutBOM(line, start)
		if line != "" {
			r.field(line, start)
			continue
		}
		if m.Has && !m.Skip {
			return r.dispatch(), true
		}
		*m = SSE{CR: m.CR}
	}
}

func cutBOM(line string, start int) (string, int) {
	if rest, ok := strings.CutPrefix(line, bom); ok {
		return rest, start + len(bom)
	}
	return line, start
}

// sseLine cuts the next line that has its end: LF, CR or CRLF.
func (in *input) sseLine(m *SSE) (string, bool) {
	if m.CR && in.at < len(in.data) {
		m.CR = false
		if in.data[in.at] == '\n' {
			in.at++
		}
	}
	rest := in.data[in.at:]
	if in.sse.newline <= in.at {
		// Found once and kept, so that text with CR alone is not searched
		// to its end for every line.
		in.sse.newline = len(in.data) + 1
		if i := strings.IndexByte(rest, '\n'); i >= 0 {
			in.sse.newline = in.at + i + 1
		}
	}
	end := in.sse.newline - 1 - in.at
	if i := strings.IndexByte(rest[:end], '\r'); i >= 0 {
		in.at += i + 1
		in.line++
		m.CR = true
		return rest[:i], true
	}
	if end == len(rest) {
		return "", false
	}
	in.at += end + 1
	in.line++
	return rest[:end], true
}

// field takes a line that is not blank; start is its place in the input.
func (r *Reader) field(line string, start int) {
	m := r.sse()
	name, value, _ := strings.Cut(line, ":")
	if m.Skip {
		return
	}
	switch name {
	case "event":
		m.Name = wire.Keep(strings.TrimPrefix(value, " "))
	case "data":
		r.dataLine(value, start+len(line)-len(value))
	}
}

// dataLine takes the value of a data field. The first one stays where it is in
// the input, and is copied only if it is not the only one.
func (r *Reader) dataLine(value string, start int) {
	m, ev := r.sse(), &r.in.sse
	if strings.HasPrefix(value, " ") {
		value, start = value[1:], start+1
	}
	if !m.Has {
		*ev = sseEvent{data: value, base: start, line: r.in.line, newline: ev.newline}
		m.Has = true
		return
	}
	r.ownData()
	m.Data = append(append(m.Data, '\n'), value...)
}

// ownData copies into the Memory what stood in the input.
func (r *Reader) ownData() {
	r.sse().Data = append(r.sse().Data, r.in.sse.data...)
	r.in.sse.data = ""
}

// dispatch ends the event.
func (r *Reader) dispatch() piece {
	m, ev := r.sse(), &r.in.sse
	p := piece{name: m.Name, text: ev.data, base: ev.base, line: ev.line}
	if len(m.Data) > 0 {
		// The bytes are the chunks' from here on: the Memory lets go of them.
		p.text, p.base = wire.Alias(m.Data), 0
	}
	text := wire.Trim(p.text)
	p.base += strings.Index(p.text, text)
	p.text = text
	*m = SSE{CR: m.CR}
	*ev = sseEvent{newline: ev.newline}
	return p
}

// lineLimit bounds what is kept of a line that is cut before its data.
const lineLimit = 4 << 10

// endSSE keeps what is left at the end of the input, and gives the event if
// that is complete.
func (r *Reader) endSSE() (piece, bool) {
	m, in := r.sse(), &r.in
	tail := in.data[in.at:]
	start := in.at
	in.at, in.framing = len(in.data), nothing
	if !m.Open && tail != "" {
		if len(m.Line) > 0 {
			tail, start = wire.Alias(append(m.Line, tail...)), 0
		}
		m.Line = nil
		tail, start = cutBOM(tail, start)
		switch value, ok := strings.CutPrefix(tail, "data:"); {
		case m.Skip || strings.HasPrefix(tail, ":") || len(tail) > lineLimit && !ok:
			m.Line = []byte(":") // nothing of it counts, but it is no blank line
		case ok && value != "":
			in.line++
			r.dataLine(value, start+len("data:"))
			m.Open = true
		default:
			m.Line = []byte(tail)
		}
		tail = ""
	}
	r.ownData()
	m.Data = append(m.Data, tail...)
	switch {
	case m.complete():
		line := m.Line // a comment may have begun behind it
		p := r.dispatch()
		m.Line = line
		return p, true
	case len(m.Data) > r.limits.event():
		*m = SSE{Skip: true, Line: []byte(":"), CR: m.CR}
		return piece{problem: &wire.Problem{Code: wire.OverLimit, Text: fmt.Sprintf("a stream event is longer than %d bytes", r.limits.event())}}, true
	}
	return piece{}, false
}

// sse returns the state of the event that is cut, and makes it where there is
// none.
func (r *Reader) sse() *SSE {
	if r.state.SSE == nil {
		r.state.SSE = new(SSE)
	}
	return r.state.SSE
}
