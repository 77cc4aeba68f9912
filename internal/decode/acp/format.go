// Package acp reads the Agent Client Protocol, versions 1 and 2, as JSON-RPC messages of
// the agent, of the client, or of both in one log: https://agentclientprotocol.com
//
//	session/prompt → session/update{agent_message_chunk, agent_thought_chunk} → session/update{tool_call}
//	→ session/request_permission and its response → session/update{tool_call_update} → response{stopReason}
//
// A prompt is a run. It ends with the response to it, or in version 2 with a
// state_update to idle. Messages have ids only in some streams: the first text or call
// after all calls of a message have ended begins the next one, unless its id is that of
// the open one.
//
// The protocol has no names of tools. The name of a call is the one that Claude Code
// adds (_meta.claudeCode.toolName), or else its kind, or else its title, where the kind
// is other. The args are rawInput. They are complete when the call runs and has some,
// waits for a permission, or ends.
//
// What an agent sends while it loads a session is history and is ignored.
package acp

import (
	"slices"
	"strings"

	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
	"streamer/internal/stored"
)

// Format returns the format acp.
func Format() wire.Format {
	return wire.Format{
		Name: "acp", Shape: "openai",
		Keys:    []string{"jsonrpc", "method"},
		Claims:  claims,
		Console: true,
		New:     func() wire.Decoder { return new(decoder) },
		FindSlots: wire.Slots{
			wire.TextSlot:    {"params.update.content.text"},
			wire.MessageSlot: {"params.update.messageId"},
			wire.Unread:      {"params.sessionId"},
		}.Of(),
	}
}

// claims claims messages. Other protocols are JSON-RPC, too, so a message without a content of this one is claimed only if the format is known.
// Some programs leave out the member jsonrpc.
func claims(f wire.Frame) wire.Claim {
	var m message
	m.read(f)
	sure := false
	switch method := m.method.Str; method {
	case "session/update":
		sure = m.params.Member("update").Member("sessionUpdate").IsString()
	case "session/request_permission":
		sure = m.params.IsObject()
	case "initialize":
		sure = m.version.IsString() && m.params.Member("protocolVersion").Kind == jsonscan.Number
	case "":
		sure = m.version.IsString() && m.answers()
	default:
		sure = m.version.IsString() && strings.HasPrefix(method, "session/")
	}
	if sure || m.version.IsString() || m.method.IsString() || m.id.Present() && (m.result.Present() || m.failure.Present()) {
		return wire.SurelyIf(sure, wire.IfKnown)
	}
	return wire.No
}

func (m *message) answers() bool {
	return m.result.Member("stopReason").IsString() || m.result.Member("outcome").Member("outcome").IsString() ||
		m.result.Member("protocolVersion").Kind == jsonscan.Number
}

type message struct {
	version, id, method, params, result, failure jsonscan.Value
}

func (m *message) read(f wire.Frame) {
	f.Read(
		m.version.From("jsonrpc"), m.id.From("id"), m.method.From("method"), m.params.From("params"),
		m.result.From("result"), m.failure.From("error"),
	)
}

// decoder decodes the messages of a session. Its fields are the state between them. Ids
// of requests are kept as they are written.
type decoder struct {
	Run       bool     // a prompt is being answered
	Cancelled bool     // the client has cancelled it
	Prompts   []string // ids of the prompts without a response
	Loads     []string // ids of the requests to load a session, likewise
	Asks      []Ask    // requests for a permission or for input, likewise
	Denied    []string // ids of the calls that a person has rejected

	Message  string // id of the open message
	Open     bool   // a message has begun
	Answered bool   // a call of the message has its result
	// Discarded: a call of the message ended before it had args.
	Discarded bool
	Part      int    // number of the content of the message
	Written   bool   // that content has begun
	Asking    bool   // the last update was a piece of a human message
	Asked     string // the id of that message

	Calls []Call // the latest calls, oldest first
}

func (d *decoder) Fields(f *stored.Fields) {
	f.Flag("r", &d.Run)
	f.Flag("x", &d.Cancelled)
	f.Texts("q", &d.Prompts)
	f.Texts("h", &d.Loads)
	stored.List(f, "k", &d.Asks, (*Ask).fields)
	f.Texts("y", &d.Denied)
	f.Text("m", &d.Message)
	f.Flag("o", &d.Open)
	f.Flag("a", &d.Answered)
	f.Flag("d", &d.Discarded)
	stored.Number(f, "p", &d.Part)
	f.Flag("w", &d.Written)
	f.Flag("u", &d.Asking)
	f.Text("i", &d.Asked)
	stored.List(f, "c", &d.Calls, (*Call).fields)
}

// Ask is a request for a permission, or for input.
type Ask struct {
	ID      string
	Call    string   // id of the call
	Rejects []string // the options that reject the call
}

func (a *Ask) fields(f *stored.Fields) {
	f.Text("i", &a.ID)
	f.Text("c", &a.Call)
	f.Texts("r", &a.Rejects)
}

// The maximum numbers of elements of the state. The oldest are removed first.
const (
	maxRequests = 16
	maxAsks     = 100
	maxOptions  = 16
	maxCalls    = 1000
)

// Decode emits the chunks of a message. Requests of files, terminals and extensions are
// no part of the conversation.
func (d *decoder) Decode(w *wire.Writer, f wire.Frame) *wire.Problem {
	var m message
	m.read(f)
	switch m.method.Str {
	case "":
		d.response(w, &m)
	case "session/update":
		return d.update(w, m.params.Member("update"))
	case "session/request_permission":
		return d.ask(w, &m)
	case "elicitation/create":
		d.elicit(w, &m)
	case "session/prompt":
		d.Prompts = add(d.Prompts, m.id)
		w.Emit(chunks.Chunk{Kind: chunks.Human, Text: w.PlainText(m.params.Member("prompt"))})
		d.startRun(w)
	case "session/load":
		d.Loads = add(d.Loads, m.id)
	case "session/cancel":
		d.Cancelled = d.Run
	case "$/cancel_request":
		if slices.Contains(d.Prompts, key(m.params.Member("requestId"))) {
			d.Cancelled = true
		}
	case "initialize":
		d.restart(w)
	default:
		if !manages(m.method.Str) {
			w.Unknown("message", m.method.Str, f.JSON)
		}
	}
	return nil
}

// manages reports whether a request is no part of a conversation: those of files, of
// terminals, of extensions and of other protocols inside this one, and those that open or
// set up a session.
func manages(method string) bool {
	switch method {
	case "authenticate", "logout", "session/new", "session/resume", "session/fork", "session/list", "session/close", "session/delete":
		return true
	}
	return wire.HasAnyPrefix(method, "_", "$/", "fs/", "terminal/", "mcp/", "elicitation/", "session/set_")
}

func key(id jsonscan.Value) string { return wire.Keep(id.Raw) }

func add(list []string, id jsonscan.Value) []string {
	if !id.Present() {
		return list
	}
	return append(wire.MakeRoom(list, maxRequests), key(id))
}

func take(list []string, id string) ([]string, bool) {
	i := slices.Index(list, id)
	if i < 0 {
		return list, false
	}
	return slices.Delete(list, i, i+1), true
}

func (d *decoder) chunk(kind chunks.Kind) chunks.Chunk {
	return chunks.Chunk{Kind: kind, Message: d.Message}
}

// Fill completes the chunk of a text or thought, which belongs to the open message.
func (d *decoder) Fill(_ *wire.Writer, _ uint8, c *chunks.Chunk) bool {
	goes := !d.Answered && (c.Message == "" || c.Kind == chunks.Reasoning) || c.Message != "" && c.Message == d.Message
	if !d.Open || !goes || d.Asking || len(d.Loads) > 0 {
		return false
	}
	d.Written = true
	c.Message, c.Part = d.Message, d.Part
	return true
}
