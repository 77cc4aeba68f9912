package encode

import (
	"encoding/json"
	"slices"

	"streamer/internal/events"
)

// frame begins the ids of the frames of a call.
func (c *apCall) frame() string { return "c" + c.call }

func (a *agentProtocol) startCall(e *events.Event) {
	if e.Call == "" || findCall(a.calls, e.Call) != nil {
		return
	}
	m := a.message(e)
	c := &apCall{lgCall: newLGCall(e, m.lgMessage, &a.callIDs)}
	c.block = &apBlock{kind: "tool_call", call: c.lgCall, name: c.frame()}
	if b := m.lastBlock(); b != nil && b.call == nil {
		b.ended = true
	}
	m.blocks = append(m.blocks, c.block)
	a.calls = append(a.calls, c)
	a.advance(m)
}

// blocked returns the open message of a call whose block is not ended, or nil.
func (a *agentProtocol) blocked(c *apCall) *apMessage {
	if c == nil || c.block.ended {
		return nil
	}
	return a.open(c.of)
}

// addArgs adds args to the block of a call. Args of a length that is not held, and args
// that replace others, are written at the end only.
func (a *agentProtocol) addArgs(e *events.Event) {
	c := findCall(a.calls, e.Call)
	m := a.blocked(c)
	if m == nil || c.block.whole {
		return
	}
	b := c.block
	piece := c.delta(e)
	if c.broken || len(b.text)+len(piece) > maxBlock {
		b.whole, b.text, b.written = true, nil, 0
		return
	}
	b.text = append(b.text, piece...)
	m.wait(b, len(piece))
	a.advance(m)
}

func (a *agentProtocol) completeArgs(e *events.Event) {
	c := findCall(a.calls, e.Call)
	if c == nil {
		return
	}
	last := &apContent{Type: "tool_call", ID: c.id, Name: c.name}
	if e.ArgsValid != nil && !*e.ArgsValid {
		last.Type, last.Args, last.Error = "invalid_tool_call", events.Quote(beginning(argsText(e))), e.ArgsError
	} else {
		last.Args, c.complete = lgObject(e), true
	}
	if m := a.blocked(c); m != nil {
		c.block.last, c.block.ended = last, true
		m.wait(c.block, len(last.Args))
		a.advance(m)
	}
	a.startTool(c, e, last.Args)
}

func (a *agentProtocol) startTool(c *apCall, e *events.Event, input json.RawMessage) {
	if !c.started {
		c.started = true
		a.send(e, c.frame()+".started", "tools", apData{Event: "tool-started", ToolCallID: c.id, ToolName: c.name, Input: input})
	}
}

func (a *agentProtocol) await(e *events.Event) {
	a.send(e, e.EventID.String(), "input.requested", apData{InterruptID: interruptID(e), Payload: new(lgQuestionOf(e))})
}

// progress appends the message of a progress as output. The end of a wait for a
// person is an event of its own.
func (a *agentProtocol) progress(e *events.Event) {
	if isAutomatic(e) {
		return
	}
	if e.Status == events.ArgsComplete {
		a.send(e, e.EventID.String()+".answered", "input.answered", apData{InterruptIDs: []string{interruptID(e)}})
	}
	if e.Progress != "" && findCall(a.calls, e.Call) != nil {
		a.send(e, e.EventID.String(), "tools", apData{Event: "tool-output-delta", ToolCallID: callID(e), Delta: e.Progress})
	}
}

func (a *agentProtocol) result(e *events.Event) {
	c := findCall(a.calls, e.Call)
	if c == nil {
		c = &apCall{lgCall: newLGCall(e, &lgMessage{}, &a.callIDs), block: &apBlock{ended: true}}
	}
	a.calls = slices.DeleteFunc(a.calls, func(o *apCall) bool { return o == c })
	if !c.ended {
		a.end(e, c)
	}
}

// closeCut appends the ends of the calls whose args are incomplete or invalid when
// their run ends. The log has their results later.
func (a *agentProtocol) closeCut(end *events.Event) {
	for _, c := range a.calls {
		if (!c.complete || isErasure(end)) && !c.ended {
			a.end(c.cut(end), c)
			c.ended = true
		}
	}
}

// end appends the end of a call, and its ToolMessage. A call that has not started
// starts before: the client drops the end of an unknown call.
func (a *agentProtocol) end(e *events.Event, c *apCall) {
	tool := lgToolMessage(e, c.data.ParentCall)
	if m := a.blocked(c); m != nil {
		c.block.cut(resultText(e))
		c.block.ended = true
		a.advance(m)
	}
	a.startTool(c, e, nil)
	d := apData{ToolCallID: c.id, Streamer: tool.AdditionalKwargs.Streamer}
	if e.Status == events.Completed {
		d.Event, d.Output = "tool-finished", &tool
	} else {
		d.Event, d.Message, d.Code = "tool-error", tool.Content, string(e.Status)
	}
	a.send(e, c.frame()+".ended", "tools", d)
	a.toolMessage(e, c, &tool)
}

func (a *agentProtocol) toolMessage(e *events.Event, c *apCall, tool *lgChunk) {
	empty := ""
	content := &apContent{Type: "text", Text: &tool.Content}
	for _, f := range []struct {
		name string
		data apData
	}{
		{"start", apData{Event: "message-start", Role: "tool", ID: tool.ID, ToolCallID: c.id, Status: tool.Status}},
		{"text", apData{Event: "content-block-start", Index: new(int), Content: &apContent{Type: "text", Text: &empty}}},
		{"delta", apData{Event: "content-block-delta", Index: new(int), Delta: &apDelta{Type: "text-delta", Text: tool.Content}}},
		{"block", apData{Event: "content-block-finish", Index: new(int), Content: content}},
		{"finish", apData{Event: "message-finish"}},
	} {
		f.data.RunID = tool.ID
		a.send(e, c.frame()+".result."+f.name, "messages", f.data)
	}
}
