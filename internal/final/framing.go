package final

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"strings"

	"github.com/tidwall/gjson"
)

// Media types of answers.
const (
	SSE    = "text/event-stream"
	JSON   = "application/json"
	Lines  = "application/x-ndjson"
	Array  = "application/json; array" // a list of JSON whose elements are events
	Amazon = "application/vnd.amazon.eventstream"
)

// Whole reports whether what was sent ends with a whole event.
func Whole(kind string, sent []byte) bool {
	switch kind {
	case SSE:
		return len(sent) == 0 || bytes.HasSuffix(sent, []byte("\n\n")) || bytes.HasSuffix(sent, []byte("\n\r\n")) || bytes.HasSuffix(sent, []byte("\r\r"))
	case Lines:
		return len(sent) == 0 || sent[len(sent)-1] == '\n'
	case Array:
		return depth(sent) <= 1
	case Amazon:
		n := 0
		messages(sent, func(_, _ string, rest int) { n = rest })
		return n == 0 && (len(sent) == 0 || len(sent) >= 16)
	}
	return true
}

// depth returns the number of open lists and objects at the end of a text of JSON, more in a
// string.
func depth(text []byte) (n int) {
	inString, escaped := false, false
	for _, c := range text {
		switch {
		case escaped:
			escaped = false
		case inString && c == '\\':
			escaped = true
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			n++
		case c == '}' || c == ']':
			n--
		}
	}
	if inString {
		n += 2
	}
	return n
}

// events calls fn with the events that were sent.
func events(kind string, sent []byte, fn func(gjson.Result)) {
	switch kind {
	case SSE:
		text := strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(string(sent))
		for event := range strings.SplitSeq(text, "\n\n") {
			var data []string
			for line := range strings.SplitSeq(event, "\n") {
				if value, ok := strings.CutPrefix(line, "data:"); ok {
					data = append(data, strings.TrimPrefix(value, " "))
				}
			}
			if data != nil {
				fn(gjson.Parse(strings.Join(data, "\n")))
			}
		}
	case Lines:
		gjson.ForEachLine(string(sent), func(v gjson.Result) bool { fn(v); return true })
	case Array:
		text := strings.TrimRight(string(sent), " \r\n\t,")
		if depth(sent) == 1 {
			text += "]"
		} else if text != "" {
			fn(gjson.Parse(closed))
		}
		for _, v := range gjson.Parse(text).Array() {
			fn(v)
		}
	case Amazon:
		messages(sent, func(name, payload string, _ int) {
			if v := gjson.Parse(payload); name == "chunk" { // of an Anthropic model on Bedrock
				inner, _ := base64.StdEncoding.DecodeString(v.Get("bytes").Str)
				fn(gjson.ParseBytes(inner))
			} else {
				fn(gjson.Parse(`{"type":` + quote(name) + `,"event":` + payload + `}`))
			}
		})
	}
}

// closed is the event behind the last one of a list that is closed.
const closed = `{"closed":true}`

// messages calls fn with the type and the payload of each message of an AWS event stream, and
// the number of bytes behind it:
// https://docs.aws.amazon.com/transcribe/latest/dg/streaming-setting-up.html
func messages(b []byte, fn func(name, payload string, rest int)) {
	for len(b) >= 16 {
		length, headers := int(binary.BigEndian.Uint32(b)), int(binary.BigEndian.Uint32(b[4:]))
		if length > len(b) || headers > length-16 || headers < 0 {
			fn("", "", len(b))
			return
		}
		_, value, _ := bytes.Cut(b[12:12+headers], []byte(":event-type\x07"))
		name := ""
		if len(value) >= 2 {
			if n := int(binary.BigEndian.Uint16(value)); n <= len(value)-2 {
				name = string(value[2 : 2+n])
			}
		}
		fn(name, string(b[12+headers:length-4]), len(b)-length)
		b = b[length:]
	}
	if len(b) > 0 {
		fn("", "", len(b))
	}
}

// framed returns events as they follow what was sent.
func framed(kind string, f *format, sent []byte, list []string) []byte {
	var b bytes.Buffer
	if kind == Array && len(sent) == 0 {
		b.WriteByte('[')
	}
	for i, e := range list {
		switch kind {
		case SSE:
			if name := gjson.Get(e, "type").Str; f.named && name != "" {
				b.WriteString("event: " + name + f.line)
			}
			b.WriteString("data: " + e + f.line + f.line)
		case Array:
			if before := strings.TrimSpace(string(sent)); i > 0 || before != "" && before != "[" && !strings.HasSuffix(before, ",") {
				b.WriteString(",\r\n")
			}
			b.WriteString(e)
		case Amazon:
			b.Write(message(f.name, e))
		default:
			b.WriteString(e + "\n")
		}
	}
	if kind == Array {
		b.WriteByte(']')
	}
	return b.Bytes()
}

// message returns an event as a message of an AWS event stream.
func message(format, event string) []byte {
	name, payload := gjson.Get(event, "type").Str, gjson.Get(event, "event").Raw
	if format != "bedrock" {
		name, payload = "chunk", `{"bytes":"`+base64.StdEncoding.EncodeToString([]byte(event))+`"}`
	}
	var headers []byte
	for _, h := range [...][2]string{{":event-type", name}, {":content-type", JSON}, {":message-type", "event"}} {
		headers = append(append(headers, byte(len(h[0]))), h[0]...)
		headers = append(binary.BigEndian.AppendUint16(append(headers, 7), uint16(len(h[1]))), h[1]...) //nolint:gosec // short
	}
	b := binary.BigEndian.AppendUint32(nil, uint32(16+len(headers)+len(payload))) //nolint:gosec // short
	b = binary.BigEndian.AppendUint32(b, uint32(len(headers)))                    //nolint:gosec // short
	b = binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
	b = append(append(b, headers...), payload...)
	return binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
}
