package encode

import (
	"slices"
	"strings"

	"streamer/internal/events"
	"streamer/internal/jsonscan"
)

type agCall struct {
	openCall
	resultID string // id of the message with its result
	owner    string // its subagent
	tag      string // the subagent that the client knows
	scan     jsonscan.Scanner
	ended    bool // TOOL_CALL_END was sent
	invalid  bool // its args are complete and not JSON
	awaits   *agInterrupt
}

func (a *agUI) startCall(e *events.Event) {
	if e.Call == "" || findCall(a.calls, e.Call) != nil {
		return
	}
	c := &agCall{openCall: newCall(e, &a.callIDs), resultID: resultID(e.EventID)}
	c.data.Run, c.data.ProviderExecuted = e.Run, e.ProviderExecuted
	m := a.message(e)
	c.owner = a.enter(graphOf(m.place.Namespace), e.ParentCall)
	c.tag = a.tag(m.id, m.place.Namespace)
	a.calls = append(a.calls, c)
	a.send(agEvent{
		Type: "TOOL_CALL_START", ToolCallID: c.id, ToolCallName: c.name,
		ParentMessageID: m.id, SubagentRunID: c.tag, Metadata: &agMetadata{c.data},
	})
}

func (a *agUI) addArgs(e *events.Event) {
	if c := findCall(a.calls, e.Call); c != nil && !c.ended {
		a.deltas.addArgs(&c.openCall, e)
	}
}

func (a *agUI) sendArgs(c *agCall, text string) { a.sendJSON(c, c.args.next(text)) }

// sendJSON appends a delta, up to the first byte with which the args are not JSON.
// There are no further deltas then.
func (a *agUI) sendJSON(c *agCall, delta string) {
	if whole := c.scan; whole.Write(delta) == jsonscan.Bad {
		delta = delta[:whole.Offset()-c.scan.Offset()]
		c.args.plain = false
	}
	c.scan.Write(delta)
	if delta != "" {
		a.sendDelta("TOOL_CALL_ARGS", "toolCallId", c.id, delta)
	}
}

func (a *agUI) completeArgs(e *events.Event) {
	c := findCall(a.calls, e.Call)
	if c == nil || c.ended {
		return
	}
	a.deltas.take(c.source()) // the text has them
	text := argsText(e)
	c.invalid = e.ArgsValid != nil && !*e.ArgsValid
	object := strings.HasPrefix(text, "{")
	switch {
	case c.args.sent > 0 && (!c.args.plain || c.args.sent > len(text)):
		c.data.Args = beginning(text) // the deltas so far were replaced
	case c.args.text || object:
		a.sendArgs(c, text[c.args.sent:])
	case c.invalid:
		// Nothing is certain to be the beginning of an object.
	case len(e.ToolArgs) > 0:
		a.sendJSON(c, string(e.ToolArgs))
	default:
		a.sendJSON(c, string(events.Quote(text)))
	}
	if c.invalid {
		c.data.Args = beginning(text)
	}
	a.endArgs(c, true)
}

// endArgs appends the end of the args. Args that are incomplete, or not JSON, get an
// end that makes them JSON, and the metadata of the call states this.
func (a *agUI) endArgs(c *agCall, complete bool) {
	rest := string(c.scan.AppendEnd(nil))
	switch {
	case c.scan.Offset() == 0 && c.args.text:
		rest = `""`
	case c.scan.Offset() == 0:
		rest = "{}"
	}
	if rest != "" {
		c.data.ArgsIncomplete = !complete || !c.args.text
		a.sendDelta("TOOL_CALL_ARGS", "toolCallId", c.id, rest)
	}
	c.ended = true
	a.send(agEvent{Type: "TOOL_CALL_END", ToolCallID: c.id, Metadata: &agMetadata{c.data}})
}

func (a *agUI) result(e *events.Event) {
	c := findCall(a.calls, e.Call)
	if c == nil {
		return
	}
	data := c.data.ended(e.Status, e.Reason)
	data.DurationMS, data.RunMS = e.DurationMS, e.RunMS
	a.end(c, contentOf(e), data)
}

func (a *agUI) end(c *agCall, content string, data callData) {
	if !c.ended {
		if held := a.deltas.take(c.source()); c.args.plain {
			a.sendArgs(c, held)
		}
		a.endArgs(c, false)
	}
	a.endSubagentsOf(c.id, &events.Event{Status: data.Status, Reason: &events.Reason{Text: content}})
	data.ArgsIncomplete, data.Args = c.data.ArgsIncomplete, ""
	a.calls = slices.DeleteFunc(a.calls, func(o *agCall) bool { return o == c })
	a.send(agEvent{
		Type: "TOOL_CALL_RESULT", MessageID: c.resultID, ToolCallID: c.id, Role: "tool",
		Content: &content, SubagentRunID: c.tag, Metadata: &agMetadata{data},
	})
}
