package langchain

import (
	"cmp"

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
func (d *decoder) updates(w *wire.Writer, ns string, payload jsonscan.Value) *wire.Problem {
	return d.stateMembers(w, ns, payload, func(node jsonscan.Value) *wire.Problem {
		if !node.IsArray() {
			return d.update(w, ns, node)
		}
		for e := node.Elements(); e.Next(); {
			if p := d.update(w, ns, e.Value); p != nil {
				return p
			}
		}
		return nil
	})
}

func (d *decoder) update(w *wire.Writer, ns string, v jsonscan.Value) *wire.Problem {
	if v.IsObject() && looksLikeMessage(v) {
		return d.stateKey(w, ns, v)
	}
	return d.stateKeys(w, ns, v)
}

func (d *decoder) values(w *wire.Writer, ns string, payload jsonscan.Value) *wire.Problem {
	n := w.Len()
	problem := d.stateMembers(w, ns, payload, func(value jsonscan.Value) *wire.Problem { return d.stateKey(w, ns, value) })
	d.snapshot(w, n)
	return problem
}

// snapshot marks the chunks after the first n as those of a whole state.
func (d *decoder) snapshot(w *wire.Writer, n int) {
	for i := range w.Since(n) {
		c := &w.Since(n)[i]
		c.Snapshot = c.Repeated
	}
}

// stateMembers reads each member of a payload, and the interrupts last.
func (d *decoder) stateMembers(w *wire.Writer, ns string, payload jsonscan.Value, read func(jsonscan.Value) *wire.Problem) (first *wire.Problem) {
	var interrupts jsonscan.Value
	for m := payload.Members(); m.Next(); {
		if m.Key == interruptKey {
			interrupts = m.Value
			continue
		}
		first = cmp.Or(first, read(m.Value))
	}
	if interrupts.IsArray() {
		d.interrupts(w, ns, interrupts)
	}
	return first
}

func (d *decoder) stateKeys(w *wire.Writer, ns string, update jsonscan.Value) (first *wire.Problem) {
	for m := update.Members(); m.Next(); {
		first = cmp.Or(first, d.stateKey(w, ns, m.Value))
	}
	return first
}

// stateKey reads the value of one key of the state: messages, one message, or any
// other value, which is skipped.
func (d *decoder) stateKey(w *wire.Writer, ns string, value jsonscan.Value) (first *wire.Problem) {
	at := place{ns: ns, repeated: true}
	if value.IsObject() && looksLikeMessage(value) {
		first = d.message(w, at, value)
		d.answer(w, ns, value)
		return first
	}
	d.unknownMessage(w, value)
	var last jsonscan.Value
	for e := value.Elements(); e.Next(); {
		if !e.Value.IsObject() || !looksLikeMessage(e.Value) {
			d.unknownMessage(w, e.Value)
			continue
		}
		last = e.Value
		first = cmp.Or(first, d.message(w, at, last))
	}
	d.answer(w, ns, last)
	return first
}

func (d *decoder) unknownMessage(w *wire.Writer, v jsonscan.Value) {
	if kind := v.Member("type"); kind.IsString() && v.Member("content").Present() {
		w.Unknown("message", kind.Str, v)
	}
}

// answer emits that the root graph has a message as its last one, if the message made
// no call. A subgraph may have sent the message before.
func (d *decoder) answer(w *wire.Writer, ns string, last jsonscan.Value) {
	if ns != "" || !last.IsObject() {
		return
	}
	m := readMessage(last)
	if m.kind != kindAI && m.kind != kindAIChunk || m.hasCalls() {
		return
	}
	if id := w.Text(m.id); id != "" {
		w.Emit(chunks.Chunk{Kind: chunks.Answer, Message: id})
	}
}

// interrupts emits the interrupts of a graph. An interrupt of a subgraph does not end
// the run, because its siblings continue. The root emits the end.
func (d *decoder) interrupts(w *wire.Writer, ns string, list jsonscan.Value) {
	of := chunks.Chunk{Kind: chunks.Await, Namespace: ns, Why: "interrupt"}
	n := w.Len()
	for e := list.Elements(); e.Next(); {
		d.interrupt(w, of, e.Value)
	}
	if w.Len() == n {
		w.Emit(of)
	}
	if ns == "" {
		w.Emit(chunks.Chunk{Kind: chunks.RunEnd, Status: "interrupted"})
	}
}

// interrupt emits {"value","id","ns"?}. The application defines the value, which may
// name a call.
func (d *decoder) interrupt(w *wire.Writer, of chunks.Chunk, v jsonscan.Value) {
	var id, ns, value jsonscan.Value
	v.Read(value.From("value"), id.From("id"), id.From("interrupt_id"), ns.From("ns"))
	of.InterruptID, of.ID = w.Text(id), callIn(w, value)
	of.Namespace = cmp.Or(of.Namespace, d.namespace(w, ns))
	w.Emit(of)
}

// callIn returns the id of the call that an object names, or "".
func callIn(w *wire.Writer, v jsonscan.Value) string {
	var id jsonscan.Value
	v.Read(id.From("tool_call_id"), id.From("toolCallId"))
	return w.Text(id)
}
