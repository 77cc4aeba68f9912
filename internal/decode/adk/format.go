// Package adk reads the events of Google's Agent Development Kit: those of its server
// (/run_sse) and of sessions, from Python and JavaScript.
// https://adk.dev/events/
//
//	{"invocationId","author","id","content":{"role","parts":[{"text","functionCall","functionResponse"}]},"partial"?,"longRunningToolIds"?,
//	 "actions","finishReason"?,"usageMetadata"?,"errorCode"?,"errorMessage"?}
//
// Each member may also be spelled with underscores. An invocation is a run, which has no end
// on the wire. The event without partial repeats the texts of the partial ones before it.
//
// A long-running call gets a response in its invocation, which is progress, and another one
// later. The calls adk_request_confirmation, adk_request_credential and adk_request_input are
// no calls but waits, of the call that they name. What the waiting call returns is no result.
// An agent other than the first has its name as namespace.
package adk

import (
	"slices"

	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
	"streamer/internal/stored"
)

// Format returns the format adk.
func Format() wire.Format {
	return wire.Format{
		Name: "adk", Shape: "openai",
		Keys:   []string{"invocationId", "invocation_id"},
		Claims: claims,
		New:    func() wire.Decoder { return new(decoder) },
	}
}

func claims(f wire.Frame) wire.Claim {
	var e event
	e.read(f)
	switch {
	case e.invocation.IsString():
		return wire.SurelyIf(e.author.IsString(), wire.IfKnown)
	case e.failure.Present():
		return wire.IfKnown
	}
	return wire.No
}

type event struct {
	id, author, invocation, content, partial, long, reason, usage, code, message, interrupted, failure jsonscan.Value
}

func (e *event) read(f wire.Frame) {
	f.Read(
		e.content.From("content"), e.invocation.From("invocationId"), e.author.From("author"), e.id.From("id"), e.partial.From("partial"),
		e.long.From("longRunningToolIds"), e.reason.From("finishReason"), e.usage.From("usageMetadata"), e.code.From("errorCode"),
		e.message.From("errorMessage"), e.interrupted.From("interrupted"), e.failure.From("error"),
		e.invocation.From("invocation_id"), e.long.From("long_running_tool_ids"), e.reason.From("finish_reason"),
		e.usage.From("usage_metadata"), e.code.From("error_code"), e.message.From("error_message"),
	)
}

type decoder struct {
	Run    string // id of the invocation
	Author string // the first agent
	Pieces []Piece
	Long   []Long
	Asks   []Ask
}

// Piece is a message of which only partial events came.
type Piece struct{ Author, ID string }

func (p *Piece) fields(f *stored.Fields) {
	f.Text("a", &p.Author)
	f.Text("i", &p.ID)
}

// Long is a long-running call without its last response.
type Long struct{ ID, Run string }

func (l *Long) fields(f *stored.Fields) {
	f.Text("i", &l.ID)
	f.Text("r", &l.Run)
}

// Ask is a request to a person.
type Ask struct {
	ID, Call, Run string
	Told          bool // the call has returned that it waits
}

func (a *Ask) fields(f *stored.Fields) {
	f.Text("i", &a.ID)
	f.Text("c", &a.Call)
	f.Text("r", &a.Run)
	f.Flag("t", &a.Told)
}

func (d *decoder) Fields(f *stored.Fields) {
	f.Text("r", &d.Run)
	f.Text("a", &d.Author)
	stored.List(f, "p", &d.Pieces, (*Piece).fields)
	stored.List(f, "l", &d.Long, (*Long).fields)
	stored.List(f, "k", &d.Asks, (*Ask).fields)
}

const (
	maxPieces = 64
	maxCalls  = 256
)

func (d *decoder) Decode(w *wire.Writer, f wire.Frame) *wire.Problem {
	var e event
	e.read(f)
	id, author, run := w.Text(e.id), w.Text(e.author), w.Text(e.invocation)
	if run != "" && wire.Keep(run) != d.Run {
		d.Run, d.Pieces = wire.Keep(run), nil
		w.Emit(chunks.Chunk{Kind: chunks.RunStart, Run: run})
	}
	if author != "user" && d.Author == "" {
		d.Author = wire.Keep(author)
	}
	t := turn{Writer: w, d: d, e: &e, of: chunks.Chunk{Namespace: d.namespace(author), Message: id}, author: wire.Keep(author)}
	problem := t.content()
	switch {
	case e.failure.Present():
		w.FailRun("", w.FailureText(e.failure))
	case e.message.IsString() || e.code.Present() && !t.any:
		text := w.Text(e.message)
		if text == "" {
			text = w.Text(e.code)
		}
		w.FailRun("", text)
	case e.interrupted.Kind == jsonscan.True:
		w.Emit(chunks.Chunk{Kind: chunks.RunEnd, Status: "interrupted"})
	}
	return problem
}

func (d *decoder) namespace(author string) string {
	if author == "user" || wire.Keep(author) == d.Author {
		return ""
	}
	return author
}

func isWait(name string) bool {
	return name == "adk_request_confirmation" || name == "adk_request_credential" || name == "adk_request_input"
}

// pending reports whether a response is not the last one of its call. The answer of a person
// is not in every stream, so the second response of a call that waited is its result, and one
// in another run too.
func (d *decoder) pending(id string) bool {
	at := slices.IndexFunc(d.Asks, func(a Ask) bool { return a.Call == wire.Keep(id) })
	switch {
	case at < 0:
		return slices.Contains(d.Long, Long{wire.Keep(id), d.Run})
	case d.Asks[at].Run == d.Run && !d.Asks[at].Told:
		d.Asks[at].Told = true
		return true
	}
	d.Asks = slices.Delete(d.Asks, at, at+1)
	return false
}
