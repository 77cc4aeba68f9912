// Package encode turns stored events into the bytes a client of some protocol
// reads from its stream; one file per protocol, and protocols lists them all.
//
// It promises that the bytes depend on its arguments alone, that line ends are
// LF, that every stored event bears its sequence as id and nothing else bears
// an id, and that no byte of an event can be taken for a line of the frame.
// Whoever calls it keeps the order.
package encode

import (
	"fmt"
	"strings"

	"streamer/internal/events"
)

// Opening tells a client where its stream begins.
type Opening struct {
	Session     string
	From        uint64 // events after this sequence follow
	First, Last uint64 // bounds of the event log at this moment
	Now         events.Time
	HeartbeatMS int64 // silence after which a heartbeat is sent
	RetryMS     int64 // how long to wait before connecting again
}

// Ending says in a code why a stream ends that could have gone on.
type Ending string

// The endings. After each a client resumes after the last id it has.
const (
	Shutdown    Ending = "shutdown"    // this server stops; another may answer
	Unavailable Ending = "unavailable" // the event log cannot be read just now
)

// Encoder writes the stream of one connection: Open once, then Event for each
// event, Live once when the history is done, Heartbeat in silences, and End
// where the server ends the stream. Each appends to dst and gives the result.
type Encoder interface {
	Open(dst []byte, o Opening) []byte
	Event(dst []byte, e events.Record) []byte
	Live(dst []byte, last uint64) []byte
	Heartbeat(dst []byte) []byte
	End(dst []byte, why Ending) []byte
}

type protocol struct {
	name string
	open func() Encoder
}

var protocols = [...]protocol{
	{"native", func() Encoder { return native{} }},
}

// New gives a fresh encoder of the named protocol; "" is the first. The error
// names those there are.
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
	return nil, fmt.Errorf("encode: unknown protocol %q (there are: %s)", name, strings.Join(names, ", "))
}
