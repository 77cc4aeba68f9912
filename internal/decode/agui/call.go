package agui

import (
	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

func isCall(kind string) bool {
	switch kind {
	case "TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END", "TOOL_CALL_CHUNK", "TOOL_CALL_RESULT":
		return true
	}
	return false
}

func (r frame) call(e *event) *wire.Problem {
	if what := e.kind; what != "TOOL_CALL_CHUNK" && !e.call.IsString() || e.call.Present() && !e.call.IsString() {
		return wire.WrongType("toolCallId", e.call, "a string")
	}
	if e.delta.Present() && !e.delta.IsString() {
		return wire.WrongType("delta", e.delta, "a string")
	}
	if e.name.Present() && !e.name.IsString() {
		return wire.WrongType("toolCallName", e.name, "a string")
	}
	id := r.Text(e.call)
	if e.kind == "TOOL_CALL_RESULT" {
		return r.emitResult(id, e.content, e.failure, e.metadata, false)
	}
	item := r.d.findCall(r.ns, id)
	switch e.kind {
	case "TOOL_CALL_START":
		r.openCall(e, id)
	case "TOOL_CALL_CHUNK":
		if item == nil && id == "" {
			return wire.WrongShape("toolCallId is missing, and no call is open that the chunk could go on with")
		}
		if item == nil {
			item = r.openCall(e, id)
			item.Chunk = true
		}
		r.args(item, item.ID, e.delta)
	case "TOOL_CALL_ARGS":
		r.args(item, id, e.delta)
	case "TOOL_CALL_END":
		ended := Item{Kind: callItem, Namespace: r.ns, Message: r.d.namespace(r.ns).Message, ID: id}
		if item != nil { // else its start was lost
			ended = *item
			r.d.close(item)
		}
		switch args := tanstack(e.metadata, "input"); {
		case !args.Present():
			r.UnknownMembers("metadata.tanstack", e.metadata.Member("tanstack"), "toolName", "toolCallName")
		case args.IsObject() && ended.Kind == callItem:
			r.Emit(chunks.Chunk{
				Kind: chunks.Fragment, Namespace: r.ns, Message: ended.Message, ID: id, Name: r.Text(tanstack(e.metadata, "toolCallName")),
				Args: r.Compact(args.Raw), Object: true, Whole: true, Final: true,
			})
		}
		r.end(ended)
	}
	return nil
}

// tanstack returns a member of what TanStack AI adds to the events of the protocol.
func tanstack(metadata jsonscan.Value, key string) jsonscan.Value {
	return metadata.Member("tanstack").Member(key)
}

// openCall emits the beginning of a call. The agent repeats a call for which the run
// was interrupted after the interrupt was answered, and those of a run that it sends
// again. It is the same call.
func (r frame) openCall(e *event, id string) *Item {
	if r.d.replays(id) || r.d.Waiting.Has(id) {
		return r.d.open(Item{Kind: repeatedCall, Namespace: r.ns, ID: id})
	}
	n := r.d.namespace(r.ns)
	message := n.Message
	if e.parent.IsString() {
		message = r.Text(e.parent)
	}
	r.begin(message, "assistant")
	name := r.Text(e.name)
	r.Emit(chunks.Chunk{
		Kind: chunks.Fragment, Namespace: r.ns, Message: message, ID: id,
		Name: name, Final: name != "", Opens: name == "", ParentCall: n.ParentCall,
	})
	if args := r.rawArgs(e.raw, id); args != "" {
		r.Emit(chunks.Chunk{Kind: chunks.Fragment, Namespace: r.ns, Message: message, ID: id, Args: args, Object: true, Weak: true})
	}
	return r.d.open(Item{Kind: callItem, Namespace: r.ns, ID: id, Message: message})
}

// rawArgs returns the args of a call in rawEvent, the event of LangGraph from which
// the adapter made the start. The adapter does not send args that come whole, so
// these are used where no others come.
func (r frame) rawArgs(raw jsonscan.Value, id string) string {
	for e := raw.Member("data").Member("chunk").Member("tool_calls").Elements(); e.Next(); {
		args := e.Value.Member("args")
		if !args.IsObject() || r.Text(e.Value.Member("id")) != id {
			continue
		}
		if s := r.Compact(args.Raw); s != "{}" {
			return s
		}
	}
	return ""
}

// args emits a fragment of args. If item is nil, the start of the call was lost.
func (r frame) args(item *Item, id string, delta jsonscan.Value) {
	s := r.Text(delta)
	if s == "" || item != nil && item.Kind == repeatedCall {
		return
	}
	c := chunks.Chunk{Kind: chunks.Fragment, Namespace: r.ns, Message: r.d.namespace(r.ns).Message, ID: id, Args: s, Opens: true}
	if item != nil {
		c.Message = item.Message
	}
	r.Emit(c)
}

// emitResult emits a result, which is text or a list of content parts. Only a tool
// message of a snapshot has an error, and in events of TanStack AI the metadata.
func (r frame) emitResult(id string, content, failure, metadata jsonscan.Value, repeated bool) *wire.Problem {
	c := chunks.Chunk{Kind: chunks.Result, Namespace: r.ns, ID: id, Repeated: repeated}
	switch {
	case content.IsArray():
		c.Content = r.Compact(content.Raw)
	case content.Present() && !content.IsString():
		return wire.WrongType("content", content, "a string or a list of parts")
	default:
		c.Text = r.Text(content)
	}
	if s := r.FailureText(failure); s != "" && s != "null" {
		c.Status = "error"
		if c.Text == "" && c.Content == "" {
			c.Text = s
		}
	}
	if tanstack(metadata, "state").Str == "output-error" {
		c.Status = "error"
	}
	if !repeated {
		r.d.Waiting.Remove(id)
	}
	r.Emit(c)
	return nil
}
