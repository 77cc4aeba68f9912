// Package opencode reads the events of opencode: those of its server (GET /event and
// GET /global/event), and the lines of opencode run --format json.
// https://github.com/sst/opencode/blob/dev/packages/sdk/js/src/gen/types.gen.ts
//
//	{"type":"message.updated","properties":{"info":{"id","sessionID","role"}}}
//	{"type":"message.part.updated","properties":{"part":{"id","messageID","sessionID","type","callID"?,"tool"?,"state"?},"delta"?}}
//	{"type":"message.part.delta","properties":{"messageID","partID","field":"text","delta"}}
//	{"type":"session.status","properties":{"sessionID","status":{"type":"busy"}}} … session.error{error}, session.idle
//	{"type":"tool_use","timestamp","sessionID","part":{…}}
//
// A turn is a run, from busy to idle, or in the lines of a program from its first step to a
// finish reason that is not tool-calls. A part comes whole each time. The state of a call is
// pending without args, running with whole ones, completed or error. When a person aborts,
// session.error comes first, and the state of the call afterwards: it is late.
//
// The session of a task has the call of the task as namespace, any other session beside
// the first its own id.
package opencode

import (
	"slices"
	"strings"

	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
	"streamer/internal/stored"
)

// Format returns the format opencode.
func Format() wire.Format {
	return wire.Format{
		Name: "opencode", Shape: "openai",
		Keys:    []string{"properties", "payload", "sessionID"},
		Claims:  claims,
		Console: true,
		New:     func() wire.Decoder { return new(decoder) },
	}
}

func claims(f wire.Frame) wire.Claim {
	e := readEvent(f)
	switch {
	case e.properties.IsObject():
		return wire.SurelyIf(strings.Contains(e.kind.Str, "."), wire.IfKnown)
	case !e.session.IsString():
		return wire.No
	}
	switch e.kind.Str {
	case "step_start", "step_finish", "text", "reasoning", "tool_use":
		return wire.SurelyIf(e.part.IsObject(), wire.IfKnown)
	case "error":
		return wire.SurelyIf(e.failure.IsObject(), wire.IfKnown)
	}
	return wire.IfKnown
}

type event struct {
	kind, properties       jsonscan.Value // of the server
	session, part, failure jsonscan.Value // of a line of a program
}

// readEvent returns the members of an event, which is in a payload where it names its
// directory.
func readEvent(f wire.Frame) (e event) {
	var payload jsonscan.Value
	f.Read(e.kind.From("type"), e.properties.From("properties"), e.session.From("sessionID"), e.part.From("part"), e.failure.From("error"), payload.From("payload"))
	if payload.IsObject() && !e.kind.Present() {
		payload.Read(e.kind.From("type"), e.properties.From("properties"))
	}
	return e
}

type decoder struct {
	Sessions []Session // the latest, oldest first
	Users    wire.IDs  // of the messages of people whose text has not come
	Parts    []Part    // the texts that are not complete, oldest first
	Calls    []Call    // without a result, oldest first
}

// Session is a session of the server.
type Session struct {
	ID        string
	Namespace string
	Running   bool
	Message   string // id of the last message with content
	Part      int    // number of its next part
}

func (s *Session) fields(f *stored.Fields) {
	f.Text("i", &s.ID)
	f.Text("n", &s.Namespace)
	f.Flag("r", &s.Running)
	f.Text("m", &s.Message)
	stored.Number(f, "p", &s.Part)
}

// Part is a text that grows.
type Part struct {
	ID        string
	Number    int
	Len       int // bytes of the text so far
	Reasoning bool
}

func (p *Part) fields(f *stored.Fields) {
	f.Text("i", &p.ID)
	stored.Number(f, "n", &p.Number)
	stored.Number(f, "l", &p.Len)
	f.Flag("r", &p.Reasoning)
}

// Call is a call without a result.
type Call struct {
	ID      string
	Message string
	Session string
	Whole   bool // it has its args
}

func (c *Call) fields(f *stored.Fields) {
	f.Text("i", &c.ID)
	f.Text("m", &c.Message)
	f.Text("s", &c.Session)
	f.Flag("w", &c.Whole)
}

func (d *decoder) Fields(f *stored.Fields) {
	stored.List(f, "s", &d.Sessions, (*Session).fields)
	d.Users.Fields(f, "u")
	stored.List(f, "p", &d.Parts, (*Part).fields)
	stored.List(f, "c", &d.Calls, (*Call).fields)
}

const (
	maxSessions = 64
	maxUsers    = 16
	maxParts    = 64
	maxCalls    = 256
)

func (d *decoder) known(id string) *Session {
	for i := range d.Sessions {
		if d.Sessions[i].ID == wire.Keep(id) {
			return &d.Sessions[i]
		}
	}
	return nil
}

// session returns a session. The first one is that of the stream.
func (d *decoder) session(id string) *Session {
	if s := d.known(id); s != nil {
		return s
	}
	s := Session{ID: wire.Keep(id)}
	if len(d.Sessions) > 0 {
		s.Namespace = s.ID
	}
	if len(d.Sessions) == maxSessions { // the first one stays
		d.Sessions = slices.Delete(d.Sessions, 1, 2)
	}
	d.Sessions = append(d.Sessions, s)
	return &d.Sessions[len(d.Sessions)-1]
}

func (d *decoder) adopt(id, call string) {
	if s := d.session(id); s.Message == "" && s.Namespace != "" {
		s.Namespace = wire.Keep(call)
	}
}

func (s *Session) start(w *wire.Writer) {
	if !s.Running && s.Namespace == "" {
		w.Emit(chunks.Chunk{Kind: chunks.RunStart, Explicit: true})
	}
	s.Running = true
}

// end ends the turn of a session. A turn that ended well has left no call open.
func (d *decoder) end(w *wire.Writer, s *Session, status, text string) {
	if !s.Running {
		return
	}
	d.Calls = slices.DeleteFunc(d.Calls, func(c Call) bool { return c.Session == s.ID })
	s.Running = false
	switch {
	case s.Namespace == "":
		w.Emit(chunks.Chunk{Kind: chunks.RunEnd, Status: status, Text: text, Abandons: status == "completed"})
	case status == "completed":
		w.Emit(chunks.Chunk{Kind: chunks.Ended, Namespace: s.Namespace})
	default:
		w.Emit(chunks.Chunk{Kind: chunks.Failure, Namespace: s.Namespace, Text: text})
	}
}

// fail ends the turn of a session with an error: {"name","data":{"message"}}.
func (d *decoder) fail(w *wire.Writer, s *Session, failure jsonscan.Value) {
	name, status := w.Text(failure.Member("name")), "error"
	if name == "MessageAbortedError" {
		status = "cancelled"
	}
	text := w.FailureText(failure.Member("data"))
	if text == "" {
		text = name
	}
	s.start(w)
	d.end(w, s, status, text)
}
