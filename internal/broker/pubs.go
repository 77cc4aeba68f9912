package broker

import (
	"slices"
	"strconv"

	"streamer/internal/events"
	"streamer/internal/inputs"

	"github.com/nats-io/nats.go"
)

// Headers of NATS, from its ADR-4, ADR-22 and ADR-43. The condition's header
// is stored with the message, and so tells every reader what stands before it.
const (
	headerMsgID   = "Nats-Msg-Id"
	headerPrev    = "Nats-Expected-Last-Subject-Sequence"
	headerPrevOf  = "Nats-Expected-Last-Subject-Sequence-Subject"
	headerTTL     = "Nats-TTL"
	headerSeq     = "Nats-Sequence"
	headerTime    = "Nats-Time-Stamp"
	headerSubject = "Nats-Subject"
)

// EventPub appends an event to the chain of its session's token. Of e it uses
// Type, EventID and Call; body is what e.Body gave. prev is the sequence of
// the chain's last message, 0 if it is empty. trace is the trace context to
// carry: only the keys in inputs.TraceHeaders count.
func (b *Broker) EventPub(token string, e *events.Event, body []byte, trace map[string]string, prev uint64) *Pub {
	h := make(nats.Header, 4+len(trace))
	values := make([]string, 0, 4+len(trace)) // of all headers: one allocation
	set := func(k, v string) {
		values = append(values, v)
		h[k] = values[len(values)-1 : len(values) : len(values)]
	}
	for _, k := range inputs.TraceHeaders() {
		if v := trace[k]; v != "" && len(v) <= inputs.MaxTrace {
			set(k, v)
		}
	}
	set(events.HeaderEventID, e.EventID.String())
	if e.Call != "" {
		set(events.HeaderCall, e.Call)
	}
	if !b.opts.NoCondition {
		set(headerPrev, strconv.FormatUint(prev, 10))
		// Always this same string: on replicated streams the server knows
		// conditions in flight by it.
		set(headerPrevOf, chain(token))
	}
	// Published under a name of its own, so that subscribers of toolcalls.>
	// never see an append that is refused.
	return &Pub{Subject: "_" + e.Subject(token), Header: h, Data: body}
}

// chain is the filter over all events of a session.
func chain(token string) string { return "toolcalls." + token + ".>" }

// InputPub publishes an input as a client would, on llm.<token>.<kind>; kind
// is one of the first five. msgID must be unique in the stream.
func (b *Broker) InputPub(token string, kind inputs.Kind, msgID string, header inputs.Header, data []byte) *Pub {
	h := make(nats.Header, len(header)+1)
	for k, v := range header {
		h[k] = slices.Clone(v)
	}
	h[headerMsgID] = []string{msgID}
	return &Pub{Subject: "llm." + token + "." + string(kind), Header: h, Data: data}
}

// ClockPub publishes a clock input of a session.
func (b *Broker) ClockPub(token, msgID string, data []byte) *Pub {
	return b.ownInput(partitionRoot(b.Partition(token))+token+"."+string(inputs.Clock), msgID, data)
}

// RulesPub publishes a change of settings of partition p.
func (b *Broker) RulesPub(p int, msgID string, data []byte) *Pub {
	return b.ownInput(partitionRoot(p)+string(inputs.Rules), msgID, data)
}

func (b *Broker) ownInput(subject, msgID string, data []byte) *Pub {
	return &Pub{Subject: subject, Header: nats.Header{headerMsgID: {msgID}}, Data: data}
}

// partitionRoot is what the subjects of a partition's inputs begin with.
func partitionRoot(p int) string { return "_llm." + strconv.Itoa(p) + "." }
