// Package wire holds what the formats of package decode share: their
// interface, the frames they read, the Writer they emit chunks with, and the
// shapes of calls and results that several providers use.
package wire

import (
	"slices"
	"strings"

	"streamer/internal/jsonscan"
	"streamer/internal/stored"
)

// Format is the stream format of one provider. Its functions have no side effects.
type Format struct {
	Name  string // the value of the header Streamer-Format
	Shape string // the history shape of synthetic results
	// Keys are names of which each frame has at least one that Claims claims surely or
	// perhaps: as the key of a member of its JSON, or as its own name. They rule out most
	// other events at once. If nil, none is ruled out.
	Keys []string
	// Claims reports whether a frame can be of this format.
	Claims func(f Frame) Claim
	// New returns a Decoder without state.
	New func() Decoder
	// Console states that a stream is the output of a terminal program. Lines of plain text
	// between its events are skipped, because logs often join the error output with it.
	Console bool
	// FindSlots finds the slots of a frame that was decoded to a text or a piece of args, or
	// is nil. A delta that differs from an earlier one in these values alone is not decoded
	// again; its chunk is that of the earlier one with its own values. A start of the same
	// message may precede the text where the Decoder is no Filler, and the usage may follow
	// it where Usage was called. The note is stored with the template. FindSlots returns
	// false where a frame that differs in the slots alone could decode to anything else.
	FindSlots func(s *SlotFinder, f Frame, at Place) (note uint8, ok bool)
	// Shared is the name of the format whose Decoder has the state of this one too, if there
	// is one. View returns a Decoder of this format that uses the state of d.
	Shared string
	View   func(d Decoder) Decoder
}

// Decoder reads the frames of one format in one session and owns the state that
// this needs. It is a pointer to a struct whose exported fields are that state:
// they are stored with the session and loaded into the value that New returned. The
// size of the state is bounded.
type Decoder interface {
	// Fields visits the members of the stored form of the state.
	Fields(f *stored.Fields)
	// Decode emits the chunks of a frame. A Problem describes the part of the frame
	// that was not used. The caller sets its Offset and Line.
	Decode(w *Writer, f Frame) *Problem
}

// Copy returns a copy of a Decoder of the format. The two share nothing that changes.
func (f *Format) Copy(d Decoder) (Decoder, error) {
	fields := func(d *Decoder, f *stored.Fields) { (*d).Fields(f) }
	c := f.New()
	return c, stored.Load(stored.Append(nil, &d, fields), &c, fields)
}

// Claim is the answer of a Format to whether a frame can be its own.
type Claim uint8

// The claims.
const (
	No        Claim = iota
	IfNoOther       // only if the stream is known to be of this format, and no other format surely has such a frame
	IfKnown         // only if the stream is known to be of this format
	Perhaps         // the frame has too few members to decide
	Surely          // no other format has such a frame
)

// SurelyIf returns Surely if a frame has what no other format has, and otherwise the
// other claim.
func SurelyIf(has bool, other Claim) Claim {
	if has {
		return Surely
	}
	return other
}

// Frame is one stream event.
type Frame struct {
	Name   string // of an SSE event, "" where there is none
	JSON   jsonscan.Value
	Done   bool // the literal [DONE]; JSON is empty
	Opened bool // the JSON was packed in {"bytes":…} of Bedrock

	scan *Scan // see Share
}

// TypeOf returns the member "type" of an object, or "".
func TypeOf(v jsonscan.Value) string {
	for m := v.Members(); m.Next(); {
		if m.Key == "type" {
			return m.Value.Str
		}
	}
	return ""
}

// HasAnyPrefix reports whether a name begins with one of the prefixes.
func HasAnyPrefix(name string, prefixes ...string) bool {
	return slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

// IsNamespace reports whether v is a namespace of LangGraph: a list of strings,
// which is empty at the root.
func IsNamespace(v jsonscan.Value) bool {
	if !v.IsArray() {
		return false
	}
	for e := v.Elements(); e.Next(); {
		if !e.Value.IsString() {
			return false
		}
	}
	return true
}

// BlockKind is the kind of a content block, by the meaning of its end.
type BlockKind uint8

// The kinds of blocks.
const (
	NoBlock BlockKind = iota
	CallBlock
	PartBlock  // text or thinking
	OtherBlock // a result, or an unknown block
)

// MakeRoom returns a list without its oldest elements, so that one can be
// appended within the limit.
func MakeRoom[T any](list []T, limit int) []T {
	if len(list) < limit {
		return list
	}
	return slices.Delete(list, 0, len(list)-limit+1)
}
