package wire

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"unsafe"

	"streamer/internal/chunks"
	"streamer/internal/jsonscan"
)

// Writer collects the chunks of one frame. It owns the memory of the texts that
// are not part of the input. The zero value is ready to use. A Writer that is
// used again reuses its memory.
type Writer struct {
	chunks  []chunks.Chunk
	scratch []byte
	halves  bool // a text of the frame may hold half of a surrogate pair
	unread  *Problem
}

// maxScratch is the number of bytes of scratch memory that are kept for the
// next input.
const maxScratch = 1 << 20

// Reset begins an input. All texts and chunks of the last one become invalid.
func (w *Writer) Reset() {
	if cap(w.scratch) > maxScratch {
		w.scratch = nil
	}
	w.scratch = w.scratch[:0]
	w.Begin()
}

// Begin begins a frame. The chunks of the last one become invalid, and the
// texts stay valid.
func (w *Writer) Begin() { w.chunks, w.halves, w.unread = w.chunks[:0], false, nil }

// Emit appends a chunk.
func (w *Writer) Emit(c chunks.Chunk) { w.chunks = append(w.chunks, c) }

// EmitText appends a chunk with a text, unless the text is empty.
func (w *Writer) EmitText(c chunks.Chunk, text jsonscan.Value) {
	if c.Text = w.Text(text); c.Text != "" {
		w.Emit(c)
	}
}

// EmitCall appends a fragment, unless it has neither an id nor a name nor args.
func (w *Writer) EmitCall(c chunks.Chunk) {
	if c.ID != "" || c.Name != "" || c.Args != "" {
		w.Emit(c)
	}
}

// EmitWhole appends a fragment that completes its call, and the Seal of the call.
func (w *Writer) EmitWhole(c chunks.Chunk) {
	w.Emit(c)
	w.Emit(chunks.Chunk{Kind: chunks.Seal, Namespace: c.Namespace, Message: c.Message, Choice: c.Choice, Index: c.Index, ID: c.ID})
}

// EmitUsage appends the usage of a message, unless it is no object.
func (w *Writer) EmitUsage(of chunks.Chunk, usage jsonscan.Value) {
	if of.Kind, of.Usage = chunks.Usage, usage.Raw; usage.IsObject() {
		w.Emit(of)
	}
}

// EndBlock appends the end of a content block. A block of an unknown kind may be a call:
// a Seal without such a call has no effect.
func (w *Writer) EndBlock(message string, kind BlockKind, index jsonscan.Value) {
	switch kind {
	case NoBlock, CallBlock:
		w.Emit(chunks.Chunk{Kind: chunks.Seal, Message: message, Index: index.Raw})
	case PartBlock:
		w.Emit(chunks.Chunk{Kind: chunks.PartEnd, Message: message, Part: index.Int()})
	}
}

// Add appends a copy of a chunk and returns a pointer to it, which is valid until
// the next chunk is appended.
func (w *Writer) Add(c *chunks.Chunk) *chunks.Chunk {
	w.chunks = append(w.chunks, *c)
	return &w.chunks[len(w.chunks)-1]
}

// EmitBeforeLast inserts a chunk before the last one.
func (w *Writer) EmitBeforeLast(c chunks.Chunk) {
	w.chunks = slices.Insert(w.chunks, len(w.chunks)-1, c)
}

// Truncate removes the chunks after the first n.
func (w *Writer) Truncate(n int) { w.chunks = w.chunks[:n] }

// Len returns the number of chunks of the frame so far.
func (w *Writer) Len() int { return len(w.chunks) }

// Since returns the chunks after the first n. The caller may change them.
func (w *Writer) Since(n int) []chunks.Chunk { return w.chunks[n:] }

// Drop removes those of the chunks after the first n for which drop returns
// true.
func (w *Writer) Drop(n int, drop func(c *chunks.Chunk) bool) {
	kept := w.chunks[:n]
	for i := range w.chunks[n:] {
		if c := &w.chunks[n+i]; !drop(c) {
			kept = append(kept, *c)
		}
	}
	w.chunks = kept
}

// Chunks returns the chunks of the frame. They are valid until the next Begin,
// their texts until the next Reset.
//
// Only Args and Text continue in the next event, so half of a surrogate pair in
// any other text stays alone and is replaced here.
func (w *Writer) Chunks() []chunks.Chunk {
	if w.halves {
		replaceHalves(w.chunks)
		w.halves = false
	}
	return w.chunks
}

func replaceHalves(list []chunks.Chunk) {
	for i := range list {
		c := &list[i]
		for _, s := range [...]*string{
			&c.Namespace, &c.Message, &c.Role, &c.ID, &c.Call, &c.Name, &c.CallKind, &c.ParentCall,
			&c.Status, &c.Reason, &c.Why, &c.InterruptID, &c.Run,
		} {
			if strings.IndexByte(*s, 0xED) >= 0 {
				var j chunks.Joiner
				*s = j.Join(*s) + j.End()
			}
		}
	}
}

// Text returns the text of a JSON string, without copying where it has no
// escapes. An escaped surrogate without its partner becomes its three bytes of
// WTF-8. A number or boolean is returned as written. Null, an object, an array
// and a missing value return "".
func (w *Writer) Text(v jsonscan.Value) string {
	switch v.Kind {
	case jsonscan.String:
		if len(v.Raw) >= 2 {
			return w.Unquote(v.Raw[1 : len(v.Raw)-1])
		}
	case jsonscan.Number, jsonscan.True, jsonscan.False:
		return v.Raw
	}
	return ""
}

// Unquote returns the text of the inside of a JSON string, as Text does.
func (w *Writer) Unquote(inside string) string {
	first := strings.IndexByte(inside, '\\')
	if first < 0 {
		return inside
	}
	start := len(w.scratch)
	w.scratch = append(w.scratch, inside[:first]...)
	w.scratch = jsonscan.AppendUnquoted(w.scratch, inside[first:])
	w.halves = w.halves || bytes.IndexByte(w.scratch[start:], 0xED) >= 0
	// Texts returned earlier stay valid: scratch only grows until Reset.
	return Alias(w.scratch[start:])
}

// Compact returns a valid JSON text without the white space between its tokens.
// It copies only where there is some.
func (w *Writer) Compact(raw string) string {
	start, changed := len(w.scratch), false
	if w.scratch, changed = jsonscan.AppendCompact(w.scratch, raw); !changed {
		return raw
	}
	return Alias(w.scratch[start:])
}

// Join returns the concatenation of strings.
func (w *Writer) Join(parts ...string) string {
	start := len(w.scratch)
	for _, s := range parts {
		w.scratch = append(w.scratch, s...)
	}
	return Alias(w.scratch[start:])
}

// Build returns the text that a function appends to dst.
func (w *Writer) Build(appendTo func(dst []byte) []byte) string {
	start := len(w.scratch)
	w.scratch = appendTo(w.scratch)
	return Alias(w.scratch[start:])
}

// Object returns an object with those of the members that are present. Their keys need no
// escapes.
func (w *Writer) Object(members ...Member) string {
	return w.Compact(w.Build(func(dst []byte) []byte {
		dst = append(dst, '{')
		for _, m := range members {
			if m.Value.Present() {
				dst = append(AppendKey(dst, `"`+m.Key+`"`), m.Value.Raw...)
			}
		}
		return append(dst, '}')
	}))
}

// AppendMember appends the current member of a Cursor to an object that begins
// in dst.
func AppendMember(dst []byte, m *jsonscan.Cursor) []byte {
	return append(AppendKey(dst, m.RawKey), m.Value.Raw...)
}

// AppendKey appends a quoted key and its colon to an object that begins in dst.
func AppendKey(dst []byte, rawKey string) []byte {
	if dst[len(dst)-1] != '{' {
		dst = append(dst, ',')
	}
	return append(append(dst, rawKey...), ':')
}

// FailureText returns the message of a provider's error, which is a string or
// an object with a message, a type or a code.
func (w *Writer) FailureText(v jsonscan.Value) string {
	if !v.IsObject() {
		return w.Text(v)
	}
	var message, kind, code jsonscan.Value
	v.Read(message.From("message"), kind.From("type"), code.From("code"))
	return cmp.Or(w.Text(message), w.Text(kind), w.Text(code), v.Raw)
}

// StartRun emits the start of the run of a program. A run that is open has ended without a
// result, because the program was killed.
func (w *Writer) StartRun(open bool) {
	if open {
		w.Emit(chunks.Chunk{Kind: chunks.RunEnd, Status: "error", Text: "the program ended without a result"})
	}
	w.Emit(chunks.Chunk{Kind: chunks.RunStart, Explicit: true})
}

// StartMessage emits the start of a message. One that is open ends with it: the wire has
// no ends of messages, and the program keeps both.
func (w *Writer) StartMessage(open bool, c chunks.Chunk) {
	if c.Kind = chunks.Finish; open {
		w.Emit(c)
	}
	c.Kind, c.Role, c.Fresh = chunks.Start, "assistant", true
	w.Emit(c)
}

// FailRun emits a failure that ends a message and the run. A run begins where none
// is open, so that an error before all content causes events too.
func (w *Writer) FailRun(message, text string) {
	w.Emit(chunks.Chunk{Kind: chunks.RunStart})
	w.Emit(chunks.Chunk{Kind: chunks.Failure, Message: message, Text: text})
	w.Emit(chunks.Chunk{Kind: chunks.RunEnd, Status: "error", Text: text})
}

// The bounds of what a Decoder keeps of a message.
const (
	MaxUsage = 4 << 10 // bytes of raw usage
	MaxID    = 1 << 10 // bytes of an id
)

// Keep returns a copy of an id, or of the text of a failure, for the state of a Decoder.
// One longer than MaxID is cut.
func Keep(id string) string { return strings.Clone(id[:min(len(id), MaxID)]) }

// Alias returns the bytes of b as a string without copying them. The bytes must
// not change while the string is in use.
func Alias(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
