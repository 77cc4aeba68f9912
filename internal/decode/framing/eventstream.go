package framing

import (
	"cmp"
	"fmt"
	"hash/crc32"

	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
	"streamer/internal/stored"
)

// AWS event stream, the content type application/vnd.amazon.eventstream:
// https://smithy.io/2.0/aws/amazon-eventstream.html
//
//	length u32 | length of headers u32 | CRC-32 of these u32 | headers | payload | CRC-32 of all before u32
//
// Numbers are big endian. A frame of ConverseStream is the event that its header
// :event-type names, with the payload as JSON. A frame of InvokeModelWithResponseStream
// has {"bytes":"<base64>"}, see unpack. A frame of the message type exception or error
// ends the stream as failed.
//
// The bytes may be cut anywhere between inputs. The cut frame is part of the State. An
// input that begins with a frame by itself ends it: the cut frame is lost and reported.
// Where the checksum of a frame is wrong, the first input in it that may be read alone is
// read again.

// FrameBytes is a frame of an AWS event stream that was cut between two inputs.
type FrameBytes struct {
	Data []byte
	// Alone is the offset of the first input in Data that may be read alone; 0 if there
	// is none.
	Alone int
	Skip  int // bytes to come of a frame that is too long
}

func (m *FrameBytes) fields(f *stored.Fields) {
	f.Bytes("d", &m.Data)
	stored.Number(f, "a", &m.Alone)
	stored.Number(f, "k", &m.Skip)
}

// The sizes of a frame, in bytes.
const (
	preludeSize = 12
	minFrame    = preludeSize + 4
	maxHeaders  = 128 << 10
)

// beginsFrame reports whether data begins like a frame. No text begins with the first
// byte of a length.
func beginsFrame(data string) bool { return data[0] <= 1 }

// validPrelude reports whether a text begins with the lengths of a frame and their
// checksum.
func validPrelude(data string) bool {
	return len(data) >= preludeSize && crc32.ChecksumIEEE([]byte(data[:8])) == number(data[8:])
}

func number(data string) uint32 {
	return uint32(data[0])<<24 | uint32(data[1])<<16 | uint32(data[2])<<8 | uint32(data[3])
}

func (r *Reader) openFrames() {
	in, m := &r.in, r.Cut.Frame
	in.framing = eventStream
	if m == nil {
		return
	}
	if n := min(m.Skip, len(in.data)); n > 0 {
		in.at = n
		if m.Skip -= n; m.Skip == 0 {
			r.Cut.Frame = nil
		}
		return
	}
	if validPrelude(in.data) {
		r.Wrong = wire.WrongShape("a frame was cut off after %d bytes and never continued", len(m.Data))
		r.Cut.Frame = nil
		return
	}
	size, alone := len(m.Data), standsAlone(in.data)
	m.Data = append(m.Data, in.data...)
	if m.cut() && len(m.Data) <= r.limit+maxHeaders {
		if m.Alone == 0 && alone {
			m.Alone = size
		}
		r.goesOn(size)
		in.framing = nothing
		return
	}
	r.Cut.Frame = nil
	*in = input{data: wire.Alias(m.Data), framing: eventStream}
	in.text.before, in.text.starts[0] = size, m.Alone
	if alone {
		in.text.starts[1] = size
	}
}

// cut reports whether the frame is valid so far and needs more bytes.
func (m *FrameBytes) cut() bool {
	data := wire.Alias(m.Data)
	return len(data) < preludeSize || validPrelude(data) && int(number(data)) > len(data)
}

// nextFrame returns the event of the next frame. It returns none where the input ends or
// other text follows.
func (r *Reader) nextFrame() (Event, bool) {
	in := &r.in
	for {
		rest := in.data[in.at:]
		switch {
		case rest == "":
			in.framing = nothing
			return Event{}, false
		case !beginsFrame(rest):
			in.framing = jsonText
			return Event{}, false
		case len(rest) < preludeSize:
			return r.keepFrame(rest)
		case !validPrelude(rest):
			return r.badFrame(len(rest), "the checksum of the lengths of a frame is wrong")
		}
		length, headers := int(number(rest)), int(number(rest[4:]))
		switch {
		case length < minFrame || headers > min(maxHeaders, length-minFrame):
			return r.badFrame(len(rest), "the lengths of a frame are impossible")
		case length > r.limit+maxHeaders:
			return r.longFrame(rest, length)
		case len(rest) < length:
			return r.keepFrame(rest)
		case crc32.ChecksumIEEE([]byte(rest[:length-4])) != number(rest[length-4:]):
			return r.badFrame(length, "the checksum of a frame is wrong")
		}
		if p, ok := r.frameEvent(rest[preludeSize:preludeSize+headers], rest[preludeSize+headers:length-4], in.at+preludeSize+headers); ok {
			in.at += length
			return p, true
		}
		in.at += length
	}
}

// keepFrame stores the rest of the input, which is the beginning of a frame. At the end
// of the stream it is rejected.
func (r *Reader) keepFrame(rest string) (Event, bool) {
	in := &r.in
	if in.text.last {
		return r.badFrame(len(rest), fmt.Sprintf("a frame was cut off after %d bytes", len(rest)))
	}
	r.Cut.Frame = &FrameBytes{Data: []byte(rest)}
	r.Cut.Frame.Alone = max(0, in.nextAlone()-in.at)
	r.keepFrom(in.at)
	in.framing = nothing
	return Event{}, false
}

// badFrame rejects n bytes, or those before the next input that may be read alone.
func (r *Reader) badFrame(n int, text string) (Event, bool) {
	in := &r.in
	p := Event{Base: in.at, Problem: &wire.Problem{Code: wire.BadShape, Text: text}}
	end := in.at + n
	if at := in.nextAlone(); at > 0 {
		end = min(end, at)
	}
	in.at = end
	return p, true
}

func (r *Reader) longFrame(rest string, length int) (Event, bool) {
	p := Event{Base: r.in.at, Problem: r.tooLong()}
	r.in.at += min(length, len(rest))
	if length > len(rest) {
		r.Cut.Frame = &FrameBytes{Skip: length - len(rest)}
	}
	return p, true
}

// frameEvent returns the event of a frame. It reports false for a frame without one.
func (r *Reader) frameEvent(headers, payload string, base int) (Event, bool) {
	h, ok := readHeaders(headers)
	switch {
	case !ok:
		return Event{Base: base, Problem: wire.WrongShape("the headers of a frame are invalid")}, true
	case h.kind == "exception":
		return Event{Base: base, Failure: failureOf(payload, h.exception)}, true
	case h.kind == "error":
		return Event{Base: base, Failure: cmp.Or(h.message, h.code, "error")}, true
	}
	p := trimmed(payload, base)
	p.Name = h.event
	return p, p.Text != ""
}

func failureOf(payload, exception string) string {
	if text := wire.Trim(payload); wire.Check(text) == nil {
		var w wire.Writer
		v := jsonscan.ValueOf(text)
		exception = cmp.Or(w.Text(v.Member("message")), w.Text(v.Member("Message")), w.Text(v.Member("originalMessage")), exception)
	}
	return cmp.Or(exception, "exception")
}

type frameHeaders struct {
	kind      string // :message-type: event, exception or error
	event     string // :event-type
	exception string // :exception-type
	code      string // :error-code
	message   string // :error-message
}

// sizes are the numbers of bytes of the values of headers, by type. The types bytes and
// string have a length of two bytes before the value.
var sizes = [...]int{0, 0, 1, 2, 4, 8, -1, -1, 8, 16}

const stringType = 7

func readHeaders(data string) (h frameHeaders, ok bool) {
	for data != "" {
		n := int(data[0])
		if len(data) < n+2 || int(data[n+1]) >= len(sizes) {
			return h, false
		}
		name, kind, rest := data[1:n+1], data[n+1], data[n+2:]
		size := sizes[kind]
		if size < 0 {
			if len(rest) < 2 {
				return h, false
			}
			size, rest = int(rest[0])<<8|int(rest[1]), rest[2:]
		}
		if len(rest) < size {
			return h, false
		}
		if kind == stringType {
			h.set(name, rest[:size])
		}
		data = rest[size:]
	}
	return h, true
}

func (h *frameHeaders) set(name, value string) {
	switch name {
	case ":message-type":
		h.kind = value
	case ":event-type":
		h.event = value
	case ":exception-type":
		h.exception = value
	case ":error-code":
		h.code = value
	case ":error-message":
		h.message = value
	}
}
