package chunks

import (
	"errors"
	"slices"
	"strings"
)

// Limits bound what an Assembler accepts.
type Limits struct {
	Calls     int // per message
	ArgsBytes int // per call
	NameBytes int // of an id or a name
}

// The errors of Assembler.Add. With an error the Assembler is as before the
// fragment, with two exceptions: after ErrArgs the call is Cut, and the
// continuation of a refused call is refused too.
var (
	ErrCalls = errors.New("chunks: too many calls in one message")
	ErrArgs  = errors.New("chunks: args of a call are too long")
	ErrName  = errors.New("chunks: id or name of a call is too long")
	// ErrRest: the fragment continues a call that was refused.
	ErrRest = errors.New("chunks: the rest of a call that was refused")
	// ErrStray: the fragment continues a call that never began.
	ErrStray = errors.New("chunks: bytes of a call that never began")
	// ErrEnd: bytes came for a call whose args are complete.
	ErrEnd = errors.New("chunks: bytes after the end of a call's args")
	// ErrClosed: bytes came for a call that was closed before its args were complete.
	ErrClosed = errors.New("chunks: bytes of a call that was closed")
)

// Assembler assembles the calls of one message and choice from fragments, in
// the order in which they come. The zero value is ready to use. Its rules follow
// what real providers send: an index is an opaque key; ids and names come late,
// twice or never; args may be sent again as a whole.
//
// S is what the caller keeps with each call, struct{} where that is nothing.
type Assembler[S any] struct {
	Calls []Call[S] // in order of their first fragments
	// Latest is the position in Calls of the call that the last fragment was for.
	Latest int
	// Refused: a call was refused last. A fragment that names no other call
	// continues it.
	Refused bool
	// RefusedAt are the indexes of the calls that were refused last, or their ids
	// where they have no index. A fragment without a name continues the call that
	// was refused there.
	RefusedAt []string
}

// Call is a call of an Assembler with the state that the caller keeps for it.
type Call[S any] struct {
	Assembly
	// State belongs to the caller. Add sets it to zero in a call that it opens,
	// and this package never reads it.
	State S
}

// Bounds of RefusedAt.
const (
	maxRefused    = 16
	maxRefusedLen = 1 << 10 // bytes of an id
)

// Add applies a fragment to its call. It returns the position of the call in
// Calls and reports whether the fragment opened it. With an error it returns the
// position of the call that the fragment was for, or -1 where there is none.
func (a *Assembler[S]) Add(f *Chunk, lim Limits) (pos int, opened bool, err error) {
	id, name := a.present(f.ID), a.present(f.Name)
	if len(id) > lim.NameBytes || len(name) > lim.NameBytes {
		a.Refuse(f)
		return -1, false, ErrName
	}
	if len(a.RefusedAt) > 0 && a.continuesRefused(f, id, name) {
		return -1, false, ErrRest
	}
	pos = a.find(f, id, name)
	if pos < 0 {
		if f.Stray() {
			return -1, false, ErrStray
		}
		if err := a.checkOpen(f, id, name, lim); err != nil {
			a.Refuse(f)
			return -1, false, err
		}
		a.grow()
		a.Calls = append(a.Calls, Call[S]{Assembly: Assembly{Index: strings.Clone(f.Index), Name: a.known(name)}})
		pos, opened = len(a.Calls)-1, true
	}
	if err := a.addTo(pos, f, id, name, lim); err != nil {
		return pos, false, err
	}
	return pos, opened, nil
}

// Confirm applies a fragment that repeats the whole call at a position.
func (a *Assembler[S]) Confirm(pos int, f *Chunk, lim Limits) error {
	if len(f.Name) > lim.NameBytes {
		a.Refuse(f)
		return ErrName
	}
	return a.addTo(pos, f, f.ID, a.present(f.Name), lim)
}

func (a *Assembler[S]) addTo(pos int, f *Chunk, id, name string, lim Limits) error {
	a.Latest = pos
	if err := a.Calls[pos].add(f, id, name, lim); err != nil {
		return err
	}
	a.Refused = a.Refused && id == "" && name == ""
	if name != "" && len(a.RefusedAt) > 0 { // the call takes the place of a refused one
		taken := place(f.Index, id)
		a.RefusedAt = slices.DeleteFunc(a.RefusedAt, func(p string) bool { return p == taken })
	}
	return nil
}

// grow makes room for one call, with an eighth to spare in a long list. The
// growth of append would leave more memory unused than the calls of many
// sessions can afford.
func (a *Assembler[S]) grow() {
	if n := len(a.Calls); n == cap(a.Calls) && n > 16 {
		a.Calls = append(make([]Call[S], 0, n+n/8), a.Calls...)
	}
}

// known returns name in memory that the latest call holds already, or "".
func (a *Assembler[S]) known(name string) string {
	if n := len(a.Calls); name != "" && n > 0 && a.Calls[n-1].Name == name {
		return a.Calls[n-1].Name
	}
	return ""
}

func (a *Assembler[S]) continuesRefused(f *Chunk, id, name string) bool {
	return name == "" && slices.Contains(a.RefusedAt, place(f.Index, id)) && (id == "" || a.ByID(id) < 0)
}

// Refuse records that the call that a fragment begins is refused. Fragments that
// continue it are not taken for another call.
func (a *Assembler[S]) Refuse(f *Chunk) { a.refuse(place(f.Index, f.ID)) }

func (a *Assembler[S]) refuse(place string) {
	a.Refused = true
	if place == "" || slices.Contains(a.RefusedAt, place) {
		return
	}
	if len(a.RefusedAt) == maxRefused {
		a.RefusedAt = slices.Delete(a.RefusedAt, 0, 1)
	}
	a.RefusedAt = append(a.RefusedAt, strings.Clone(place))
}

// place returns what the fragments of one call have in common: the index, or
// else the id.
func place(index, id string) string {
	if index != "" || id == "" {
		return index
	}
	return "id " + id[:min(len(id), maxRefusedLen)]
}

// checkOpen returns an error where a fragment must not open a call.
func (a *Assembler[S]) checkOpen(f *Chunk, id, name string, lim Limits) error {
	switch {
	case a.Refused && id == "" && name == "":
		return ErrRest
	case id == "" && name == "" && f.Index != "" && !f.Opens && a.building():
		return ErrStray // of one of several calls, on an index that none of them has
	case len(a.Calls) >= lim.Calls:
		return ErrCalls
	case len(f.Args) > lim.ArgsBytes:
		return ErrArgs
	}
	return nil
}

func (a *Assembler[S]) building() bool {
	for i := range a.Calls {
		if a.Calls[i].growing() {
			return true
		}
	}
	return false
}

// Drop removes the call that Add has just opened, and refuses its continuation.
func (a *Assembler[S]) Drop() {
	last := &a.Calls[len(a.Calls)-1]
	a.refuse(place(last.Index, last.ID))
	a.Calls = a.Calls[:len(a.Calls)-1]
	a.Latest = max(0, len(a.Calls)-1)
}

// ByID returns the position of the newest call with an id, or -1.
func (a *Assembler[S]) ByID(id string) int {
	for i := len(a.Calls) - 1; i >= 0; i-- {
		if a.Calls[i].ID == id {
			return i
		}
	}
	return -1
}

// ByIndex returns the position of the newest call on an index, or -1.
func (a *Assembler[S]) ByIndex(index string) int {
	for i := len(a.Calls) - 1; i >= 0; i-- {
		if a.Calls[i].Index == index {
			return i
		}
	}
	return -1
}

// present returns an id or a name, "" where it stands for none: it is blank, or
// it is the word null and the message has a call already.
func (a *Assembler[S]) present(s string) string {
	if s == "" || strings.TrimSpace(s) == "" || s == "null" && len(a.Calls) > 0 {
		return ""
	}
	return s
}

// ByPlace returns the position of the call that has the id and the index of a
// fragment or, where none has both, of the newest call with the id, or -1.
func (a *Assembler[S]) ByPlace(id, index string) int {
	newest := a.ByID(id)
	if newest < 0 || index == "" {
		return newest
	}
	for i := newest; i >= 0; i-- {
		if a.Calls[i].Index == index && a.Calls[i].ID == id {
			return i
		}
	}
	return newest
}

// find returns the position of the call that a fragment belongs to, or -1 where
// the fragment opens a call.
func (a *Assembler[S]) find(f *Chunk, id, name string) int {
	if id != "" {
		if i := a.ByPlace(id, f.Index); i >= 0 {
			if name != "" && a.Calls[i].reusedBy(f, name) {
				return -1
			}
			return i
		}
	}
	if f.Whole || f.Opens || len(a.Calls) == 0 {
		return -1
	}
	if a.Refused && id == "" && name == "" {
		if f.Index == "" {
			return -1
		}
		return a.ByIndex(f.Index)
	}
	if f.Index == "" {
		return a.unlessOther(a.Latest, f, id, name)
	}
	if i := a.ByIndex(f.Index); i >= 0 {
		return a.unlessOther(i, f, id, name)
	}
	if id == "" && name == "" && !f.Exact && a.drifts() {
		return a.Latest
	}
	return -1
}

// drifts reports whether a bare fragment on an unseen index belongs to the latest call:
// some servers let the index drift. That call is the only one whose args are to come,
// and none was closed on another index, whose late fragment it could be.
func (a *Assembler[S]) drifts() bool {
	for i := range a.Calls {
		if c := &a.Calls[i]; i != a.Latest && (c.growing() || c.Closed != NotClosed) {
			return false
		}
	}
	return a.Calls[a.Latest].growing()
}

// unlessOther returns i, or -1 where the fragment cannot belong to that call.
func (a *Assembler[S]) unlessOther(i int, f *Chunk, id, name string) int {
	c := &a.Calls[i]
	full := c.Full()
	switch {
	case c.Closed != NotClosed:
		// Only another id and a name are certainly not those of the closed call.
		if id != "" && c.ID != "" && id != c.ID && name != "" {
			return -1
		}
	case f.Exact && c.ID == "" && c.Name == "":
		return i
	// Some servers change the id in the middle of a call. A fragment that has
	// nothing but such an id does not begin another call.
	case id != "" && c.ID != "" && id != c.ID && (name != "" || full && strings.TrimSpace(f.Args) != ""):
		return -1
	case name != "" && full && (name != c.Name || id == "" && beginsValue(f.Args)):
		return -1
	}
	return i
}

func beginsValue(args string) bool {
	s := strings.TrimLeft(args, " \t\r\n")
	return s != "" && (s[0] == '{' || s[0] == '[' || s[0] == '"')
}
