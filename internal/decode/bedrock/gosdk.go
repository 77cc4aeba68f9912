package bedrock

import (
	"strings"

	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

// The AWS SDK for Go has no names of events in its JSON: json.Marshal of an event writes
//
//	{"Value":{"Role"}}, {"Value":{"ContentBlockIndex","Start":{"Value":{"ToolUseId","Name","Type"}}}},
//	{"Value":{"ContentBlockIndex","Delta":{"Value":{"Input"} or "text" or [results]}}},
//	{"Value":{"ContentBlockIndex"}}, {"Value":{"StopReason"}}, {"Value":{"Usage","Metrics"}}
//
// https://pkg.go.dev/github.com/aws/aws-sdk-go-v2/service/bedrockruntime/types#ConverseStreamOutput
//
// Its reasoning cannot be distinguished from the signature of it, and is not read.

// goEvent returns the name of an event of the SDK for Go, or "", and its payload.
func goEvent(payload jsonscan.Value) (kind string, _ jsonscan.Value) {
	block := false
	for m := payload.Members(); m.Next(); {
		switch m.Key {
		case "Role":
			return "messageStart", payload
		case "Start":
			return "contentBlockStart", payload
		case "Delta":
			return "contentBlockDelta", payload
		case "StopReason":
			return "messageStop", payload
		case "Usage", "Metrics":
			return "metadata", payload
		case "ContentBlockIndex":
			block = true
		}
	}
	if block {
		return "contentBlockStop", payload
	}
	return "", payload
}

// fromGo returns the payload of an event of the SDK for Go as the API has it.
func fromGo(w *wire.Writer, v jsonscan.Value) jsonscan.Value {
	return jsonscan.ValueOf(w.Build(func(dst []byte) []byte { return appendFromGo(dst, v) }))
}

func appendFromGo(dst []byte, v jsonscan.Value) []byte {
	if !v.IsObject() {
		return append(dst, v.Raw...)
	}
	dst = append(dst, '{')
	for m := v.Members(); m.Next(); {
		dst = wire.AppendKey(dst, strings.ToLower(m.RawKey[:2])+m.RawKey[2:])
		if m.Key == "Start" || m.Key == "Delta" {
			dst = appendGoUnion(dst, m.Value.Member("Value"))
		} else {
			dst = appendFromGo(dst, m.Value)
		}
	}
	return append(dst, '}')
}

// appendGoUnion appends the start or the delta of a block. Its members show what it is.
func appendGoUnion(dst []byte, v jsonscan.Value) []byte {
	key := ""
	switch {
	case v.IsString():
		key = `{"text":`
	case v.IsArray():
		return append(appendGoTexts(append(dst, `{"toolResult":[`...), v), "]}"...)
	case v.Member("Input").Present(), v.Member("Name").Present():
		key = `{"toolUse":`
	case v.Member("ToolUseId").Present():
		key = `{"toolResult":`
	default:
		return append(dst, "{}"...)
	}
	return append(appendFromGo(append(dst, key...), v), '}')
}

func appendGoTexts(dst []byte, list jsonscan.Value) []byte {
	for e := list.Elements(); e.Next(); {
		if dst[len(dst)-1] != '[' {
			dst = append(dst, ',')
		}
		dst = append(append(append(dst, `{"text":`...), e.Value.Member("Value").Raw...), '}')
	}
	return dst
}
