package wire

import (
	"slices"
	"strconv"
	"strings"

	"streamer/internal/chunks"
	"streamer/internal/jsonscan"
)

// Slot is the meaning of a value that may differ between two deltas which are
// otherwise the same bytes.
type Slot uint8

// The slots.
const (
	NoSlot        Slot = iota
	Unread             // the decoder does not read it: any scalar
	UsageCount         // a number in the usage
	ArgsCopy           // a copy of the args, which the decoder does not read while there are args
	ArgsSlot           // becomes Args of the chunk
	RawArgsSlot        // becomes its Args as written, with the escapes
	TextSlot           // becomes its Text
	MessageSlot        // the id of the message
	NamespaceSlot      // the namespace of the message
	CallSlot           // becomes ID of the chunk; Fill may read it as another id
	RunSlot            // becomes Run of the chunk; Fill may read it as another id
	IndexSlot          // the raw index of the call, which a text does not have
	BlockSlot          // a number: the raw index of the call, or the number of a content part
	UsageStart         // the place where the usage begins
	UsageSlot          // the end of the usage, which becomes Usage of the next chunk
	NumSlots           // the number of slots
)

// Filler is implemented by a Decoder whose chunks depend on its state.
type Filler interface {
	// Fill completes the chunk of a frame that was not decoded, and changes the
	// state as Decode would. The chunk is the last one in w and has the values
	// of the slots, the usage of the frame too; the message and the id of the call
	// are "" where there is no slot for them. In a state in which Decode would not emit exactly this
	// chunk, Fill changes nothing but the chunk and returns false.
	Fill(w *Writer, note uint8, c *chunks.Chunk) bool
}

// Slots are the paths at which the events of a format have slots, by the slot. Walk
// describes paths.
type Slots [NumSlots][]string

// At returns the slot at a path.
func (t *Slots) At(path string) Slot {
	for slot, paths := range t {
		if slices.Contains(paths, path) {
			return Slot(slot)
		}
	}
	return NoSlot
}

// Of returns the function that finds the slots in events of the types, or in all events
// if none is given.
func (t Slots) Of(types ...string) func(s *SlotFinder, f Frame, at Place) (note uint8, ok bool) {
	return func(s *SlotFinder, f Frame, at Place) (note uint8, ok bool) {
		if len(types) > 0 && !slices.Contains(types, f.Type()) {
			return 0, false
		}
		s.Walk(at, t.At)
		return 0, true
	}
}

// Place is a value and its offset in the text of the event.
type Place struct {
	jsonscan.Value
	At int
}

// FoundSlot is a slot of an event: the digits of a number, or the inside of a
// string.
type FoundSlot struct {
	From, To int
	Slot     Slot
	Number   bool
}

// SlotFinder finds the slots of an event. The zero value needs a Reset. A SlotFinder that
// is used again reuses its memory.
type SlotFinder struct {
	event   string
	found   []FoundSlot
	fields  []Field // of all objects that were visited
	path    []byte  // of Walk
	unclear bool
}

// Field is a member of an object.
type Field struct {
	Key string
	Place
}

// Fields are the members of an object.
type Fields []Field

// Get returns the member with a key.
func (l Fields) Get(key string) (p Place) {
	for i := range l {
		if l[i].Key == key {
			return l[i].Place
		}
	}
	return p
}

// maxMembers bounds the members of one object of a template.
const maxMembers = 64

// Reset begins another event with its text. The slots of the last one become invalid.
func (s *SlotFinder) Reset(event string) {
	clear(s.fields) // they would keep the last event in memory
	*s = SlotFinder{event: event, found: s.found[:0], fields: s.fields[:0], path: s.path[:0]}
}

// Found returns the slots in the order of the event. It reports whether a
// template can be made of them: each slot that has a value occurs once, and
// there is either a text or args.
func (s *SlotFinder) Found() ([]FoundSlot, bool) {
	var n [NumSlots]int
	for _, f := range s.found {
		n[f.Slot]++
	}
	for slot := ArgsSlot; slot < NumSlots; slot++ {
		if n[slot] > 1 {
			return nil, false
		}
	}
	if s.unclear || n[ArgsSlot]+n[RawArgsSlot]+n[TextSlot] != 1 || n[ArgsCopy] > 0 && n[ArgsSlot] == 0 {
		return nil, false
	}
	slices.SortFunc(s.found, func(a, b FoundSlot) int { return a.From - b.From })
	return s.found, true
}

// Usage adds the slots of a usage that becomes a chunk of its own after the text.
func (s *SlotFinder) Usage(v Place) {
	if !v.IsObject() {
		return
	}
	end := v.At + len(v.Raw)
	s.found = append(s.found, FoundSlot{v.At, v.At, UsageStart, false}, FoundSlot{end, end, UsageSlot, false})
	s.Walk(v, func(string) Slot { return UsageCount })
}

// Has reports whether a slot was found.
func (s *SlotFinder) Has(slot Slot) bool {
	return slices.ContainsFunc(s.found, func(f FoundSlot) bool { return f.Slot == slot })
}

// Members returns the members of an object. An object with a repeated key has
// no template.
func (s *SlotFinder) Members(v Place) Fields {
	start := len(s.fields)
	for m := v.Members(); m.Next(); {
		list := Fields(s.fields[start:])
		// Which of two members of the same name counts depends on the decoder.
		if list.Get(m.Key).Raw != "" || len(list) == maxMembers {
			s.unclear = true
			break
		}
		s.fields = append(s.fields, Field{m.Key, Place{m.Value, v.At + m.Offset()}})
	}
	return s.fields[start:len(s.fields):len(s.fields)]
}

// Elements returns the elements of an array.
func (s *SlotFinder) Elements(v Place) (list []Place) {
	for e := v.Elements(); e.Next(); {
		list = append(list, Place{e.Value, v.At + e.Offset()})
	}
	return list
}

// Walk adds the slots in a value. A path consists of keys joined by dots, with a
// star for the elements of an array. It is valid until slot returns.
func (s *SlotFinder) Walk(v Place, slot func(path string) Slot) {
	switch {
	case v.IsObject():
		for _, f := range s.Members(v) {
			if !strings.ContainsAny(f.Key, ".*") { // it would be mistaken for a path
				s.walkTo(f.Key, f.Place, slot)
			}
		}
	case v.IsArray():
		for e := v.Elements(); e.Next(); {
			s.walkTo("*", Place{e.Value, v.At + e.Offset()}, slot)
		}
	default:
		s.Add(v, slot(Alias(s.path)))
	}
}

func (s *SlotFinder) walkTo(key string, v Place, slot func(path string) Slot) {
	n := len(s.path)
	if n > 0 {
		s.path = append(s.path, '.')
	}
	s.path = append(s.path, key...)
	s.Walk(v, slot)
	s.path = s.path[:n]
}

// Add adds a slot where v is a value that it can have.
func (s *SlotFinder) Add(v Place, slot Slot) {
	end := v.At + len(v.Raw)
	switch {
	case slot == NoSlot:
	case v.IsString() && (slot == Unread || len(v.Raw) > 2 && slot != BlockSlot && slot != UsageCount):
		s.found = append(s.found, FoundSlot{v.At + 1, end - 1, slot, false})
	case v.Kind == jsonscan.Number && (slot == IndexSlot || slot == BlockSlot || slot == Unread || slot == UsageCount) && DigitsEnd(s.event, v.At) == end:
		s.found = append(s.found, FoundSlot{v.At, end, slot, true})
	}
}

// IsIndex reports whether raw is the decimal number n.
func IsIndex(raw string, n int) bool {
	var digits [20]byte
	return string(strconv.AppendInt(digits[:0], int64(n), 10)) == raw
}

// DigitsEnd returns the end of the decimal number without sign that begins at
// i, or -1.
func DigitsEnd(s string, i int) int {
	start := i
	for i < len(s) && s[i] >= '0' && s[i] <= '9' {
		i++
	}
	if i == start || s[start] == '0' && i > start+1 {
		return -1
	}
	return i
}
