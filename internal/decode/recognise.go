package decode

import (
	"fmt"
	"strings"

	"github.com/tidwall/gjson"
)

func find(name string) *format {
	for i := range formats {
		if formats[i].name == name {
			return &formats[i]
		}
	}
	return nil
}

// recognise picks the format of a frame: the named or remembered one where the
// frame can be of it; else, unless one is named, the one that surely claims it,
// which is remembered from then on, or the only one that perhaps does. The
// Problem names the candidates, or what the event has.
func (r *Reader) recognise(f Frame) (*format, *Problem) {
	known := find(r.mem.Format)
	if known != nil && known.claims(f) != no {
		return known, nil
	}
	if f.Done {
		return nil, nil
	}
	var sure, maybe []*format
	for i := range formats {
		switch formats[i].claims(f) {
		case surely:
			sure = append(sure, &formats[i])
		case perhaps:
			maybe = append(maybe, &formats[i])
		}
	}
	switch {
	case len(sure) == 0 && keepsAlive(f):
		return nil, nil
	case r.named && !f.Opened:
		return nil, foreign(f, known, sure)
	case len(sure) == 1:
		r.mem.Format = sure[0].name
		return sure[0], nil
	case len(sure) == 0 && len(maybe) == 1:
		return maybe[0], nil
	}
	return nil, &Problem{Code: BadFormat, Text: unrecognised(f, known, append(sure, maybe...))}
}

// foreign says of what format an event is that cannot be of the named one.
func foreign(f Frame, named *format, sure []*format) *Problem {
	if len(sure) == 0 {
		return &Problem{Code: BadFormat, Text: fmt.Sprintf("the event is not of the format %s, which is named for it: it is %s", named.name, describe(f))}
	}
	names := make([]string, len(sure))
	for i, fm := range sure {
		names[i] = fm.name
	}
	return &Problem{Code: BadFormat, Text: fmt.Sprintf("the event is of the format %s, not of %s, which is named for it", strings.Join(names, " or "), named.name)}
}

// keepsAlive tells an event that servers and proxies of any format send while
// they have nothing to say.
func keepsAlive(f Frame) bool {
	for _, word := range [...]string{f.Name, kindOf(f.JSON)} {
		switch word {
		case "ping", "keepalive", "keep-alive", "keep_alive", "heartbeat":
			return true
		}
	}
	return false
}

// unrecognised says why an event has no format.
func unrecognised(f Frame, known *format, candidates []*format) string {
	var b strings.Builder
	if len(candidates) > 0 {
		b.WriteString("the event could be of several formats (")
		for i, c := range candidates {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(c.name)
		}
		b.WriteString("); name one in the header Streamer-Format")
		return b.String()
	}
	if known != nil {
		fmt.Fprintf(&b, "the event is neither of the format %s so far nor of another", known.name)
	} else {
		b.WriteString("the event is of no known format")
	}
	fmt.Fprintf(&b, ": it is %s; the formats are %s", describe(f), strings.Join(Names(), ", "))
	return b.String()
}

const describedKeys = 8

// describe says what an event looks like, in few words.
func describe(f Frame) string {
	var b strings.Builder
	if f.Name != "" {
		fmt.Fprintf(&b, "named %q and ", clip(f.Name))
	}
	switch {
	case isArray(f.JSON):
		b.WriteString("an array")
	case !isObject(f.JSON):
		b.WriteString(typeName(f.JSON))
	default:
		b.WriteString("an object with the keys")
		n := 0
		for m := members(f.JSON); m.next() && n < describedKeys; n++ {
			fmt.Fprintf(&b, " %q", clip(m.key))
		}
		if n == 0 {
			return strings.TrimSuffix(b.String(), " with the keys") + " without keys"
		}
	}
	return b.String()
}

const clipped = 64

// clip shortens a string for a message.
func clip(s string) string {
	if len(s) <= clipped {
		return strings.ToValidUTF8(s, "�")
	}
	return strings.ToValidUTF8(s[:clipped], "�") + "…"
}

// typeName names the JSON type of a value, with its article.
func typeName(v gjson.Result) string {
	switch v.Type {
	case gjson.String:
		return "a string"
	case gjson.Number:
		return "a number"
	case gjson.True, gjson.False:
		return "a boolean"
	case gjson.JSON:
		if v.Raw[0] == '[' {
			return "an array"
		}
		return "an object"
	}
	return "null"
}
