package encode

import (
	"encoding/json"

	"streamer/internal/events"
)

// sessions is the native protocol of a stream of several sessions. Each event names
// its session in its body. A synthetic message, which has no fields of an event, is
// the field message of an object that does.
type sessions struct{ native }

// OfSessions returns the protocol of streams of several sessions.
func OfSessions() *Protocol { return &ofSessions }

var ofSessions = Protocol{Name: "native", open: func() Encoder { return sessions{} }}

func (s sessions) Event(dst []byte, e events.Record, _ *events.Event) []byte {
	if e.Type != events.Synthetic {
		return s.native.Event(dst, e, nil)
	}
	name, err := events.ParseToken(e.Token)
	if err != nil { // a rejected input is reported under its token as it came
		name = e.Token
	}
	body, err := json.Marshal(struct {
		Type    events.Type     `json:"type"`
		EventID events.ID       `json:"event_id"`
		Session string          `json:"session"`
		Call    string          `json:"call,omitempty"`
		Message json.RawMessage `json:"message"`
	}{e.Type, e.ID, name, e.Call, e.Data})
	if err != nil { // a stored message is valid JSON; anything else is sent as text
		body = events.Quote(string(e.Data))
	}
	e.Data = body
	return s.native.Event(dst, e, nil)
}
