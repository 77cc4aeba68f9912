// Package managedagents reads the events of a session of Claude Managed Agents, beta
// managed-agents-2026-04-01, as its stream and its list send them:
// https://platform.claude.com/docs/en/managed-agents/events-and-streaming
//
//	user.message{id,content} → session.status_running → span.model_request_start → agent.message{content}
//	→ agent.tool_use | agent.mcp_tool_use | agent.custom_tool_use{id,name,input,evaluated_permission} → span.model_request_end{model_usage}
//	→ agent.tool_result{tool_use_id,content,is_error}, user.custom_tool_result{custom_tool_use_id,…}, user.tool_confirmation{tool_use_id,result}
//	→ session.status_idle{stop_reason:{type,event_ids}}
//
// The id of an event is that of its call. Events come again after a reconnect. A run is from
// running to idle, and goes on where it stops for requires_action. A message is a request
// to the model, and has its id. What belongs to a session_thread_id is of another agent,
// which has the id as namespace.
package managedagents

import (
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
	"streamer/internal/stored"
)

// Format returns the format claude-managed-agents.
func Format() wire.Format {
	return wire.Format{
		Name: "claude-managed-agents", Shape: "anthropic",
		Keys:   []string{"processed_at", "event", "event_id"},
		Claims: claims,
		New:    func() wire.Decoder { return new(decoder) },
	}
}

func claims(f wire.Frame) wire.Claim {
	var e event
	e.read(f)
	switch kind := e.kind.Str; {
	case kind == "event_start":
		return wire.SurelyIf(e.inner.IsObject(), wire.No)
	case kind == "event_delta":
		return wire.SurelyIf(e.of.IsString(), wire.No)
	case wire.HasAnyPrefix(kind, "user.", "agent.", "span.", "session.", "system."):
		return wire.SurelyIf(e.processed.Raw != "", wire.IfKnown) // null where the event is queued
	case e.kind.Raw == "" && e.sent.IsArray(), wire.HasAnyPrefix(kind, "workflow_run."):
		return wire.IfKnown
	}
	return wire.No
}

type event struct {
	kind, id, processed, thread, content, sent      jsonscan.Value
	name, input, permission                         jsonscan.Value // of a call
	call, custom, mcp, failed, answer, denial       jsonscan.Value // of a result or a confirmation
	stop, failure, usage, request, inner, of, delta jsonscan.Value
}

func (e *event) read(f wire.Frame) {
	f.Read(
		e.id.From("id"), e.processed.From("processed_at"), e.content.From("content"), e.name.From("name"), e.input.From("input"),
		e.permission.From("evaluated_permission"), e.call.From("tool_use_id"), e.custom.From("custom_tool_use_id"), e.mcp.From("mcp_tool_use_id"),
		e.failed.From("is_error"), e.answer.From("result"), e.denial.From("deny_message"), e.stop.From("stop_reason"), e.failure.From("error"),
		e.usage.From("model_usage"), e.request.From("model_request_start_id"), e.thread.From("session_thread_id"), e.inner.From("event"),
		e.of.From("event_id"), e.delta.From("delta"), e.sent.From("events"), e.kind.From("type"),
	)
}

type decoder struct {
	Running     bool
	Interrupted bool     // a person has interrupted the run
	Seen        wire.IDs // of the latest events
	Threads     []Thread // that have an open message
	Waits       wire.IDs // of the calls that wait
	Denied      wire.IDs // of the calls that a person denied
	Pieces      []Piece  // texts that came in pieces and not whole yet, oldest first
}

// Piece is a block of an agent.message that comes in pieces.
type Piece struct {
	ID     string // of the agent.message
	Thread string
	Block  int
	Len    int // bytes so far
}

func (p *Piece) fields(f *stored.Fields) {
	f.Text("i", &p.ID)
	f.Text("t", &p.Thread)
	stored.Number(f, "b", &p.Block)
	stored.Number(f, "l", &p.Len)
}

// Thread is the open message of an agent.
type Thread struct {
	ID      string
	Message string // id of the request to the model
	Parts   int
}

func (t *Thread) fields(f *stored.Fields) {
	f.Text("i", &t.ID)
	f.Text("m", &t.Message)
	stored.Number(f, "p", &t.Parts)
}

func (d *decoder) Fields(f *stored.Fields) {
	f.Flag("r", &d.Running)
	f.Flag("i", &d.Interrupted)
	d.Seen.Fields(f, "s")
	stored.List(f, "t", &d.Threads, (*Thread).fields)
	d.Waits.Fields(f, "w")
	d.Denied.Fields(f, "d")
	stored.List(f, "p", &d.Pieces, (*Piece).fields)
}

const (
	maxSeen    = 256
	maxThreads = 64
	maxWaits   = 64
	maxPieces  = 64
)
