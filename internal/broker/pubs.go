package broker

import (
	"streamer/internal/events"

	"github.com/nats-io/nats.go"
)

// Kinds of inputs. Clients publish the first five, streamer the others.
const (
	KindDelta     = "delta"
	KindResult    = "result"
	KindProgress  = "progress"
	KindInterrupt = "interrupt"
	KindEnd       = "end"
	KindClock     = "clock"
	KindRules     = "rules"
)

// EventPub appends an event to the chain of its session's token. Of e it uses
// Type, EventID and Call; body is what e.Body gave. prev is the sequence of
// the chain's last message, 0 if it is empty. trace is the trace context
// (traceparent, tracestate, …) to carry.
func (b *Broker) EventPub(token string, e *events.Event, body []byte, trace map[string]string, prev uint64) *Pub {
	return nil
}

// InputPub publishes an input as a client would, on llm.<token>.<kind>; kind
// is one of the first five. msgID must be unique in the stream.
func (b *Broker) InputPub(token, kind, msgID string, header nats.Header, data []byte) *Pub {
	return nil
}

// ClockPub publishes a clock input of a session.
func (b *Broker) ClockPub(token, msgID string, data []byte) *Pub { return nil }

// RulesPub publishes a change of settings of partition p.
func (b *Broker) RulesPub(p int, msgID string, data []byte) *Pub { return nil }
