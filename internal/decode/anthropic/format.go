// Package anthropic reads the stream of Anthropic's Messages API:
// https://docs.anthropic.com/en/docs/build-with-claude/streaming
//
//	message_start{message:{id}} → content_block_start{index,content_block:{type:"tool_use",id,name,input}}
//	→ content_block_delta{index,delta:{type:"input_json_delta",partial_json}} … → content_block_stop{index}
//	→ message_delta{delta:{stop_reason},usage} → message_stop; ping and error may come at any time
//
// It also reads a message that was not streamed, and a user message with text or
// tool_result blocks.
package anthropic

import (
	"strings"

	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
	"streamer/internal/stored"
)

// Format returns the format anthropic.
func Format() wire.Format {
	return wire.Format{
		Name: "anthropic", Shape: "anthropic",
		Keys:      []string{"type", "role"},
		Claims:    claims,
		New:       func() wire.Decoder { return new(Decoder) },
		FindSlots: FindSlots,
	}
}

// FindSlots finds the slots of a delta.
var FindSlots = wire.Slots{
	wire.BlockSlot: {"index"},
	wire.ArgsSlot:  {"delta.partial_json"},
	wire.TextSlot:  {"delta.text", "delta.thinking"},
	wire.Unread:    {"delta.estimated_tokens"},
}.Of("content_block_delta")

func claims(f wire.Frame) wire.Claim {
	if strings.HasPrefix(f.Type(), "content_block_") {
		return wire.Surely
	}
	var kind, role, content, failure, foreign, message jsonscan.Value
	f.Read(
		kind.From("type"), message.From("message"), role.From("role"), content.From("content"), failure.From("error"),
		foreign.From("sequence_number"), foreign.From("event_id"), foreign.From("stream_id"), foreign.From("status"), // of OpenAI
		foreign.From("sessionID"), // of opencode
	)
	switch kind.Str {
	case "message_start":
		return wire.SurelyIf(identified(message), wire.IfKnown)
	case "message_delta", "message_stop":
		return wire.Surely
	case "ping":
		return wire.Perhaps
	case "message":
		if role.Str == "assistant" && content.IsArray() && foreign.Raw == "" {
			return wire.Surely
		}
	case "error":
		if failure.IsObject() && foreign.Raw == "" {
			return wire.Surely
		}
	}
	switch {
	case role.Str != "user":
	case hasToolResult(content):
		return wire.Surely
	case kind.Raw == "" && wire.IsText(content):
		return wire.IfKnown
	}
	return wire.No
}

// identified reports whether a message can be of this format. The agent pi has messages
// without an id and a type.
func identified(message jsonscan.Value) bool {
	var id, kind jsonscan.Value
	message.Read(id.From("id"), kind.From("type"))
	return id.Raw != "" || kind.Raw != "" || !message.IsObject()
}

func hasToolResult(content jsonscan.Value) bool {
	for e := content.Elements(); e.Next(); {
		if e.Value.Member("type").Str == "tool_result" {
			return true
		}
	}
	return false
}

// Decoder decodes the events of a session. Its fields are the state between
// events.
type Decoder struct {
	Message string         // id of the message that began last
	Block   string         // raw index of the open block
	Kind    wire.BlockKind // of the open block
	Usage   string         // raw usage of message_start, which message_delta completes
}

// Fields visits the members of the stored form.
func (d *Decoder) Fields(f *stored.Fields) {
	f.Text("m", &d.Message)
	f.Text("b", &d.Block)
	stored.Number(f, "k", &d.Kind)
	f.Text("u", &d.Usage)
}

// Decode emits the chunks of a frame.
func (d *Decoder) Decode(w *wire.Writer, f wire.Frame) *wire.Problem {
	var kind, index, block, delta, message, usage, failure, content jsonscan.Value
	f.Read(
		kind.From("type"), index.From("index"), block.From("content_block"), delta.From("delta"),
		message.From("message"), usage.From("usage"), failure.From("error"), content.From("content"),
	)
	switch kind.Str {
	case "content_block_delta":
		return d.delta(w, index, delta)
	case "content_block_start":
		return d.startBlock(w, index, block)
	case "content_block_stop":
		d.stopBlock(w, index)
	case "message_start":
		return d.startMessage(w, message)
	case "message_delta":
		d.messageDelta(w, delta, usage)
	case "message_stop":
		w.Emit(chunks.Chunk{Kind: chunks.Ended, Message: d.Message})
		d.Block, d.Kind, d.Usage = "", wire.NoBlock, ""
	case "error":
		w.Emit(chunks.Chunk{Kind: chunks.Failure, Message: d.Message, Text: w.FailureText(failure)})
		d.Block, d.Kind = "", wire.NoBlock
	case "message":
		return d.wholeMessage(w, f.JSON)
	case "":
		return d.userMessage(w, content)
	case "ping":
	default:
		w.Unknown("event", kind.Str, f.JSON)
	}
	return nil
}

// skips reports whether the deltas of a block are not used: the block of the
// index is not a call.
func (d *Decoder) skips(index string) bool { return d.Kind == wire.OtherBlock && d.Block == index }

// userMessage emits the results of client tools and the text of a user message. Text
// beside results does not interrupt: the message answers the calls.
func (d *Decoder) userMessage(w *wire.Writer, content jsonscan.Value) (problem *wire.Problem) {
	results := hasToolResult(content)
	if results || !wire.IsText(content) {
		problem = w.ToolResults(content)
	}
	if text := w.PlainText(content); text != "" || !results {
		w.Emit(chunks.Chunk{Kind: chunks.Human, Text: text, Aside: results})
	}
	return problem
}

// Fill completes the chunk of a delta, which belongs to the message that began
// last.
func (d *Decoder) Fill(_ *wire.Writer, _ uint8, c *chunks.Chunk) bool {
	c.Message = d.Message
	return c.Kind != chunks.Fragment || !d.skips(c.Index)
}

// startMessage begins a message. A proxy that joins two answers may send the
// second message_start before the first message has ended.
func (d *Decoder) startMessage(w *wire.Writer, message jsonscan.Value) *wire.Problem {
	if !message.IsObject() {
		return wire.WrongType("message", message, "an object")
	}
	var id, role, content, usage jsonscan.Value
	message.Read(id.From("id"), role.From("role"), content.From("content"), usage.From("usage"))
	*d = Decoder{Message: wire.Keep(w.Text(id))}
	if usage.IsObject() && len(usage.Raw) <= wire.MaxUsage {
		d.Usage = strings.Clone(usage.Raw)
	}
	w.Emit(chunks.Chunk{Kind: chunks.Start, Message: d.Message, Role: w.Text(role), Fresh: true})
	return d.blocks(w, d.Message, content)
}

// messageDelta emits the stop reason and the usage of a message_delta. The usage
// takes precedence over that of message_start, and lacks some of its members.
func (d *Decoder) messageDelta(w *wire.Writer, delta, usage jsonscan.Value) {
	if reason := w.Text(delta.Member("stop_reason")); reason != "" {
		w.Emit(chunks.Chunk{Kind: chunks.Finish, Message: d.Message, Reason: reason, Truncated: wire.AnthropicTruncates(reason)})
	}
	if usage.IsObject() {
		w.Emit(chunks.Chunk{Kind: chunks.Usage, Message: d.Message, Usage: d.merge(w, d.Usage, usage)})
	}
}

// merge returns the object over, preceded by the members of the object under
// that it lacks.
func (d *Decoder) merge(w *wire.Writer, under string, over jsonscan.Value) string {
	if under == "" {
		return over.Raw
	}
	return w.Build(func(dst []byte) []byte {
		dst = append(dst, '{')
		for m := jsonscan.ValueOf(under).Members(); m.Next(); {
			if over.Member(m.Key).Raw == "" {
				dst = wire.AppendMember(dst, &m)
			}
		}
		for m := over.Members(); m.Next(); {
			dst = wire.AppendMember(dst, &m)
		}
		return append(dst, '}')
	})
}

func (d *Decoder) wholeMessage(w *wire.Writer, message jsonscan.Value) *wire.Problem {
	problem := d.startMessage(w, message)
	d.Usage = ""
	d.messageDelta(w, message, message.Member("usage"))
	w.Emit(chunks.Chunk{Kind: chunks.Ended, Message: d.Message})
	return problem
}
