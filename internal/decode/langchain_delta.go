package decode

import (
	"streamer/internal/chunks"

	"github.com/tidwall/gjson"
)

// langDelta emits a piece of an AI message. Its tool_calls are what a
// best-effort parse makes of that piece alone, and count only where there is
// no member tool_call_chunks.
func (r *Reader) langDelta(ns string, m *langFields) {
	end := r.langEnding(m)
	of := chunks.Chunk{Namespace: ns, Choice: end.choice}
	var was string
	if of.Message, was = partOf(&r.mem.LangChain).stream(ns, r.text(m.id), langSays(m, end)); was != "" {
		r.emit(chunks.Chunk{Kind: chunks.Rename, Namespace: ns, Message: of.Message, ID: was})
	}

	pieces := elements(m.pieces)
	some := pieces.next()
	r.langContent(of, m.content, langReading{text: true, calls: !some})
	if thoughts := r.text(end.thoughts); thoughts != "" {
		c := of
		c.Kind, c.Text = chunks.Reasoning, thoughts
		r.emit(c)
	}
	for ; some; some = pieces.next() {
		r.langPiece(of, pieces.value)
	}
	if !isArray(m.pieces) {
		of := of
		of.Whole = true
		r.langCalls(of, m.calls)
	}
	if isObject(m.usage) {
		m.usage = valueOf(r.langUsage(of.Namespace, of.Message, m.usage))
	}
	r.langFinish(of, end, m.usage)
}

// langFinish emits the end of a message, and its usage behind it.
func (r *Reader) langFinish(of chunks.Chunk, end langEnd, usage gjson.Result) {
	if end.over {
		r.emit(chunks.Chunk{
			Kind: chunks.Finish, Namespace: of.Namespace, Message: of.Message, Choice: of.Choice,
			Reason: end.reason, Truncated: end.truncated, Repeated: of.Repeated,
		})
	}
	if isObject(usage) {
		r.emit(chunks.Chunk{
			Kind: chunks.Usage, Namespace: of.Namespace, Message: of.Message, Choice: of.Choice,
			Usage: usage.Raw, Repeated: of.Repeated,
		})
	}
}

// langPiece emits {"index","id","name","args"}, an entry of tool_call_chunks.
// One that says nothing at all is none.
func (r *Reader) langPiece(of chunks.Chunk, piece gjson.Result) {
	of.Kind = chunks.Fragment
	for m := members(piece); m.next(); {
		switch m.key {
		case "index":
			if present(m.value) {
				of.Index = m.value.Raw
			}
		case "id":
			of.ID = r.text(m.value)
		case "name":
			of.Name = r.text(m.value)
		case "args":
			if m.value.Type == gjson.JSON {
				of.Object, of.Args = true, r.compact(m.value.Raw)
			} else {
				of.Args = r.text(m.value)
			}
		}
	}
	if of.ID != "" || of.Name != "" || of.Args != "" {
		r.emit(of)
	}
}

// langSays sums up what a piece of a message says, for the memory of ids.
func langSays(m *langFields, end langEnd) langSaid {
	said := langSaid{ends: end.over}
	for e := elements(m.pieces); e.next(); {
		said.calls = true
		if isString(member(e.value, "id")) || isString(member(e.value, "name")) {
			said.opens = true
		}
	}
	said.text = isString(m.content) && len(m.content.Raw) > 2
	if e := elements(m.content); e.next() {
		said.text = true
	}
	return said
}
