package encode

import (
	"bytes"
	"encoding/json"
	"strconv"

	"streamer/internal/events"
)

// native encodes the event log as frames of
// https://html.spec.whatwg.org/multipage/server-sent-events.html: id is the
// sequence, event is the type, data is the stored body. Frames about the stream
// itself are named stream.… and have no id, so they never move a client's cursor.
type native struct{}

func (native) Open(dst []byte, o Opening) []byte {
	if o.RetryMS > 0 {
		dst = append(dst, "retry: "...)
		dst = strconv.AppendInt(dst, o.RetryMS, 10)
		dst = append(dst, '\n')
	}
	return control(dst, "open", struct {
		Session     string      `json:"session,omitempty"` // absent if there are several
		From        uint64      `json:"from"`
		First       uint64      `json:"first"`
		Last        uint64      `json:"last"`
		Now         events.Time `json:"now"`
		HeartbeatMS int64       `json:"heartbeat_ms"`
	}{o.Session, o.From, o.First, o.Last, o.Now, o.HeartbeatMS})
}

func (native) Event(dst []byte, e events.Record, _ *events.Event) []byte {
	dst = append(dst, "id: "...)
	dst = strconv.AppendUint(dst, e.Seq, 10)
	dst = append(dst, "\nevent: "...)
	dst = append(dst, e.Type...)
	dst = append(dst, '\n')
	return append(data(dst, e.Data), '\n')
}

func (native) Live(dst []byte, last uint64) []byte {
	return control(dst, "live", struct {
		Last uint64 `json:"last"`
	}{last})
}

// Heartbeat appends a comment without the empty line that would end a frame, because
// some parsers read ": hb\n\n" as an event without data and repeat the last id.
func (native) Heartbeat(dst []byte) []byte { return append(dst, ": hb\n"...) }

func (native) End(dst []byte, reason Ending) []byte {
	return control(dst, "end", struct {
		Reason Ending `json:"reason"`
	}{reason})
}

func (native) Done() bool { return false }

func control(dst []byte, name string, body any) []byte {
	dst = append(dst, "event: stream."...)
	dst = append(dst, name...)
	dst = append(dst, '\n')
	b, err := json.Marshal(body)
	if err != nil { // cannot happen for the structs above
		b = []byte("{}")
	}
	return append(data(dst, b), '\n')
}

// data appends body as data lines. In JSON, CR and LF can only be between tokens,
// so a CR may become LF.
func data(dst, body []byte) []byte {
	for {
		dst = append(dst, "data: "...)
		i := lineEnd(body)
		if i < 0 {
			dst = append(dst, body...)
			return append(dst, '\n')
		}
		dst = append(dst, body[:i]...)
		dst = append(dst, '\n')
		body = body[i+1:]
	}
}

// lineEnd returns the index of the first CR or LF. Two searches for one byte are
// many times faster than one search for both.
func lineEnd(b []byte) int {
	lf := bytes.IndexByte(b, '\n')
	if lf >= 0 {
		b = b[:lf]
	}
	if cr := bytes.IndexByte(b, '\r'); cr >= 0 {
		return cr
	}
	return lf
}

// sessions is the native protocol of a stream of several sessions. Each event names
// its session in its body. A synthetic message, which has no fields of an event, is
// the field message of an object that does.
type sessions struct{ native }

// OfSessions returns the protocol of streams of several sessions.
func OfSessions() *Protocol { return &ofSessions }

var ofSessions = Protocol{Name: "native", New: func() Encoder { return sessions{} }}

func (s sessions) Event(dst []byte, e events.Record, _ *events.Event) []byte {
	if e.Type == events.Synthetic {
		e.Data = namedMessage(e)
	}
	return s.native.Event(dst, e, nil)
}

// namedMessage returns a synthetic message as the field message of an object that has the
// fields of an event.
func namedMessage(e events.Record) []byte {
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
	return body
}
