package broker

import (
	"errors"
	"strconv"

	"streamer/internal/events"
	"streamer/internal/inputs"

	"github.com/nats-io/nats.go"
)

// errEnough ends a read.
var errEnough = errors.New("enough")

// input returns the publish of an input, as a client publishes it.
func input(token string, kind inputs.Kind, msgID string, data []byte) *Pub {
	return &Pub{Subject: "llm." + token + "." + string(kind), Header: nats.Header{HeaderMsgID: {msgID}}, Data: data}
}

// ownInputs returns publishes of inputs that only streamer publishes.
func ownInputs(p int, token string) []*Pub {
	root := "_llm." + strconv.Itoa(p) + "."
	return []*Pub{
		{Subject: root + "rules", Header: nats.Header{HeaderMsgID: {"r"}}, Data: []byte("{}")},
		{Subject: root + token + ".clock", Header: nats.Header{HeaderMsgID: {"c"}}, Data: []byte("{}")},
	}
}

// event returns the publish of event n of a session, after the one at prev.
func event(token string, n int, prev uint64) *Pub {
	return &Pub{
		Subject: "_toolcalls." + token + ".event." + string(events.ToolCallArgsDelta),
		Header: nats.Header{
			events.HeaderEventID: {events.ID{Seq: uint64(n)}.String()}, events.HeaderCall: {"1.0"},
			HeaderPrev: {strconv.FormatUint(prev, 10)}, HeaderPrevOf: {"toolcalls." + token + ".>"},
		},
		Data: []byte(`{"n":` + strconv.Itoa(n) + `}`),
	}
}
