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
	r.Cut.JSON = &CutText{Text: []byte(text), Alone: max(0, in.nextAlone()-in.at), scan: v}
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

// Since has the inputs of the text that was cut, the first ones if there are many.
type Since struct {
	Begins []Begin
}

func (s *Since) fields(f *stored.Fields) { stored.List(f, "b", &s.Begins, (*Begin).fields) }

// Begin is the beginning of an input in text that was cut.
type Begin struct {
	At    int    // offset in the text
	Input uint64 // sequence
}

func (b *Begin) fields(f *stored.Fields) {
	stored.Number(f, "a", &b.At)
	stored.Number(f, "i", &b.Input)
}

// maxBegins is the number of inputs of one text whose beginnings are kept.
const maxBegins = 64

// since are the inputs of the text that the inputs before cut.
type since struct {
	begins []Begin
	read   bool // an event of this input was read
	kept   bool // begins are those of the text that this input cuts
}

// InputAt returns the sequence of the input in which the text at an offset begins. The
// first event of an input that continues an event of SSE begins in an earlier one.
func (r *Reader) InputAt(offset int) uint64 {
	first := !r.since.read
	r.since.read = true
	before := r.in.text.before
	if !r.in.text.last && (before > 0 && offset >= before || before == 0 && !first) {
		return r.Input
	}
	input := r.Input
	for i, b := range r.since.begins {
		if i == 0 || b.At <= offset {
			input = b.Input
		}
	}
	return input
}

// goesOn records that the input continues text that has size bytes, and cuts it too.
func (r *Reader) goesOn(size int) {
	s := &r.since
	if s.kept = true; len(s.begins) < maxBegins {
		s.begins = append(s.begins, Begin{size, r.Input})
	}
}

// keepFrom records that the input cuts the text from an offset on.
func (r *Reader) keepFrom(offset int) {
	kept := []Begin{{0, r.InputAt(offset)}}
	for _, b := range append(r.since.begins, Begin{r.in.text.before, r.Input}) {
		if b.At > offset && len(kept) < maxBegins {
			kept = append(kept, Begin{b.At - offset, b.Input})
		}
	}
	r.since.begins, r.since.kept = kept, true
}

func (r *Reader) keepSince() {
	s := &r.since
	switch {
	case !r.state.cutText():
		r.state.Since = nil
	case s.kept || !s.read && len(s.begins) > 0:
		r.state.since(s.begins)
	default:
		r.state.since([]Begin{{0, r.Input}})
	}
}

func (s *State) since(begins []Begin) {
	if s.Since == nil {
		s.Since = new(Since)
	}
	s.Since.Begins = begins
}

// State is the text that was cut between two inputs. The zero value is ready to use.
type State struct {
	SSE   *SSE   // nil unless an event of SSE was cut: there may be many sessions
	Cut   *Cut   // nil unless other text was cut
	Since *Since // nil unless text was cut
}

// Fields visits the members of the stored form.
func (s *State) Fields(f *stored.Fields) {
	stored.Pointer(f, "s", &s.SSE, (*SSE).fields)
	stored.Pointer(f, "c", &s.Cut, (*Cut).fields)
	stored.Pointer(f, "b", &s.Since, (*Since).fields)
}

// Pending reports whether the last input ended inside an event, or plain text waits for
// the format.
func (s *State) Pending() bool { return s.cutText() || s.Cut != nil && len(s.Cut.Early) > 0 }

func (s *State) cutText() bool {
	c := s.Cut
	return s.SSE != nil && s.SSE.Has || c != nil && (c.JSON != nil && len(c.JSON.Text) > 0 || c.Code != nil || c.Frame != nil)
}
