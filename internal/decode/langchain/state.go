package langchain

import (
	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

// interruptKey is the key of the interrupts in updates and values:
// [{"value":…,"id":"…"}], or [] at a breakpoint.
const interruptKey = "__interrupt__"

// updates reads {node: update, …}. An update is the part of the state that a node
// wrote, or a list of updates. In a graph whose state is a list of messages, an update
// is a message or a list of messages.
func (r reader) updates(ns string, payload jsonscan.Value) *wire.Problem {
	return r.stateMembers(ns, payload, func(node jsonscan.Value) *wire.Problem {
		if !node.IsArray() {
			return r.update(ns, node)
		}
		for e := node.Elements(); e.Next(); {
			if p := r.update(ns, e.Value); p != nil {
				return p
			}
		}
		return nil
	})
}

func (r reader) update(ns string, v jsonscan.Value) *wire.Problem {
	if v.IsObject() && looksLikeMessage(v) {
		return r.stateKey(ns, v)
	}
	return r.stateKeys(ns, v)
}

func (r reader) values(ns string, payload jsonscan.Value) *wire.Problem {
	n := r.Len()
	problem := r.stateMembers(ns, payload, func(value jsonscan.Value) *wire.Problem { return r.stateKey(ns, value) })
	r.snapshot(n)
	return problem
}

// snapshot marks the chunks after the first n as those of a whole state.
func (r reader) snapshot(n int) {
	for i := range r.Since(n) {
		c := &r.Since(n)[i]
		c.Snapshot = c.Repeated
	}
}

// stateMembers reads each member of a payload, and the interrupts last.
func (r reader) stateMembers(ns string, payload jsonscan.Value, read func(jsonscan.Value) *wire.Problem) (first *wire.Problem) {
	var interrupts jsonscan.Value
	for m := payload.Members(); m.Next(); {
		if m.Key == interruptKey {
			interrupts = m.Value
			continue
		}
		if p := read(m.Value); p != nil && first == nil {
			first = p
		}
	}
	if interrupts.IsArray() {
		r.interrupts(ns, interrupts)
	}
	return first
}

func (r reader) stateKeys(ns string, update jsonscan.Value) (first *wire.Problem) {
	for m := update.Members(); m.Next(); {
		if p := r.stateKey(ns, m.Value); p != nil && first == nil {
			first = p
		}
	}
	return first
}

// stateKey reads the value of one key of the state: messages, one message, or any
// other value, which is skipped.
func (r reader) stateKey(ns string, value jsonscan.Value) (first *wire.Problem) {
	at := place{ns: ns, repeated: true}
	if value.IsObject() && looksLikeMessage(value) {
		first = r.message(at, value)
		r.answer(ns, value)
		return first
	}
	r.unknownMessage(value)
	var last jsonscan.Value
	for e := value.Elements(); e.Next(); {
		if !e.Value.IsObject() || !looksLikeMessage(e.Value) {
			r.unknownMessage(e.Value)
			continue
		}
		last = e.Value
		if p := r.message(at, last); p != nil && first == nil {
			first = p
		}
	}
	r.answer(ns, last)
	return first
}

// unknownMessage reads an object in a state that may be a message of an unknown type.
func (r reader) unknownMessage(v jsonscan.Value) {
	if kind := v.Member("type"); kind.IsString() && v.Member("content").Present() {
		r.Unknown("message", kind.Str, v)
	}
}

// answer emits that the root graph has a message as its last one, if the message made
// no call. A subgraph may have sent the message before.
func (r reader) answer(ns string, last jsonscan.Value) {
	if ns != "" || !last.IsObject() {
		return
	}
	m := readMessage(last)
	if m.kind != kindAI && m.kind != kindAIChunk {
		return
	}
	if m.hasCalls() {
		return
	}
	if id := r.Text(m.id); id != "" {
		r.Emit(chunks.Chunk{Kind: chunks.Answer, Message: id})
	}
}

// interrupts emits the interrupts of a graph. An interrupt of a subgraph does not end
// the run, because its siblings continue. The root emits the end.
func (r reader) interrupts(ns string, list jsonscan.Value) {
	of := chunks.Chunk{Kind: chunks.Await, Namespace: ns, Why: "interrupt"}
	n := r.Len()
	for e := list.Elements(); e.Next(); {
		r.interrupt(of, e.Value)
	}
	if r.Len() == n {
		r.Emit(of)
	}
	if ns == "" {
		r.Emit(chunks.Chunk{Kind: chunks.RunEnd, Status: "interrupted"})
	}
}

// interrupt emits {"value","id","ns"?}. The application defines the value, which may
// name a call.
func (r reader) interrupt(of chunks.Chunk, v jsonscan.Value) {
	for m := v.Members(); m.Next(); {
		switch m.Key {
		case "id", "interrupt_id":
			of.InterruptID = r.Text(m.Value)
		case "ns":
			if of.Namespace == "" {
				of.Namespace = r.namespace(m.Value)
			}
		case "value":
			for w := m.Value.Members(); w.Next(); {
				if w.Key == "tool_call_id" || w.Key == "toolCallId" {
					of.ID = r.Text(w.Value)
				}
			}
		}
	}
	r.Emit(of)
}
