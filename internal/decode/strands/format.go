// Package strands reads the stream events of the Strands Agents SDK: those of TypeScript as
// JSON.stringify writes them, and what those of Python add to the events of Bedrock, which
// package bedrock reads. https://strandsagents.com/latest/documentation/docs/user-guide/concepts/streaming/
//
//	{"type":"modelStreamUpdateEvent","event":{"type":"modelContentBlockStartEvent","start":{"type":"toolUseStart","name","toolUseId"}}}
//	→ modelContentBlockDeltaEvent{delta:{type:"toolUseInputDelta",input}} … → modelContentBlockStopEvent
//	→ modelMessageStopEvent{stopReason} → beforeToolCallEvent{toolUse} → toolResultEvent{result:{toolResult}} … → agentResultEvent{result:{stopReason}}
//	{"message":{"role":"user","content":[{"toolResult":{…}}]}}, {"init_event_loop":true}, {"force_stop":true,…}
//
// An invocation is a run. Messages and content blocks have no ids. Results come in the order
// of their completion; other events repeat calls and results.
package strands

import (
	"streamer/internal/chunks"
	"streamer/internal/decode/bedrock"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
	"streamer/internal/stored"
)

// Format returns the format strands.
func Format() wire.Format {
	converse := bedrock.Format()
	return wire.Format{
		Name: "strands", Shape: "bedrock",
		Keys:   []string{"type", "init_event_loop", "start_event_loop", "current_tool_use", "tool_stream_event", "force_stop", "message", "data"},
		Claims: claims,
		New:    func() wire.Decoder { return &decoder{Bedrock: converse.New(), converse: converse.Claims} },
	}
}

func claims(f wire.Frame) wire.Claim {
	var e event
	e.read(f)
	if e.kind.IsString() {
		switch e.kind.Str {
		case "modelStreamUpdateEvent", "toolStreamUpdateEvent":
			return wire.SurelyIf(e.event.IsObject(), wire.IfKnown)
		case "agentResultEvent", "toolResultEvent", "beforeToolCallEvent", "afterToolCallEvent", "beforeInvocationEvent", "afterInvocationEvent",
			"beforeModelCallEvent", "afterModelCallEvent", "beforeToolsEvent", "afterToolsEvent", "modelMessageEvent", "contentBlockEvent",
			"messageAddedEvent", "initializedEvent", "interruptEvent":
			return wire.Surely
		}
		return wire.No
	}
	switch {
	case e.initial.Kind == jsonscan.True, e.loop.Kind == jsonscan.True, e.current.IsObject(), e.tool.IsObject(), e.stop.Kind == jsonscan.True && e.why.Raw != "":
		return wire.Surely
	case ofConverse(e.message):
		return wire.Surely
	case e.data.IsString() && e.delta.IsObject():
		return wire.Perhaps
	case e.message.IsObject(), e.event.IsObject(), e.data.IsString(), e.begins.Kind == jsonscan.True, e.result.Present(), e.lifecycle.Present():
		return wire.IfKnown
	}
	return wire.No
}

// ofConverse reports whether a message is one of Bedrock, whose blocks have no type.
func ofConverse(message jsonscan.Value) bool {
	var role, content jsonscan.Value
	message.Read(role.From("role"), content.From("content"))
	e := content.Elements()
	return role.IsString() && e.Next() && e.Value.IsObject() && !e.Value.IsEmpty() && !e.Value.Member("type").Present()
}

type event struct {
	kind, event, toolUse, result, message, failure                                        jsonscan.Value
	initial, loop, begins, current, tool, stop, why, data, lifecycle, delta, reason, text jsonscan.Value // of Python
}

func (e *event) read(f wire.Frame) {
	f.Read(
		e.kind.From("type"), e.failure.From("error"), e.event.From("event"), e.toolUse.From("toolUse"), e.result.From("result"), e.message.From("message"),
		e.initial.From("init_event_loop"), e.loop.From("start_event_loop"), e.begins.From("start"), e.current.From("current_tool_use"),
		e.tool.From("tool_stream_event"), e.stop.From("force_stop"), e.why.From("force_stop_reason"), e.data.From("data"),
		e.lifecycle.From("complete"), e.delta.From("delta"), e.reason.From("reasoning"), e.text.From("reasoningText"),
	)
}

// decoder decodes the events of a session. Its exported fields are the state between
// events.
type decoder struct {
	Bedrock wire.Decoder // of the events of Python
	Running bool
	Block   int      // number of the content block
	Call    bool     // the block is a call
	Open    wire.IDs // of the calls without a result
	Failure string   // of the request to the model, if nothing followed
	Usage   string   // of a message of Python that has ended, and that its whole calls follow

	converse func(f wire.Frame) wire.Claim
}

func (d *decoder) Fields(f *stored.Fields) {
	stored.Object(f, "b", &d.Bedrock, func(d *wire.Decoder, f *stored.Fields) { (*d).Fields(f) })
	f.Flag("r", &d.Running)
	stored.Number(f, "n", &d.Block)
	f.Flag("k", &d.Call)
	d.Open.Fields(f, "o")
	f.Text("e", &d.Failure)
	f.Text("u", &d.Usage)
}

const maxCalls = 256

func (d *decoder) start(w *wire.Writer) {
	if !d.Running {
		w.Emit(chunks.Chunk{Kind: chunks.RunStart, Explicit: true})
	}
	d.Running = true
}

func (d *decoder) end(w *wire.Writer, reason string) {
	c := chunks.Chunk{Kind: chunks.RunEnd, Status: "completed"}
	switch reason {
	case "cancelled":
		c.Status = "cancelled"
	case "interrupt": // it names no call
		c.Status = "interrupted"
		w.Emit(chunks.Chunk{Kind: chunks.Await, Why: "interrupt"})
	}
	c.Abandons = c.Status == "completed"
	w.Emit(c)
	d.Running, d.Open, d.Failure = false, nil, ""
}

// fail records that a request to the model failed. It may be tried again.
func (d *decoder) fail(w *wire.Writer, failure jsonscan.Value) {
	text := w.FailureText(failure)
	d.Failure = wire.Keep(text)
	w.Emit(chunks.Chunk{Kind: chunks.Failure, Text: text})
}

// endFailed ends a run that ended with a failure, and has no result.
func (d *decoder) endFailed(w *wire.Writer) {
	if d.Running && d.Failure != "" {
		w.Emit(chunks.Chunk{Kind: chunks.RunEnd, Status: "error", Text: d.Failure})
		d.Running, d.Open, d.Failure = false, nil, ""
	}
}

// call emits a whole call, which may have come in pieces.
func (d *decoder) call(w *wire.Writer, v jsonscan.Value) {
	var id, name, input jsonscan.Value
	v.Read(id.From("toolUseId"), name.From("name"), input.From("input"))
	c := chunks.Chunk{Kind: chunks.Fragment, ID: w.Text(id), Name: w.Text(name), Final: true, Whole: true}
	w.SetArgs(&c, input)
	if !input.Present() {
		w.UnknownMembers("toolUse", v, "toolUseId", "name")
	}
	if c.ID != "" {
		d.Open.AddNew(c.ID, maxCalls)
		w.EmitWhole(c)
	}
}

// result emits a result of a call that has none.
func (d *decoder) result(w *wire.Writer, v jsonscan.Value) *wire.Problem {
	var id, status, content jsonscan.Value
	v.Read(id.From("toolUseId"), status.From("status"), content.From("content"))
	c := chunks.Chunk{Kind: chunks.Result, ID: w.Text(id), Status: "success"}
	switch {
	case c.ID == "":
		return wire.WrongShape("the result names no call: toolUseId is missing or empty")
	case status.Str == "error":
		c.Status = "error"
	}
	d.Open.Remove(c.ID)
	c.Content, c.Text = w.OneText(content)
	w.Emit(c)
	return nil
}
