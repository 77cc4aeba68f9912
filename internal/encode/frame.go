package encode

import (
	"bytes"
	"encoding/json"
	"strconv"

	"streamer/internal/events"
)

// output holds the bytes of the caller while an event is encoded.
type output struct{ dst []byte }

// Heartbeat appends a comment without the empty line that would end a frame: some clients
// read that as an event without data. It may be called during Event.
func (*output) Heartbeat(dst []byte) []byte { return append(dst, ": hb\n"...) }

// End appends nothing: the connection is cut off, and the client continues or repeats the
// stream on another one.
func (*output) End(dst []byte, _ Ending) []byte { return dst }

// take returns the bytes, and holds them no longer.
func (o *output) take() []byte {
	dst := o.dst
	o.dst = nil
	return dst
}

// dataFrame appends a frame whose only field is v as JSON on one line. Where v
// cannot be written as JSON, because raw JSON in it is invalid, it appends nothing.
func dataFrame(dst []byte, v any) []byte {
	buf := bytes.NewBuffer(append(dst, "data: "...))
	enc := json.NewEncoder(buf)
	enc.SetEscapeHTML(false)
	if enc.Encode(v) != nil { // ends with LF
		return dst
	}
	return append(buf.Bytes(), '\n')
}

// deltaFrame appends the frame of a delta of the text that id names: the bytes of
// dataFrame without its allocations, because most frames are deltas.
func deltaFrame(dst []byte, kind string, at events.Time, idName, id, textName, text string) []byte {
	dst = append(dst, `data: {"type":"`...)
	dst = append(dst, kind...)
	dst = append(dst, '"')
	if at != 0 {
		dst = strconv.AppendInt(append(dst, `,"timestamp":`...), int64(at), 10)
	}
	dst = appendMember(dst, idName, id)
	dst = appendMember(dst, textName, text)
	return append(dst, "}\n\n"...)
}

// appendMember appends a member of an object after another one.
func appendMember(dst []byte, name, value string) []byte {
	dst = append(append(append(dst, `,"`...), name...), `":`...)
	return events.AppendQuoted(dst, value)
}
