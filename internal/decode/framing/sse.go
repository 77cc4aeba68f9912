package framing

import (
	"fmt"
	"slices"
	"strings"

	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
	"streamer/internal/stored"
)

// Server-sent events: https://html.spec.whatwg.org/multipage/server-sent-events.html
//
// The text may be cut anywhere between inputs, also inside a character. The cut event
// is part of the State. Two rules differ from the specification, because an input is a
// message and not a read of a socket:
//
// An event ends at a blank line, and also at the end of an input where its data is one
// complete JSON object or array, or [DONE], which nothing can continue. Publishers may
// therefore omit the blank line.
//
// A publisher may fail in mid-event, and another publisher may begin. While an event
// is cut, an input that is independent (whole JSON, or a field such as data:)
// continues the cut event only if the data stays a prefix of JSON or, at the end of a
// line, if the input is the next field. Otherwise the cut event is lost and reported,
// and the input is read alone. Where both readings are possible, the input continues
// the event. An input that is not independent always continues it.

// SSE is an SSE event that was cut between two inputs.
type SSE struct {
	Line []byte // a line that was cut before its data
	Data []byte // data lines so far, joined by newlines
	Has  bool   // the event has a data line
	Open bool   // the last data line was cut
	Name string // the event's name so far
	CR   bool   // the last byte was a carriage return; a newline that follows belongs to it
	Skip bool   // the event was too long; its rest is skipped
	Err  bool   // the data is the value of the field error

	scan jsonscan.Scanner // has read a prefix of Data; empty after loading
}

func (m *SSE) fields(f *stored.Fields) {
	f.Bytes("l", &m.Line)
	f.Bytes("d", &m.Data)
	f.Flag("h", &m.Has)
	f.Flag("o", &m.Open)
	f.Text("n", &m.Name)
	f.Flag("r", &m.CR)
	f.Flag("k", &m.Skip)
	f.Flag("e", &m.Err)
}

func (m *SSE) status() jsonscan.Status {
	return m.scan.Write(wire.Alias(m.Data[m.scan.Offset():]))
}

func (m *SSE) complete() bool {
	if !m.Has || m.Skip {
		return false
	}
	if IsDone(wire.Trim(wire.Alias(m.Data))) {
		return true
	}
	return m.status() == jsonscan.Done && (m.scan.First() == '{' || m.scan.First() == '[')
}

func (m *SSE) accepts(text string) bool {
	m.status()
	scan := m.scan
	if m.Has && !m.Open {
		scan.Write("\n")
	}
	first, _, _ := strings.Cut(text, "\n")
	return scan.Write(strings.TrimSuffix(first, "\r")) != jsonscan.Bad
}

func (m *SSE) continues(data string) bool {
	field, isJSON := beginsField(data), beginsJSON(data)
	switch {
	case field == "" && !isJSON:
		return true
	case m.Skip:
		return false
	case m.Open || m.beforeData():
		return m.accepts(data)
	case isJSON:
		return false
	case len(m.Line) == 0 && field == "data":
		return m.accepts(strings.TrimPrefix(data, "data:"))
	}
	return true
}

var sseFields = [...]string{"data", "event", "id", "retry", "error"}

// beginsField returns the field with which an input begins, colon included, or "".
func beginsField(data string) string {
	for _, field := range sseFields {
		if strings.HasPrefix(data, field+":") && lineOfSSE(data) {
			return field
		}
	}
	return ""
}

// beginsJSON reports whether an input alone is JSON or NDJSON.
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

// beginsSSE reports whether an input is SSE text, whole or cut, if no event was cut.
func beginsSSE(data string) bool {
	text := strings.TrimLeft(strings.TrimPrefix(data, wire.BOM), " \t\r\n")
	switch {
	case text == "":
		return false
	case text[0] == ':':
		return true
	case text[0] == '{' || text[0] == '[':
		return false
	case strings.HasPrefix(wire.BOM, text):
		return true // the byte order mark was cut
	}
	return lineOfSSE(text) || strings.Contains(text, "\ndata:")
}

// lineOfSSE reports whether a text begins with a comment or a field of SSE, which may be
// cut. The field error is one only with an object, because other text may begin so.
func lineOfSSE(text string) bool {
	if text[0] == ':' {
		return true
	}
	for _, field := range sseFields {
		rest, ok := strings.CutPrefix(text, field)
		switch {
		case !ok:
			if strings.HasPrefix(field, text) {
				return true
			}
		case rest == "":
			return true
		case field == "error":
			value := strings.TrimLeft(rest[1:], " ")
			return rest[0] == ':' && (value == "" || value[0] == '{')
		case rest[0] == ':' || rest[0] == '\n' || rest[0] == '\r':
			return true
		}
	}
	return false
}

// unclear reports whether all that was cut is the beginning of a line that may be no
// line of SSE.
func (m *SSE) unclear() bool {
	line := wire.Alias(m.Line)
	if line == "" || m.Has || m.Name != "" || m.Skip {
		return false
	}
	return strings.HasPrefix(wire.BOM, line) || strings.TrimRight(line, " ") == "error:" ||
		slices.ContainsFunc(sseFields[:], func(field string) bool { return strings.HasPrefix(field, line) })
}

// beforeData reports whether a line was cut between the name of a field and its data.
func (m *SSE) beforeData() bool {
	line := string(m.Line)
	return line == "data:" || line == "error:"
}

type sseEvent struct {
	data    string // the only data line, in the input
	base    int    // offset of data in the input
	newline int    // offset of the next newline plus 1; 0 if unknown
}

func (r *Reader) abandon() {
	m := r.sse()
	if m.Has && !m.Skip {
		r.Wrong = &wire.Problem{Code: wire.BadJSON, Text: fmt.Sprintf("an event was cut off after %d bytes of data and never continued", len(m.Data))}
	}
	r.state.SSE = nil
}

func (r *Reader) resume() {
	m := r.sse()
	if len(m.Line) > 0 && !m.beforeData() && beginsField(r.in.data[r.in.at:]) != "" {
		// The newline was omitted or lost.
		line := wire.Alias(m.Line)
		m.Line = nil
		r.field(line, 0)
	}
}

// nextSSE reads lines up to the end of an event. It returns none where the input ends,
// or where a line is JSON.
func (r *Reader) nextSSE() (Event, bool) {
	m, in := r.sse(), &r.in
	for {
		in.skipLF(m)
		if r.endsHere() {
			return r.dispatch(), true
		}
		if !m.Has && in.atJSON(m) {
			*m = SSE{}
			in.framing = jsonText
			return Event{}, false
		}
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
	if rest, ok := strings.CutPrefix(line, wire.BOM); ok {
		return rest, start + len(wire.BOM)
	}
	return line, start
}

func (in *input) skipLF(m *SSE) {
	if m.CR && in.at < len(in.data) {
		m.CR = false
		if in.data[in.at] == '\n' {
			in.at++
		}
	}
}

// atJSON reports whether a line of JSON begins, which is no line of SSE.
func (in *input) atJSON(m *SSE) bool {
	return !m.Open && !m.Skip && len(m.Line) == 0 && in.at < len(in.data) && nested(in.data[in.at:])
}

// endsHere reports whether the event ends without a blank line: before a line of JSON,
// or before another data line if nothing can continue its data.
func (r *Reader) endsHere() bool {
	m, in := r.sse(), &r.in
	switch {
	case !m.Has || m.Skip || m.Open || len(m.Line) > 0:
		return false
	case in.atJSON(m):
		return true
	case !strings.HasPrefix(in.data[in.at:], "data:"):
		return false
	}
	r.ownData()
	return m.complete()
}

// sseLine returns the next line that has an end: LF, CR or CRLF.
func (in *input) sseLine(m *SSE) (string, bool) {
	rest := in.data[in.at:]
	if in.sse.newline <= in.at {
		// The offset is stored, so that text with CR alone is not searched to its
		// end for every line.
		in.sse.newline = len(in.data) + 1
		if i := strings.IndexByte(rest, '\n'); i >= 0 {
			in.sse.newline = in.at + i + 1
		}
	}
	end := in.sse.newline - 1 - in.at
	if i := strings.IndexByte(rest[:end], '\r'); i >= 0 {
		in.at += i + 1
		m.CR = true
		return rest[:i], true
	}
	if end == len(rest) {
		return "", false
	}
	in.at += end + 1
	return rest[:end], true
}

// field reads a line that is not blank. start is its offset in the input.
func (r *Reader) field(line string, start int) {
	m := r.sse()
	name, value, _ := strings.Cut(line, ":")
	if m.Skip {
		return
	}
	switch name {
	case "event":
		m.Name = wire.Keep(strings.TrimPrefix(value, " "))
	case "data", "error":
		if name == "error" && !lineOfSSE(line) {
			return
		}
		m.Err = m.Err || name == "error"
		r.dataLine(value, start+len(line)-len(value))
	}
}

// dataField returns the value of a line whose field has data.
func dataField(line string) (value string, failed, ok bool) {
	if value, ok = strings.CutPrefix(line, "data:"); ok {
		return value, false, true
	}
	value, ok = strings.CutPrefix(line, "error:")
	ok = ok && strings.HasPrefix(strings.TrimLeft(value, " "), "{")
	return value, ok, ok
}

// dataLine reads the value of a data field. The first value stays in the input. It is
// copied only if there is another.
func (r *Reader) dataLine(value string, start int) {
	m, ev := r.sse(), &r.in.sse
	if strings.HasPrefix(value, " ") {
		value, start = value[1:], start+1
	}
	if !m.Has {
		*ev = sseEvent{data: value, base: start, newline: ev.newline}
		m.Has = true
		return
	}
	r.ownData()
	m.Data = append(append(m.Data, '\n'), value...)
}

// ownData copies the data in the input to the State.
func (r *Reader) ownData() {
	r.sse().Data = append(r.sse().Data, r.in.sse.data...)
	r.in.sse.data = ""
}

func (r *Reader) dispatch() Event {
	m, ev := r.sse(), &r.in.sse
	p := Event{Name: m.Name, Text: ev.data, Base: ev.base}
	if len(m.Data) > 0 {
		// The chunks share these bytes from here on, so the State drops them.
		p.Text, p.Base, p.Joined = wire.Alias(m.Data), 0, true
	}
	text := wire.Trim(p.Text)
	p.Base += strings.Index(p.Text, text)
	p.Text = text
	if m.Err {
		p = failed(p)
	}
	*m = SSE{CR: m.CR}
	*ev = sseEvent{newline: ev.newline}
	return p
}

// failed returns the event that the value of a field error would be as data.
func failed(p Event) Event {
	if wire.Valid(p.Text) && !jsonscan.ValueOf(p.Text).Member("error").Present() {
		p.Text, p.Base, p.Joined = `{"error":`+p.Text+"}", 0, true
	}
	return p
}

// lineLimit is the maximum number of bytes of a line that was cut before its data.
const lineLimit = 4 << 10

// endSSE stores the rest of the input, and returns the event if it is complete.
func (r *Reader) endSSE() (Event, bool) {
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
		switch value, failed, ok := dataField(tail); {
		case m.Skip || strings.HasPrefix(tail, ":") || len(tail) > lineLimit && !ok:
			m.Line = []byte(":") // it is ignored, but it is not a blank line
		case ok && value != "":
			m.Err = m.Err || failed
			r.dataLine(value, start+len(tail)-len(value))
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
		line := m.Line // a comment may have begun after it
		p := r.dispatch()
		m.Line = line
		return p, true
	case len(m.Data) > r.limit:
		*m = SSE{Skip: true, Line: []byte(":"), CR: m.CR}
		return Event{Problem: r.tooLong()}, true
	}
	return Event{}, false
}

func (r *Reader) sse() *SSE {
	if r.state.SSE == nil {
		r.state.SSE = new(SSE)
	}
	return r.state.SSE
}
