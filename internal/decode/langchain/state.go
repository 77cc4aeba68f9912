package langchain

import (
	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

// interruptKey is the key under which updates and values tell that the graph
// waits for a person: [{"value":…,"id":"…"}], or [] at a breakpoint.
const interruptKey = "__interrupt__"

// langUpdates reads {node: update, …}, where an update is what a node wrote to
// the state, or a list of such.
func (r reader) langUpdates(ns string, payload jsonscan.Value) *wire.Problem {
	return r.langState(ns, payload, func(node jsonscan.Value) *wire.Problem {
		if !node.IsArray() {
			return r.langKeys(ns, node)
		}
		for e := node.Elements(); e.Next(); {
			if p := r.langKeys(ns, e.Value); p != nil {
				return p
			}
		}
		return nil
	})
}

// langValues reads the whole state.
func (r reader) langValues(ns string, payload jsonscan.Value) *wire.Problem {
	return r.langState(ns, payload, func(value jsonscan.Value) *wire.Problem { return r.langKey(ns, value) })
}

// langState reads each member of a payload, and the interrupts last.
func (r reader) langState(ns string, payload jsonscan.Value, read func(jsonscan.Value) *wire.Problem) (first *wire.Problem) {
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
		r.langInterrupts(ns, interrupts)
	}
	return first
}

// langKeys reads the keys of an update.
func (r reader) langKeys(ns string, update jsonscan.Value) (first *wire.Problem) {
	for m := update.Members(); m.Next(); {
		if p := r.langKey(ns, m.Value); p != nil && first == nil {
			first = p
		}
	}
	return first
}

// langKey reads what stands under one key of the state: messages, one message,
// or something that is none of our business.
func (r reader) langKey(ns string, value jsonscan.Value) (first *wire.Problem) {
	at := langPlace{ns: ns, repeated: true}
	if value.IsObject() && looksLangMessage(value) {
		return r.langMessage(at, value)
	}
	for e := value.Elements(); e.Next(); {
		if !e.Value.IsObject() || !looksLangMessage(e.Value) {
			continue
		}
		if p := r.langMessage(at, e.Value); p != nil && first == nil {
			first = p
		}
	}
	return first
}

// langInterrupts emits what the graph waits for. A subgraph that waits does
// not end the run: its siblings go on, and the root tells the end.
func (r reader) langInterrupts(ns string, list jsonscan.Value) {
	wait := chunks.Chunk{Kind: chunks.Await, Namespace: ns, Why: "interrupt"}
	n := r.Len()
	for e := list.Elements(); e.Next(); {
		r.langInterrupt(wait, e.Value)
	}
	if r.Len() == n {
		r.Emit(wait)
	}
	if ns == "" {
		r.Emit(chunks.Chunk{Kind: chunks.RunEnd, Status: "interrupted"})
	}
}

// langInterrupt reads {"value","id","ns"?}; the value is the application's own,
// and may say which call it is about.
func (r reader) langInterrupt(of chunks.Chunk, v jsonscan.Value) {
	for m := v.Members(); m.Next(); {
		switch m.Key {
		case "id", "interrupt_id":
			of.InterruptID = r.Text(m.Value)
		case "ns":
			if of.Namespace == "" {
				of.Namespace = r.langNamespace(m.Value)
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
