package encode

import (
	"bytes"
	"encoding/json"
	"strconv"

	"streamer/internal/events"
)

// native is the event log as it is, in the frames of
// https://html.spec.whatwg.org/multipage/server-sent-events.html: id is the
// sequence, event the type, data the stored body. Frames of the stream itself
// are called stream.…, and have no id, so that they never move a client's
// cursor.
type native struct{}

func (native) Open(dst []byte, o Opening) []byte {
	if o.RetryMS > 0 {
		dst = append(dst, "retry: "...)
		dst = strconv.AppendInt(dst, o.RetryMS, 10)
		dst = append(dst, '\n')
	}
	return control(dst, "open", struct {
		Session     string      `json:"session"`
		From        uint64      `json:"from"`
		First       uint64      `json:"first"`
		Last        uint64      `json:"last"`
		Now         events.Time `json:"now"`
		HeartbeatMS int64       `json:"heartbeat_ms"`
	}{o.Session, o.From, o.First, o.Last, o.Now, o.HeartbeatMS})
}

func (native) Event(dst []byte, e events.Record) []byte {
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

// Heartbeat is a comment without the empty line that would end a frame: some
// parsers take ": hb\n\n" for an event without data and repeat the last id.
func (native) Heartbeat(dst []byte) []byte { return append(dst, ": hb\n"...) }

func (native) End(dst []byte, why Ending) []byte {
	return control(dst, "end", struct {
		Reason Ending `json:"reason"`
	}{why})
}

func control(dst []byte, name string, body any) []byte {
	dst = append(dst, "event: stream."...)
	dst = append(dst, name...)
	dst = append(dst, '\n')
	b, err := json.Marshal(body)
	if err != nil { // the bodies are the structs above: none of their fields can fail
		b = []byte("{}")
	}
	return append(data(dst, b), '\n')
}

// data writes body as data lines. In JSON a CR or LF can only stand between
// tokens, so that a CR may come out as LF and mean the same.
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

// lineEnd finds the first CR or LF: two searches for a byte are many times
// faster than one for either.
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
