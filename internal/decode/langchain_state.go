package decode

import (
	"streamer/internal/chunks"

	"github.com/tidwall/gjson"
)

// interruptKey is the key under which updates and values tell that the graph
// waits for a person: [{"value":…,"id":"…"}], or [] at a breakpoint.
const interruptKey = "__interrupt__"

// langUpdates reads {node: update, …}, where an update is what a node wrote to
// the state, or a list of such.
func (r *Reader) langUpdates(ns string, payload gjson.Result) *Problem {
	return r.langState(ns, payload, func(node gjson.Result) *Problem {
		if !isArray(node) {
			return r.langKeys(ns, node)
		}
		for e := elements(node); e.next(); {
			if p := r.langKeys(ns, e.value); p != nil {
				return p
			}
		}
		return nil
	})
}

// langValues reads the whole state.
func (r *Reader) langValues(ns string, payload gjson.Result) *Problem {
	return r.langState(ns, payload, func(value gjson.Result) *Problem { return r.langKey(ns, value) })
}

// langState reads each member of a payload, and the interrupts last.
func (r *Reader) langState(ns string, payload gjson.Result, read func(gjson.Result) *Problem) (first *Problem) {
	var interrupts gjson.Result
	for m := members(payload); m.next(); {
		if m.key == interruptKey {
			interrupts = m.value
			continue
		}
		if p := read(m.value); p != nil && first == nil {
			first = p
		}
	}
	if isArray(interrupts) {
		r.langInterrupts(ns, interrupts)
	}
	return first
}

// langKeys reads the keys of an update.
func (r *Reader) langKeys(ns string, update gjson.Result) (first *Problem) {
	for m := members(update); m.next(); {
		if p := r.langKey(ns, m.value); p != nil && first == nil {
			first = p
		}
	}
	return first
}

// langKey reads what stands under one key of the state: messages, one message,
// or something that is none of our business.
func (r *Reader) langKey(ns string, value gjson.Result) (first *Problem) {
	at := langPlace{ns: ns, repeated: true}
	if isObject(value) && looksLangMessage(value) {
		return r.langMessage(at, value)
	}
	for e := elements(value); e.next(); {
		if !isObject(e.value) || !looksLangMessage(e.value) {
			continue
		}
		if p := r.langMessage(at, e.value); p != nil && first == nil {
			first = p
		}
	}
	return first
}

// langInterrupts emits what the graph waits for. A subgraph that waits does
// not end the run: its siblings go on, and the root tells the end.
func (r *Reader) langInterrupts(ns string, list gjson.Result) {
	wait := chunks.Chunk{Kind: chunks.Await, Namespace: ns, Why: "interrupt"}
	n := len(r.out)
	for e := elements(list); e.next(); {
		r.langInterrupt(wait, e.value)
	}
	if len(r.out) == n {
		r.emit(wait)
	}
	if ns == "" {
		r.emit(chunks.Chunk{Kind: chunks.RunEnd, Status: "interrupted"})
	}
}

// langInterrupt reads {"value","id","ns"?}; the value is the application's own,
// and may say which call it is about.
func (r *Reader) langInterrupt(of chunks.Chunk, v gjson.Result) {
	for m := members(v); m.next(); {
		switch m.key {
		case "id", "interrupt_id":
			of.InterruptID = r.text(m.value)
		case "ns":
			if of.Namespace == "" {
				of.Namespace = r.langNamespace(m.value)
			}
		case "value":
			for w := members(m.value); w.next(); {
				if w.key == "tool_call_id" || w.key == "toolCallId" {
					of.ID = r.text(w.value)
				}
			}
		}
	}
	r.emit(of)
}
