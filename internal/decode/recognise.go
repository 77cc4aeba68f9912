package decode

import (
	"fmt"
	"math/bits"
	"strings"

	"streamer/internal/decode/wire"
)

func find(name string) *wire.Format {
	for i := range formats {
		if formats[i].Name == name {
			return &formats[i]
		}
	}
	return nil
}

// recognise returns the format of a frame. This is the named or stored format if it
// claims the frame. Otherwise, unless a format is named, it is the only format that
// claims the frame surely, which is then stored, or the only format that perhaps does.
// The Problem names the candidates, or describes the event.
func (r *Reader) recognise(f wire.Frame) (*wire.Format, *wire.Problem) {
	known, claim := find(r.state.Format), wire.No
	if known != nil {
		claim = known.Claims(f)
	}
	if claim > wire.IfNoOther {
		return known, nil
	}
	if f.Done {
		return nil, nil
	}
	var sure, maybe []*wire.Format
	for set := possible(f); set != 0; set &= set - 1 {
		format := &formats[bits.TrailingZeros32(uint32(set))]
		switch format.Claims(f) {
		case wire.Surely:
			sure = append(sure, format)
		case wire.Perhaps:
			maybe = append(maybe, format)
		}
	}
	switch {
	case len(sure) == 0 && claim == wire.IfNoOther:
		return known, nil
	case len(sure) == 0 && keepsAlive(f):
		return nil, nil
	case r.named && !f.Opened:
		return nil, foreign(f, known, sure)
	case len(sure) == 1:
		r.state.Format = sure[0].Name
		return sure[0], nil
	case len(sure) == 0 && len(maybe) == 1:
		return maybe[0], nil
	}
	return nil, &wire.Problem{Code: wire.BadFormat, Text: unrecognised(f, known, append(sure, maybe...))}
}

func foreign(f wire.Frame, named *wire.Format, sure []*wire.Format) *wire.Problem {
	if len(sure) == 0 {
		return &wire.Problem{Code: wire.BadFormat, Text: fmt.Sprintf("the event is not of the format %s, which is named for it: it is %s", named.Name, describe(f))}
	}
	return &wire.Problem{Code: wire.BadFormat, Text: fmt.Sprintf("the event is of the format %s, not of %s, which is named for it", joinNames(sure, " or "), named.Name)}
}

// keepsAlive reports whether a frame only keeps the connection alive. Servers and
// proxies of any format send such events.
func keepsAlive(f wire.Frame) bool {
	for _, word := range [...]string{f.Name, f.Type()} {
		switch word {
		case "ping", "keepalive", "keep-alive", "keep_alive", "heartbeat":
			return true
		}
	}
	return false
}

func unrecognised(f wire.Frame, known *wire.Format, candidates []*wire.Format) string {
	if len(candidates) > 0 {
		return fmt.Sprintf("the event could be of several formats (%s); name one in the header Streamer-Format", joinNames(candidates, ", "))
	}
	if name := notRead(f); name != "" {
		return fmt.Sprintf("the event is of the format %s, which is not read; the formats are %s", name, strings.Join(Names(), ", "))
	}
	unlike := "of no known format"
	if known != nil {
		unlike = fmt.Sprintf("neither of the format %s so far nor of another", known.Name)
	}
	return fmt.Sprintf("the event is %s: it is %s; the formats are %s", unlike, describe(f), strings.Join(Names(), ", "))
}

// notRead returns the name of a format that is known and not read, and how to be read
// instead, or "".
func notRead(f wire.Frame) string {
	if f.JSON.Member("path").IsArray() && f.Type() != "" {
		switch f.Type() {
		case "part-start", "part-finish", "text-delta", "tool-call-args-text-finish", "tool-call-approval", "result", "step-start",
			"step-finish", "message-finish", "annotations", "data", "error", "update-state":
			return "assistant-transport of assistant-stream (its DataStreamEncoder writes ai-sdk-v4)"
		}
	}
	return ""
}

func joinNames(list []*wire.Format, separator string) string {
	names := make([]string, len(list))
	for i, f := range list {
		names[i] = f.Name
	}
	return strings.Join(names, separator)
}

// describedKeys is the maximum number of keys in a description.
const describedKeys = 8

func describe(f wire.Frame) string {
	var b strings.Builder
	if f.Name != "" {
		fmt.Fprintf(&b, "named %q and ", wire.Clip(f.Name))
	}
	switch {
	case f.JSON.IsArray():
		b.WriteString("an array")
	case !f.JSON.IsObject():
		b.WriteString(f.JSON.Kind.String())
	case f.JSON.IsEmpty():
		b.WriteString("an object without keys")
	default:
		b.WriteString("an object with the keys")
		for m, n := f.JSON.Members(), 0; m.Next() && n < describedKeys; n++ {
			fmt.Fprintf(&b, " %q", wire.Clip(m.Key))
		}
	}
	return b.String()
}
