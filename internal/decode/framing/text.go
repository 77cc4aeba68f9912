package framing

import (
	"strings"
	"unicode/utf8"

	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

// Text that is not one whole event: JSON values one after another, on lines of their
// own or not, events of SSE, and other lines.
//
// A value that is an array of events counts as its elements. They are read as they
// come if the first element is an event that is certainly no part of a message tuple.
// Other arrays are read at their end.
//
// Where a value is not JSON, or a line is neither JSON nor SSE, the text up to the next
// line that begins an event is rejected.

type textRest struct {
	tried   int    // the end of a line that is not one event
	starts  [2]int // ascending offsets at which an input began that may be read alone; 0 if there is none
	scanned int    // bytes that were scanned and are read again
	before  int    // bytes from earlier inputs, at the beginning of data
	last    bool   // nothing continues the input
	rest    string // of a line that is no event and began in an earlier input
	counted int    // offset up to which lines are counted
	line    int    // number of the line at counted; 0 before the first count, -1 where the text has one line
}

// nextText returns the next event of the text. It returns none where the text ends, or
// where SSE text or lines of codes begin.
func (r *Reader) nextText() (Event, bool) {
	in := &r.in
	if rest := in.text.rest; rest != "" {
		in.text.rest = ""
		return Event{Text: rest, Rest: true}, true
	}
	for {
		if p, ok := r.nextElement(); ok {
			return p, true
		}
		in.at += blank(in.data[in.at:])
		rest := in.data[in.at:]
		if rest == "" {
			in.framing = nothing
			return Event{}, false
		}
		switch c := rest[0]; {
		case c == '{' || c == '[' || c == '"':
			if p, ok := r.value(rest); ok {
				return p, true
			}
		case r.Cut.List && (c == ',' || c == ']'):
			r.Cut.List = c == ','
			in.at++
		case lineOfSSE(rest):
			in.framing = sseText
			return Event{}, false
		case r.beginsCodes(rest):
			in.framing = codeLines
			return Event{}, false
		default:
			return r.plain(), true
		}
	}
}

// blank returns the number of bytes of white space and byte order marks at the
// beginning of a text.
func blank(text string) int {
	rest := strings.TrimLeft(text, " \t\r\n")
	for strings.HasPrefix(rest, wire.BOM) {
		rest = strings.TrimLeft(rest[len(wire.BOM):], " \t\r\n")
	}
	return len(text) - len(rest)
}

// value reads the value that begins at rest. It returns no event where the value is
// cut, or is an array of which the elements follow.
func (r *Reader) value(rest string) (Event, bool) {
	in := &r.in
	if p, ok := r.wholeLine(rest); ok {
		return r.event(p)
	}
	n, cut := doneLen(rest)
	switch {
	case n > 0:
		p := Event{Text: rest[:n], Base: in.at}
		in.at += n
		return p, true
	case cut && !in.text.last:
		r.keep(rest, valueScan{})
		return Event{}, false
	case rest[0] == '"':
		return r.plain(), true
	}
	var v valueScan
	status := v.status(rest, r.Formats)
	switch end := v.end(); {
	case v.list():
		r.Cut.List = true
		in.at += v.from
		return Event{}, false
	case end > 0:
		p := Event{Text: rest[:end], Base: in.at, Valid: true}
		in.at += end
		return r.event(p)
	case status == jsonscan.More && !in.text.last:
		r.keep(rest, v)
		return Event{}, false
	}
	in.text.scanned += v.scan.Offset()
	return r.plain(), true
}

// wholeLine returns the event that rest begins with if it is alone on its line.
func (r *Reader) wholeLine(rest string) (p Event, ok bool) {
	in := &r.in
	if in.at < in.text.tried {
		return p, false
	}
	line, _, _ := strings.Cut(rest, "\n")
	in.text.tried = in.at + len(line) + 1
	p = Event{Text: wire.Trim(line), Base: in.at}
	switch {
	case r.Formats.Fits(p.Text):
		p.Fits = true
	case nested(p.Text) && wire.Valid(p.Text) && utf8.ValidString(p.Text):
		p.Valid = true
	default:
		return p, false
	}
	in.at += len(line)
	return p, true
}

// event returns an event, or the first element of an array of events.
func (r *Reader) event(p Event) (Event, bool) {
	if p.Valid && r.openArray(p.Text, p.Base) {
		return r.nextElement()
	}
	return p, true
}

// plain returns the text up to the next place where an event may begin.
func (r *Reader) plain() Event {
	in := &r.in
	start, end := in.at, in.nextStart()
	in.at = end
	if end == len(in.data) && in.data[end-1] != '\n' && !in.text.last {
		r.Cut.JSON = &CutText{Plain: true}
	}
	return trimmed(in.data[start:end], start)
}

// maxScans bounds how often the text of an input is scanned.
const maxScans = 8

// nextStart returns the offset of the next place where an event may begin: a line that
// begins like one, or the beginning of an input that may be read alone.
func (in *input) nextStart() int {
	end := len(in.data)
	if at := in.nextAlone(); at > 0 {
		end = at
	}
	if in.text.scanned > maxScans*len(in.data) {
		return end
	}
	for at := in.at; ; {
		i := strings.IndexByte(in.data[at:end], '\n')
		if i < 0 {
			return end
		}
		at += i + 1
		if next := in.data[at:]; next != "" && (nested(next) || lineOfSSE(next) || beginsCode(next)) {
			return at
		}
	}
}

// nextAlone returns the offset at which the next input begins that may be read alone, or 0.
func (in *input) nextAlone() int {
	for _, at := range in.text.starts {
		if at > in.at {
			return at
		}
	}
	return 0
}

// lineOf returns the number of the line at an offset, or 0 if the input has one line.
// Offsets come in ascending order.
func (in *input) lineOf(at int) int {
	t := &in.text
	if t.line == 0 {
		t.line, t.counted = 1, t.before
		if !strings.Contains(wire.Trim(in.data[t.before:]), "\n") {
			t.line = -1
		}
	}
	if t.line < 0 {
		return 0
	}
	t.line += strings.Count(in.data[t.counted:at], "\n")
	t.counted = at
	return t.line
}

// doneTokens are the texts of IsDone.
var doneTokens = [...]string{"[DONE]", `"[DONE]"`}

// doneLen returns the length of the end of an OpenAI stream with which a text begins,
// or 0. It reports whether the text is the beginning of one that is cut.
func doneLen(text string) (n int, cut bool) {
	for _, token := range doneTokens {
		if strings.HasPrefix(text, token) {
			return len(token), false
		}
		cut = cut || strings.HasPrefix(token, strings.TrimRight(text, " \t\r\n"))
	}
	return 0, cut
}
