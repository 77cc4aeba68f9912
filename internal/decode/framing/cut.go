package framing

import (
	"strings"

	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
	"streamer/internal/stored"
)

// JSON may be cut anywhere between inputs, also inside a character. The beginning of a
// value that is cut is part of the State, and the next input continues it.
//
// A publisher may fail in mid-value, and another publisher may begin. The next input
// therefore continues the value only if the value stays a prefix of JSON. Otherwise the
// beginning is rejected, and the input is read alone. Where both readings are possible,
// the input continues the value. If such a value is rejected later, the first input in
// it that is JSON or SSE text by itself, and everything after that, is read again. No
// event is lost thus; it is late by one input, or until the text is ended.

// Cut is what the last input cut, except SSE text, and what waits for the next one.
type Cut struct {
	JSON  *CutText
	Code  *Code // a line of a code
	Frame *FrameBytes
	List  bool // an array of events is open
	// Early are problems with plain text that came before the format was known.
	Early []wire.Problem
}

func (c *Cut) fields(f *stored.Fields) {
	stored.Pointer(f, "j", &c.JSON, (*CutText).fields)
	stored.Pointer(f, "c", &c.Code, (*Code).fields)
	stored.Pointer(f, "b", &c.Frame, (*FrameBytes).fields)
	f.Flag("l", &c.List)
	stored.List(f, "e", &c.Early, (*wire.Problem).Fields)
}

func (c *Cut) empty() bool {
	return c.JSON == nil && c.Code == nil && c.Frame == nil && !c.List && c.Early == nil
}

// CutText is JSON text that was cut between two inputs.
type CutText struct {
	Text []byte // the beginning of a value
	// Alone is the offset of the first input in Text that may be read alone; 0 if there
	// is none.
	Alone int
	Plain bool // a line that is no event was cut; its rest is no event
	Skip  bool // a value was too long; the rest of its line is skipped

	scan valueScan // has read a prefix of Text; empty after loading
}

func (m *CutText) fields(f *stored.Fields) {
	f.Bytes("t", &m.Text)
	stored.Number(f, "a", &m.Alone)
	f.Flag("p", &m.Plain)
	f.Flag("k", &m.Skip)
}

// valueScan finds the end of a value. In an array whose first element is an object it
// finds the end of that element first.
type valueScan struct {
	scan  jsonscan.Scanner
	from  int  // offset in the text where scan began
	whole bool // the array is read as a whole
}

// status reads a text to its end. The text is the same as in the last call, or longer.
func (v *valueScan) status(text string, formats Formats) jsonscan.Status {
	if v.scan.Offset() == 0 && !v.whole {
		v.from = firstObject(text)
	}
	status := v.scan.Write(text[v.from+v.scan.Offset():])
	if end := v.scan.DoneAt(); end < 0 || v.from == 0 || formats.IsEvent(text[v.from:v.from+end]) {
		return status
	}
	*v = valueScan{whole: true}
	return v.scan.Write(text)
}

// end returns the offset of the end of the value, or -1.
func (v *valueScan) end() int {
	if v.list() {
		return -1
	}
	return v.scan.DoneAt()
}

// list reports whether the value is an array of events, of which the first one is whole.
func (v *valueScan) list() bool { return v.from > 0 && v.scan.DoneAt() >= 0 }

// firstObject returns the offset of the first element of an array if it is an object,
// or 0.
func firstObject(text string) int {
	if text[0] != '[' {
		return 0
	}
	rest := strings.TrimLeft(text[1:], " \t\r\n")
	if rest == "" || rest[0] != '{' {
		return 0
	}
	return len(text) - len(rest)
}

// keep stores the rest of the input, which is the beginning of a value.
func (r *Reader) keep(text string, v valueScan) {
	in := &r.in
	_, end := doneLen(text)
	if end {
		text = strings.TrimRight(text, " \t\r\n")
	}
	m := &CutText{Text: []byte(text), scan: v}
	for _, at := range in.text.starts {
		if at > in.at && m.Alone == 0 {
			m.Alone = at - in.at
		}
	}
	r.Cut.JSON = m
	r.keepFrom(in.at)
	in.at = len(in.data)
}

func (r *Reader) openCut() {
	m, in := r.Cut.JSON, &r.in
	switch {
	case m.Plain || m.Skip:
		r.openPlain()
		return
	case m.unclear():
		r.join(m.Text, in.data)
		r.Cut.JSON = nil
		return
	}
	size := len(m.Text)
	alone := standsAlone(in.data)
	m.Text = append(m.Text, in.data...)
	switch status := m.scan.status(wire.Alias(m.Text), r.Formats); {
	case status != jsonscan.More || m.scan.list():
	case len(m.Text) > r.limit:
		r.Cut.JSON = &CutText{Skip: true}
		r.Wrong = r.tooLong()
		return
	default:
		if m.Alone == 0 && alone {
			m.Alone = size
		}
		r.goesOn(size)
		return
	}
	r.Cut.JSON = nil
	*in = input{data: wire.Alias(m.Text), framing: jsonText}
	in.text.before, in.text.starts = size, [2]int{m.Alone, size}
}

// unclear reports whether the text could also be the end of an OpenAI stream.
func (m *CutText) unclear() bool {
	_, cut := doneLen(wire.Alias(m.Text))
	return cut
}

// join makes the input the continuation of a few bytes of the last one, which alone
// do not show what they begin.
func (r *Reader) join(before []byte, data string) {
	r.in = input{data: string(before) + data}
	r.in.text.before = len(before)
	if standsAlone(data) || data != "" && nested(data) {
		r.in.text.starts[1] = len(before)
	}
	if r.in.framing = r.lines(r.in.data); r.in.framing == nothing {
		r.in.framing = jsonText
	}
}

func (r *Reader) openPlain() {
	m, in := r.Cut.JSON, &r.in
	r.Cut.JSON = nil
	if standsAlone(in.data) {
		r.openText()
		return
	}
	line, _, ended := strings.Cut(in.data, "\n")
	if !ended {
		r.Cut.JSON = m
	}
	in.framing = jsonText
	in.at = len(line)
	if text := wire.Trim(line); text != "" && !m.Skip {
		in.text.rest = text
	}
}

func standsAlone(data string) bool { return beginsField(data) != "" || beginsJSON(data) }

func (r *Reader) takeCut() {
	if r.Cut = r.state.Cut; r.Cut == nil {
		r.uncut = Cut{}
		r.Cut = &r.uncut
	}
}

func (r *Reader) keepCut() {
	switch {
	case r.Cut.empty():
		r.state.Cut = nil
	case r.Cut == &r.uncut:
		r.state.Cut = new(Cut)
		*r.state.Cut = r.uncut
		r.Cut = r.state.Cut
	}
	r.keepSince()
}
