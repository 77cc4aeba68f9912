package framing

import "streamer/internal/stored"

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
