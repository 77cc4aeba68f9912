// Package encode writes stored events in the form that clients of a protocol read;
// each protocol is one file, and protocols lists them.
//
// The bytes depend on the arguments only. Line ends are LF. No byte of an event can
// be read as a line of the frame. The caller keeps the order of events. The state of
// an encoder is bounded by the open calls and messages of its session, the limits of
// texts that are held (maxHeld, maxBlock, maxQueued), maxNames, maxMessageIDs, the ids in
// its Opening, and what its client sent.
//
// A History writes the messages of a session: what its clients have after they read it.
package encode

import (
	"encoding/json"
	"fmt"
	"strings"

	"streamer/internal/events"
)

// Protocol is a client protocol.
type Protocol struct {
	Name string
	// Header has the response headers of the protocol besides those of every event
	// stream, as pairs of name and value.
	Header [][2]string
	// ByRun states that a stream is one run with the runs that continue it, replayed
	// from its start, and has no cursor. Otherwise a stream is a whole session, and
	// clients resume after the id of an event.
	ByRun bool
	// Whole states that a stream gets the events from the first on, of its session or
	// run, even if the client resumes after one of them. Opening.Since is the cursor
	// of the client: the encoder omits the frames of the events up to it.
	Whole bool
	// Inline states that the encoder reads the fields of events: the caller passes
	// what Parse returns. The protocol has no references to large values, so the
	// caller replaces each by its value.
	Inline bool
	// Bodies states that messages are the bodies of events, in which the caller replaces
	// each reference to a large value by the value.
	Bodies bool
	// Waits states that the stream of a session without runs waits for the first one.
	// Otherwise the client expects to be answered that there is none.
	Waits bool
	// OpenOnly states that clients ask for a run that goes on: one that has ended is
	// streamed only to a client that names what it has.
	OpenOnly bool
	// CutShort states that clients take any orderly end of a stream for the end of
	// its run. A stream that the server ends before Done is cut off, so that clients
	// reconnect.
	CutShort bool

	// Stateless states that Event depends on its arguments alone, so that streams can
	// share its bytes.
	Stateless bool

	New func() Encoder // returns an encoder for one connection
}

// Opening describes the beginning of a stream.
type Opening struct {
	Session     string
	Run         string // the run whose end ends a stream ByRun; "" means the first that ends
	From        uint64 // Event gets the events after this sequence
	Since       uint64 // the client has the events up to this sequence, if the protocol is Whole
	Filter      Filter // of the protocol agent-protocol
	Cursor      string // of the protocol durable-streams; "" means that of Now
	First, Last uint64 // current bounds of the event log
	Now         events.Time
	HeartbeatMS int64 // interval without data before a heartbeat
	RetryMS     int64 // reconnection delay
	// Of a stream ByRun: the ids of the messages of earlier turns, and of those of its turn
	// that are stored, as the input has them.
	Earlier, Stored map[string]bool
	Client          *Client
}

// Client is what the client of a stream sent about itself, in protocols in which it
// does.
type Client struct {
	Thread, Run string            // its own names for them, "" if it sent none
	Messages    []json.RawMessage // its history: objects
}

// Filter selects the frames of a stream. The zero Filter selects all.
type Filter struct {
	Channels   []string
	Namespaces [][]string // prefixes
	Depth      *int       // maximum number of names after a prefix; nil means any
}

// Ending is the reason why the server ends a stream.
type Ending string

// The endings. After each of them, a client resumes after its last id.
const (
	Shutdown    Ending = "shutdown"    // this server stops; another one may serve the stream
	Rotation    Ending = "rotation"    // the stream has reached its maximum age
	Unavailable Ending = "unavailable" // the event log cannot be read
	Expired     Ending = "expired"     // the client's token has expired; it needs another one
)

// Encoder writes the stream of one connection: Open once, and again before the first
// event where the stream had to wait for its beginning, then Event for each event,
// Live once after the last stored event, Heartbeat after an interval without
// data, and End if the server ends the stream. Each of these appends to dst and
// returns it. The events before Live are history: an encoder may write the deltas of
// one text as one.
//
// Event gets the event as it is stored and, if the protocol is Inline, parsed.
// Encoders do not change the parsed event, so the streams of a session can share it.
//
// Every event is passed to Event. A protocol ignores the types that it has no form
// for: usually synthetic messages, which repeat their tool_call_result, and
// tool_call_late_result, orphan_result, rejected, unmatched and interrupted. It has exactly one
// end for each call. What it cannot take after the end of a run, it omits.
type Encoder interface {
	Open(dst []byte, o Opening) []byte
	Event(dst []byte, r events.Record, e *events.Event) []byte
	Live(dst []byte, last uint64) []byte
	Heartbeat(dst []byte) []byte
	End(dst []byte, reason Ending) []byte
	// Done reports whether the stream is complete. The caller then closes the
	// connection after the bytes so far, without End.
	Done() bool
}

// Parse returns the event of a record. Of an event that cannot be read, nothing but
// the fields of the record is certain, and it has the status error: a call or run that
// ends there must end.
func Parse(r events.Record) *events.Event {
	e := new(events.Event)
	if r.Type == events.Synthetic || json.Unmarshal(r.Data, e) != nil {
		return &events.Event{Type: r.Type, EventID: r.ID, Call: r.Call, Status: events.Error}
	}
	return e
}

// protocols lists the protocols. The first is the default.
var protocols = [...]Protocol{
	{Name: "native", Stateless: true, New: func() Encoder { return native{} }},
	{Name: "ai-sdk", Header: aiHeader, ByRun: true, Inline: true, OpenOnly: true, CutShort: true, New: func() Encoder { return new(aiSDK) }},
	{Name: "ag-ui", ByRun: true, Inline: true, Waits: true, New: func() Encoder { return new(agUI) }},
	{Name: "langgraph", ByRun: true, Whole: true, Inline: true, CutShort: true, New: func() Encoder { return new(langGraph) }},
	{Name: "agent-protocol", Whole: true, Inline: true, CutShort: true, New: func() Encoder { return new(agentProtocol) }},
	{Name: "durable-streams", Bodies: true, New: func() Encoder { return new(durable) }},
}

// Find returns the named protocol; "" means the first. The error lists the known
// protocols.
func Find(name string) (*Protocol, error) {
	if name == "" {
		return &protocols[0], nil
	}
	var names []string
	for i := range protocols {
		if protocols[i].Name == name {
			return &protocols[i], nil
		}
		names = append(names, protocols[i].Name)
	}
	return nil, fmt.Errorf("unknown protocol %q; the protocols are %s", name, strings.Join(names, ", "))
}
