package encode

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"streamer/internal/events"
)

// durable encodes the event log as the live mode sse of a stream of JSON messages in the
// Durable Streams Protocol 1.0,
// https://github.com/durable-streams/durable-streams/blob/main/PROTOCOL.md#58-read-stream---live-sse.
// Each event is a message. A frame data has an array of stored events, or one new event.
// The frame control after it has the offset from which a client continues, and the id for
// an EventSource. No stream is ever closed: a session can have a next run.
type durable struct {
	cursor string
	live   bool
	last   uint64 // sequence of the last event
	open   int    // bytes of the open array; 0 means that there is none
}

// maxArray is the number of bytes at which an array of stored events ends.
const maxArray = 256 << 10

// Open appends a comment, so that the client gets the header.
func (d *durable) Open(dst []byte, o Opening) []byte {
	d.cursor = cmp.Or(o.Cursor, strconv.FormatInt(DurableInterval(o.Now), 10))
	return d.Heartbeat(dst)
}

func (d *durable) Event(dst []byte, r events.Record, _ *events.Event) []byte {
	message := DurableMessage(r)
	if d.open == 0 {
		dst = append(dst, "event: data\ndata: [\n"...)
	} else {
		dst = append(dst, "data: ,\n"...)
	}
	dst = data(dst, message)
	d.last, d.open = r.Seq, d.open+len(message)+1
	if d.live || d.open > maxArray {
		dst = d.control(d.end(dst), r.Seq)
	}
	return dst
}

// end appends the end of the open array.
func (d *durable) end(dst []byte) []byte {
	d.open = 0
	return append(dst, "data: ]\n\n"...)
}

func (d *durable) Live(dst []byte, last uint64) []byte {
	if d.live = true; d.open > 0 {
		dst = d.end(dst)
	}
	return d.control(dst, last)
}

// Heartbeat appends a comment without the empty line that would end a frame.
func (*durable) Heartbeat(dst []byte) []byte { return append(dst, ": hb\n"...) }

// End ends the open array: a client connects again after any end.
func (d *durable) End(dst []byte, _ Ending) []byte {
	if d.open == 0 {
		return dst
	}
	return d.control(d.end(dst), d.last)
}

func (*durable) Done() bool { return false }

func (d *durable) control(dst []byte, seq uint64) []byte {
	dst = fmt.Appendf(dst, "id: %d\nevent: control\ndata:{\"streamNextOffset\":%q,\"streamCursor\":%q", seq, DurableOffset(seq), d.cursor)
	if d.live {
		dst = append(dst, `,"upToDate":true`...)
	}
	return append(dst, "}\n\n"...)
}

// DurableOffset returns the offset after the event with a sequence. Offsets have one
// length, because clients compare them as text.
func DurableOffset(seq uint64) string { return fmt.Sprintf("%020d", seq) }

// DurableInterval returns the number of the interval that a time is in. Cursors are such
// numbers.
func DurableInterval(t events.Time) int64 {
	const length = 20 * time.Second
	epoch := events.At(time.Date(2024, 10, 9, 0, 0, 0, 0, time.UTC))
	return int64(t-epoch) / length.Milliseconds()
}

// DurableMessage returns the JSON of an event. A body that is not JSON, which others
// stored, is a string, because it would break the array of messages.
func DurableMessage(r events.Record) []byte {
	switch {
	case r.Type == events.Synthetic:
		return namedMessage(r)
	case !json.Valid(r.Data):
		return events.Quote(string(r.Data))
	}
	return r.Data
}
