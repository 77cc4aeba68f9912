// Package codexserver reads the messages of codex app-server, of the server, of its client,
// or of both in one log: JSON-RPC without the member jsonrpc, over stdio or WebSocket.
// https://github.com/openai/codex/blob/main/codex-rs/app-server/README.md
//
//	turn/started{threadId,turn:{id}} → item/started{threadId,item:{type,id,…}}
//	→ item/agentMessage/delta{itemId,delta} …, item/commandExecution/requestApproval{itemId} and its answer
//	→ item/completed{item} … → thread/tokenUsage/updated → turn/completed{turn:{id,status,error}}
//
// A turn is a run. An item has the whole args of its call when it starts. A call that is
// interrupted has no item/completed: it ends with its turn. Messages have no ids: one ends
// with the token counts of its answer, or with a text after a text or a result.
//
// Both sides number their requests from zero, so the content of an answer shows whose it
// is. The thread of an agent that a call started has that call as namespace, and any other
// thread beside the one that runs has its own id.
package codexserver

import (
	"slices"

	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
	"streamer/internal/stored"
)

// Format returns the format codex-app-server.
func Format() wire.Format {
	return wire.Format{
		Name: "codex-app-server", Shape: "responses",
		Keys:   []string{"method", "result"},
		Claims: claims,
		New:    func() wire.Decoder { return new(decoder) },
	}
}

func claims(f wire.Frame) wire.Claim {
	var m message
	m.read(f)
	switch {
	case m.params.IsObject() && wire.HasAnyPrefix(m.method.Str, "thread/", "turn/", "item/"):
		return wire.Surely
	case m.version.Present():
		return wire.No
	case m.method.Str == "initialize":
		return wire.SurelyIf(m.params.Member("clientInfo").IsObject(), wire.IfKnown)
	case m.result.Member("userAgent").IsString() && m.result.Member("codexHome").IsString(): // the first message of the server
		return wire.Surely
	case early(m.method.Str), m.result.Member("thread").Member("id").IsString(), m.result.Member("turn").Member("id").IsString():
		return wire.Perhaps
	case m.method.IsString(), m.id.Present() && (m.result.Present() || m.failure.Present()):
		return wire.IfKnown
	}
	return wire.No
}

// early reports whether a message can come before the first thread.
func early(method string) bool {
	switch method {
	case "initialized", "configWarning", "warning", "deprecationNotice":
		return true
	}
	return wire.HasAnyPrefix(method, "account/", "mcpServer/", "remoteControl/", "serverRequest/", "skills/")
}

type message struct {
	version, id, method, params, result, failure jsonscan.Value
}

func (m *message) read(f wire.Frame) {
	f.Read(
		m.id.From("id"), m.method.From("method"), m.params.From("params"), m.result.From("result"),
		m.failure.From("error"), m.version.From("jsonrpc"),
	)
}

type decoder struct {
	Threads []Thread // the latest, oldest first
	Open    wire.IDs // of the calls that run
	Asks    wire.IDs // of the requests that a person has to answer, as they are written
	Blank   wire.IDs // of the open calls whose args come with a later item
}

// Thread is a conversation. The one without a namespace is that of the session.
type Thread struct {
	ID        string
	Namespace string
	Turn      string // id of the open turn
	Item      string // id of the item whose text came in pieces
	Part      int    // number of the next content of the message
	Said      bool   // the message has its text
	Answered  bool   // a call of the message has its result
}

func (t *Thread) fields(f *stored.Fields) {
	f.Text("i", &t.ID)
	f.Text("n", &t.Namespace)
	f.Text("t", &t.Turn)
	f.Text("w", &t.Item)
	stored.Number(f, "p", &t.Part)
	f.Flag("s", &t.Said)
	f.Flag("a", &t.Answered)
}

func (d *decoder) Fields(f *stored.Fields) {
	stored.List(f, "t", &d.Threads, (*Thread).fields)
	d.Open.Fields(f, "o")
	d.Asks.Fields(f, "a")
	d.Blank.Fields(f, "b")
}

const (
	maxThreads = 64
	maxCalls   = 256
	maxAsks    = 64
)

// thread returns a thread. One that begins while the thread of the session has a turn is
// that of another agent.
func (d *decoder) thread(id string) *Thread {
	id = wire.Keep(id)
	busy := false
	for i := range d.Threads {
		t := &d.Threads[i]
		if t.ID == id {
			return t
		}
		busy = busy || t.Namespace == "" && t.Turn != ""
	}
	t := Thread{ID: id}
	if busy {
		t.Namespace = id
	}
	d.Threads = append(wire.MakeRoom(d.Threads, maxThreads), t)
	return &d.Threads[len(d.Threads)-1]
}

func (d *decoder) adopt(w *wire.Writer, call string, threads jsonscan.Value) {
	for e := threads.Elements(); e.Next(); {
		if id := w.Text(e.Value); id != "" && !slices.ContainsFunc(d.Threads, func(t Thread) bool { return t.ID == wire.Keep(id) }) {
			d.thread(id).Namespace = wire.Keep(call)
		}
	}
}

func (t *Thread) chunk(kind chunks.Kind) chunks.Chunk {
	return chunks.Chunk{Kind: kind, Namespace: t.Namespace, Part: t.Part}
}
