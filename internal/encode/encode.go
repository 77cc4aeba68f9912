// Package encode writes stored events in the form that clients of a protocol read;
// each protocol is one file, and protocols lists them.
//
// The bytes depend on the arguments only. Line ends are LF. Every stored event has
// its sequence as id, and no other frame has an id. No byte of an event can be read
// as a line of the frame. The caller keeps the order of events.
package encode

import (
	"fmt"
	"strings"

	"streamer/internal/events"
)

// Opening describes the beginning of a stream.
type Opening struct {
	Session     string
	From        uint64 // the stream has the events after this sequence
	First, Last uint64 // current bounds of the event log
	Now         events.Time
	HeartbeatMS int64 // interval without data before a heartbeat
	RetryMS     int64 // reconnection delay
}

// Ending is the reason why the server ends a stream.
type Ending string

// The endings. After each of them, a client resumes after its last id.
const (
	Shutdown    Ending = "shutdown"    // this server stops; another one may serve the stream
	Unavailable Ending = "unavailable" // the event log cannot be read
)

// Encoder writes the stream of one connection: Open once, then Event for each
// event, Live once after the last stored event, Heartbeat after an interval without
// data, and End if the server ends the stream. Each method appends to dst and
// returns it.
type Encoder interface {
	Open(dst []byte, o Opening) []byte
	Event(dst []byte, e events.Record) []byte
	Live(dst []byte, last uint64) []byte
	Heartbeat(dst []byte) []byte
	End(dst []byte, reason Ending) []byte
}

// protocol is a named encoder.
type protocol struct {
	name string
	open func() Encoder
}

// protocols lists the protocols. The first is the default.
var protocols = [...]protocol{
	{"native", func() Encoder { return native{} }},
}

// New returns a new encoder of the named protocol; "" means the first. The error
// lists the known protocols.
func New(name string) (Encoder, error) {
	if name == "" {
		return protocols[0].open(), nil
	}
	var names []string
	for _, p := range protocols {
		if p.name == name {
			return p.open(), nil
		}
		names = append(names, p.name)
	}
	return nil, fmt.Errorf("encode: unknown protocol %q (known: %s)", name, strings.Join(names, ", "))
}
