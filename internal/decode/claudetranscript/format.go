// Package claudetranscript reads the session files of Claude Code,
// ~/.claude/projects/PROJECT/SESSION.jsonl and SESSION/subagents/agent-ID.jsonl. They have
// no specification: https://docs.anthropic.com/en/docs/claude-code/sdk/sdk-headless has the
// messages, and the rest is what versions 1.0 to 2.1 write.
//
//	{"type":"user","uuid","parentUuid","sessionId","isSidechain","agentId"?,"message":{"role","content"},"isMeta"?,"toolUseResult"?}
//	{"type":"assistant","uuid",…,"message":{"id","content":[block],"stop_reason"}}
//	{"type":"summary","leafUuid"}, system, progress, attachment, file-history-snapshot and others
//
// Several assistant lines are one message: each has one block. The files have no end of a
// message, a turn or a run: a message ends with the next one, with the turn, or some time
// after its text. A line of a person interrupts what is open.
//
// A call in the background ends with the notification of the program, and not with its
// tool_result.
//
// A subagent has the call that started it as namespace: the one with its prompt, or the
// oldest that has started none. Until version 2.0 its lines are in the file of the session,
// and only parentUuid tells those of several apart.
package claudetranscript

import (
	"slices"

	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
	"streamer/internal/stored"
)

// Format returns the format claude-transcript.
func Format() wire.Format {
	return wire.Format{
		Name: "claude-transcript", Shape: "anthropic",
		Keys:   []string{"sessionId", "leafUuid", "snapshot"},
		Claims: claims,
		New:    func() wire.Decoder { return new(decoder) },
	}
}

func claims(f wire.Frame) wire.Claim {
	var l line
	l.read(f)
	switch {
	case l.session.IsString() && l.uuid.IsString() && l.kind.IsString():
		return wire.SurelyIf(l.parent.Raw != "", wire.IfKnown)
	case l.kind.Str == "summary":
		return wire.SurelyIf(l.leaf.IsString(), wire.No)
	case l.kind.Str == "file-history-snapshot":
		return wire.SurelyIf(l.snapshot.IsObject(), wire.No)
	case beside(l.kind.Str):
		return wire.SurelyIf(l.session.IsString(), wire.No)
	case l.kind.IsString() && l.session.IsString():
		return wire.IfKnown
	}
	return wire.No
}

// beside reports whether lines of a type are no part of the conversation, or repeat it.
func beside(kind string) bool {
	switch kind {
	case "summary", "file-history-snapshot", "attachment", "queue-operation", "mode", "permission-mode", "ai-title", "custom-title", "agent-name",
		"agent-color", "agent-setting", "last-prompt", "pr-link", "worktree-state", "bridge-session", "tag", "task-summary", "content-replacement",
		"attribution-snapshot", "speculation-accept", "api-request-blob":
		return true
	}
	return false
}

type line struct {
	kind, subtype, uuid, parent, session, sidechain, agent, message jsonscan.Value
	meta, summary, origin, failed, leaf, snapshot, call             jsonscan.Value
	result, denial, decision                                        jsonscan.Value // of a tool
}

func (l *line) read(f wire.Frame) {
	f.Read(
		l.parent.From("parentUuid"), l.sidechain.From("isSidechain"), l.session.From("sessionId"), l.kind.From("type"), l.message.From("message"),
		l.uuid.From("uuid"), l.agent.From("agentId"), l.meta.From("isMeta"), l.summary.From("isCompactSummary"), l.origin.From("origin"),
		l.failed.From("isApiErrorMessage"), l.subtype.From("subtype"), l.leaf.From("leafUuid"), l.snapshot.From("snapshot"),
		l.call.From("parentToolUseID"), l.result.From("toolUseResult"),
		l.denial.From("toolDenialKind"), l.decision.From("permissionDecision"),
	)
}

type decoder struct {
	Root  Agent
	Below []Agent  // the subagents, oldest first
	Tasks []Task   // calls that start subagents, and have started none, oldest first
	Open  wire.IDs // of the calls without a result
	Left  wire.IDs // of those that go on in the background
}

// Agent is the session, or a subagent.
type Agent struct {
	ID        string   // of a subagent, where the lines have it
	Namespace string   // the call that started it, or else the ID
	Call      string   // the call that started it
	Message   string   // id of the open message
	Parts     int      // content parts of the message so far
	Lines     wire.IDs // uuids of the latest lines, where they have no agentId
}

func (a *Agent) fields(f *stored.Fields) {
	f.Text("i", &a.ID)
	f.Text("n", &a.Namespace)
	f.Text("c", &a.Call)
	f.Text("m", &a.Message)
	stored.Number(f, "p", &a.Parts)
	a.Lines.Fields(f, "l")
}

// Task is a call that starts a subagent.
type Task struct{ ID, Prompt string }

func (t *Task) fields(f *stored.Fields) {
	f.Text("i", &t.ID)
	f.Text("p", &t.Prompt)
}

func (d *decoder) Fields(f *stored.Fields) {
	stored.Object(f, "r", &d.Root, (*Agent).fields)
	stored.List(f, "b", &d.Below, (*Agent).fields)
	stored.List(f, "t", &d.Tasks, (*Task).fields)
	d.Open.Fields(f, "o")
	d.Left.Fields(f, "l")
}

const (
	maxAgents = 64
	maxLines  = 32
	maxTasks  = 64
	maxCalls  = 256
)

func (d *decoder) agent(w *wire.Writer, l *line) *Agent {
	if l.sidechain.Kind != jsonscan.True {
		return &d.Root
	}
	id, parent := wire.Keep(w.Text(l.agent)), wire.Keep(w.Text(l.parent))
	at := slices.IndexFunc(d.Below, func(a Agent) bool {
		return id != "" && a.ID == id || id == "" && a.Lines.Has(parent)
	})
	if at < 0 {
		a := Agent{ID: id, Call: d.starter(w.PlainText(l.message.Member("content")))}
		if a.Namespace = a.Call; a.Call == "" {
			a.Namespace = wire.Keep("agent-" + id + map[bool]string{true: w.Text(l.uuid)}[id == ""])
		}
		d.Below = append(wire.MakeRoom(d.Below, maxAgents), a)
		at = len(d.Below) - 1
	}
	a := &d.Below[at]
	if id == "" {
		a.Lines.Add(w.Text(l.uuid), maxLines)
	}
	return a
}

func (d *decoder) starter(prompt string) (id string) {
	at := slices.IndexFunc(d.Tasks, func(t Task) bool { return t.Prompt == wire.Keep(prompt) })
	if at = max(at, 0); at < len(d.Tasks) {
		id = d.Tasks[at].ID
		d.Tasks = slices.Delete(d.Tasks, at, at+1)
	}
	return id
}
