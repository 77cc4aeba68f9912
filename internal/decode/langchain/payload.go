package langchain

import (
	"strings"

	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

// A graph that is streamed in one mode yields payloads without the name of the mode.

type payloadKind uint8

const (
	otherPayload  payloadKind = iota // of custom, debug, tasks or checkpoints, or without messages
	valuesPayload                    // the state
	updatePayload                    // {node: update, …}
)

// payload reads the payload of a mode that is not named. A payload without messages
// and without interrupts is skipped.
func (d *decoder) payload(w *wire.Writer, ns string, f wire.Frame) *wire.Problem {
	if f.JSON.IsArray() {
		return d.listPayload(w, ns, f.JSON)
	}
	if isMessage(f) {
		d.Messages.Live = true
		return d.message(w, place{ns: ns}, f.JSON)
	}
	switch kind, _ := payloadOf(f); kind {
	case valuesPayload:
		return d.values(w, ns, f.JSON)
	case updatePayload:
		return d.updates(w, ns, f.JSON)
	}
	if !retells(f) {
		w.Unknown("payload", f.Type(), f.JSON)
	}
	return nil
}

// retells reports whether a payload is of the mode debug, tasks, checkpoints or tools,
// whose calls are in messages too.
func retells(f wire.Frame) bool {
	for m := f.Members(); m.Next(); {
		switch m.Key {
		case "type":
			switch m.Value.Str {
			case "checkpoint", "task", "task_result":
				return true
			}
		case "triggers", "interrupts", "parent_config", "parentConfig":
			return true
		case "event":
			return strings.HasPrefix(m.Value.Str, "on_tool_")
		}
	}
	return false
}

// listPayload reads [message, metadata], or a state that is a list of messages.
func (d *decoder) listPayload(w *wire.Writer, ns string, list jsonscan.Value) *wire.Problem {
	e := list.Elements()
	if !e.Next() || !e.Value.IsObject() || !looksLikeMessage(e.Value) {
		return nil
	}
	if e.Next() && !looksLikeMessage(e.Value) {
		return d.messageMode(w, ns, list)
	}
	n := w.Len()
	problem := d.stateKey(w, ns, list)
	d.snapshot(w, n)
	return problem
}

// payloadOf returns the kind of an object that is not a message. sure states that no
// other format has such an object.
func payloadOf(f wire.Frame) (kind payloadKind, sure bool) {
	var scalars, interrupted bool
	checkpoint := 0 // the number of members that only a checkpoint has
	for m := f.Members(); m.Next(); {
		switch m.Key {
		case interruptKey:
			interrupted = interrupted || m.Value.IsArray()
			continue
		case "config", "next", "parent_config", "parentConfig":
			checkpoint++
		}
		if some, own := messageList(m.Value); some {
			return valuesPayload, own
		}
		if scalars = scalars || m.Value.Present() && !m.Value.IsNested(); scalars {
			continue // it is not {node: update, …}
		}
		if some, own := updateMessages(m.Value); some {
			kind, sure = updatePayload, sure || own
		}
	}
	switch {
	case interrupted && scalars:
		return valuesPayload, true
	case interrupted:
		return updatePayload, true
	case scalars || checkpoint > 1: // a task, or an event of debug
		return otherPayload, false
	}
	return kind, sure
}

// messageList reports whether v is a list of messages, and whether its first message
// is surely one of LangChain.
func messageList(v jsonscan.Value) (some, own bool) {
	for e := v.Elements(); e.Next(); {
		if e.Value.IsObject() {
			return messageOf(e.Value)
		}
	}
	return false, false
}

// updateMessages reports whether the update of a node, or a list of updates, has a
// message, and whether that is surely one of LangChain.
func updateMessages(v jsonscan.Value) (some, own bool) {
	for e := v.Elements(); e.Next() && !some; {
		if e.Value.IsObject() {
			some, own = updateMessages(e.Value)
		}
	}
	if !v.IsObject() {
		return some, own
	}
	if some, own = messageOf(v); some {
		return some, own
	}
	for m := v.Members(); m.Next() && !some; {
		if some, own = messageList(m.Value); !some && m.Value.IsObject() {
			some, own = messageOf(m.Value)
		}
	}
	return some, own
}
