package agui

import (
	"slices"

	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
)

// closeChunks ends the texts and calls that came in chunks, unless the event
// continues them or is not part of the conversation.
func (r frame) closeChunks(e *event) {
	if !ofConversation(e.kind) {
		return
	}
	id := r.Text(e.message)
	if e.kind == "TOOL_CALL_CHUNK" {
		id = r.Text(e.call)
	}
	r.d.Items = slices.DeleteFunc(r.d.Items, func(i Item) bool {
		if !i.Chunk || i.Namespace != r.ns || i.Kind.chunk() == e.kind && sameID(i.ID, id) {
			return false
		}
		r.end(i)
		return true
	})
}

// ofConversation reports whether events of a type are part of the conversation. Those
// of an unknown type are not.
func ofConversation(kind string) bool {
	return isCall(kind) || wire.HasAnyPrefix(kind, "TEXT_MESSAGE_", "REASONING_", "THINKING_", "SUBAGENT_", "RUN_", "STEP_", "MESSAGES_SNAPSHOT")
}

// sameID reports whether an id means the open item with the id open. An event
// without an id means the open item.
func sameID(open, id string) bool { return id == "" || open == id[:min(len(id), wire.MaxID)] }

func (r frame) end(i Item) {
	switch i.Kind {
	case callItem:
		r.Emit(chunks.Chunk{
			Kind: chunks.Seal, Namespace: i.Namespace, Message: i.Message, ID: i.ID, Restated: chunks.RestatedInRun,
		})
	case textItem, reasoningItem:
		r.Emit(chunks.Chunk{Kind: chunks.PartEnd, Namespace: i.Namespace, Message: i.Message})
	}
}

// begin makes a message the current message of the namespace. It ends the message
// before it, unless an item of that message is open.
func (r frame) begin(id, role string) {
	n := r.d.namespace(r.ns)
	if n.Begun && n.Message == id {
		return
	}
	if n.Begun && !r.d.busy(r.ns, n.Message) {
		r.endMessage(n.Message)
	}
	n.Begun, n.Message = true, wire.Keep(id)
	if r.d.Again != "" { // what a run that is sent again did not have
		r.Emit(chunks.Chunk{Kind: chunks.RunStart, Run: r.d.Again, Explicit: true})
	}
	r.Emit(chunks.Chunk{Kind: chunks.Start, Namespace: r.ns, Message: id, Role: role})
}

// endMessage ends a message of the namespace. The protocol has no finish reason.
func (r frame) endMessage(id string) {
	r.Emit(chunks.Chunk{Kind: chunks.Finish, Namespace: r.ns, Message: id})
	r.Emit(chunks.Chunk{Kind: chunks.Ended, Namespace: r.ns, Message: id})
}

// contentEvent emits the chunks of an event of a text or reasoning. what is START,
// CONTENT, END or CHUNK. THINKING events belong to the current message.
func (r frame) contentEvent(e *event, kind itemKind, what string) *wire.Problem {
	if e.message.Present() && !e.message.IsString() {
		return wire.WrongType("messageId", e.message, "a string")
	}
	if e.delta.Present() && !e.delta.IsString() {
		return wire.WrongType("delta", e.delta, "a string")
	}
	id := r.Text(e.message)
	item := r.d.findContent(kind, r.ns, id)
	switch {
	case what == "END":
		if item != nil {
			r.end(*item)
			r.d.close(item)
		}
		return nil
	case item == nil && (what == "START" || what == "CHUNK" || what == "CONTENT"):
		item = r.openContent(e, kind, id)
		item.Chunk = what == "CHUNK"
	}
	if s := r.Text(e.delta); item != nil && s != "" && item.Kind != mutedItem {
		c := chunks.Chunk{Kind: chunks.Text, Namespace: item.Namespace, Message: item.Message, Text: s}
		switch item.Kind {
		case reasoningItem:
			c.Kind = chunks.Reasoning
		case humanItem:
			c.Kind, c.ID = chunks.HumanText, item.ID
		}
		r.Emit(c)
	}
	return nil
}

// openContent opens a text or reasoning. A user message is a human message. The content
// of any other message that is not the assistant's is muted.
func (r frame) openContent(e *event, kind itemKind, id string) *Item {
	role := r.Text(e.role)
	if r.d.replays(id) {
		return r.d.open(Item{Kind: mutedItem, Namespace: r.ns, ID: id})
	}
	if kind == textItem && role != "" && role != "assistant" {
		if role == "user" {
			r.Emit(chunks.Chunk{Kind: chunks.Human, Namespace: r.ns, ID: id})
			return r.d.open(Item{Kind: humanItem, Namespace: r.ns, ID: id})
		}
		return r.d.open(Item{Kind: mutedItem, Namespace: r.ns, ID: id})
	}
	message := id
	switch {
	case kind == reasoningItem && id == "":
		message = r.d.namespace(r.ns).Message
	case kind == reasoningItem:
		role = "reasoning"
	default:
		role = "assistant"
	}
	r.begin(message, role)
	return r.d.open(Item{Kind: kind, Namespace: r.ns, ID: id, Message: message})
}
