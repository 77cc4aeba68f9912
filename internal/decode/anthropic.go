package decode

import (
	"strconv"
	"strings"

	"streamer/internal/chunks"

	"github.com/tidwall/gjson"
)

// Anthropic's messages:
// https://docs.anthropic.com/en/docs/build-with-claude/streaming
//
//	message_start{message:{id}} → content_block_start{index,content_block:{type:"tool_use",id,name,input}}
//	→ content_block_delta{index,delta:{type:"input_json_delta",partial_json}} … → content_block_stop{index}
//	→ message_delta{delta:{stop_reason},usage} → message_stop; ping and error anywhere

// AnthropicMemory is what the anthropic format remembers between events.
type AnthropicMemory struct {
	Message string    `json:"m,omitzero"` // id of the message that began last
	Block   string    `json:"b,omitzero"` // raw index of the block that is open
	Kind    blockKind `json:"k,omitzero"` // of that block
	Usage   string    `json:"u,omitzero"` // raw, of message_start, which message_delta completes
}

// blockKind tells the blocks apart by what their end means.
type blockKind uint8

const (
	noBlock blockKind = iota
	callBlock
	partBlock  // text or thinking
	otherBlock // results, and what is not known
)

// keptUsage and keptID bound what is remembered of a message.
const (
	keptUsage = 4 << 10
	keptID    = 1 << 10
)

func claimsAnthropic(f Frame) claim {
	var kind, role, content, failure, sequence gjson.Result
	for m := members(f.JSON); m.next(); {
		switch m.key {
		case "type":
			if kind = m.value; strings.HasPrefix(kind.Str, "content_block_") {
				return surely
			}
		case "role":
			role = m.value
		case "content":
			content = m.value
		case "error":
			failure = m.value
		case "sequence_number":
			sequence = m.value
		}
	}
	switch kind.Str {
	case "message_start", "message_delta", "message_stop":
		return surely
	case "ping":
		return perhaps
	case "message":
		if role.Str == "assistant" && isArray(content) && sequence.Raw == "" {
			return surely
		}
	case "error":
		// OpenAI's Responses number theirs.
		if isObject(failure) && sequence.Raw == "" {
			return surely
		}
	}
	if role.Str == "user" && hasToolResult(content) {
		return surely
	}
	return no
}

func hasToolResult(content gjson.Result) bool {
	for e := elements(content); e.next(); {
		if member(e.value, "type").Str == "tool_result" {
			return true
		}
	}
	return false
}

// anthropicEvent is an event's members, whatever its type.
type anthropicEvent struct {
	kind, index, block, delta, message, usage, failure, content gjson.Result
}

func decodeAnthropic(r *Reader, f Frame) *Problem {
	var e anthropicEvent
	for m := members(f.JSON); m.next(); {
		switch m.key {
		case "type":
			e.kind = m.value
		case "index":
			e.index = m.value
		case "content_block":
			e.block = m.value
		case "delta":
			e.delta = m.value
		case "message":
			e.message = m.value
		case "usage":
			e.usage = m.value
		case "error":
			e.failure = m.value
		case "content":
			e.content = m.value
		}
	}
	mem := partOf(&r.mem.Anthropic)
	switch e.kind.Str {
	case "content_block_delta":
		return r.anthropicDelta(mem, e)
	case "content_block_start":
		return r.anthropicStart(mem, e)
	case "content_block_stop":
		r.anthropicStop(mem, e.index)
	case "message_start":
		return r.anthropicMessage(mem, e.message)
	case "message_delta":
		r.anthropicEnding(mem, e.delta, e.usage)
	case "message_stop":
		r.emit(chunks.Chunk{Kind: chunks.Ended, Message: mem.Message})
		mem.Block, mem.Kind, mem.Usage = "", noBlock, ""
	case "error":
		r.emit(chunks.Chunk{Kind: chunks.Failure, Message: mem.Message, Text: r.failureText(e.failure)})
		mem.Block, mem.Kind = "", noBlock
	case "message":
		return r.anthropicWhole(mem, f.JSON)
	case "": // a user's message, which carries the results of client tools
		return r.toolResults(e.content)
	}
	return nil
}

// anthropicMessage begins a message. There may be a second one before the
// first has ended, where a proxy splices two answers.
func (r *Reader) anthropicMessage(mem *AnthropicMemory, message gjson.Result) *Problem {
	if !isObject(message) {
		return wrongType("message", message, "an object")
	}
	var id, role, content, usage gjson.Result
	for m := members(message); m.next(); {
		switch m.key {
		case "id":
			id = m.value
		case "role":
			role = m.value
		case "content":
			content = m.value
		case "usage":
			usage = m.value
		}
	}
	*mem = AnthropicMemory{Message: keep(r.text(id), keptID)}
	if isObject(usage) && len(usage.Raw) <= keptUsage {
		mem.Usage = strings.Clone(usage.Raw)
	}
	r.emit(chunks.Chunk{Kind: chunks.Start, Message: mem.Message, Role: r.text(role), Fresh: true})
	return r.anthropicBlocks(mem.Message, content)
}

// keep clones a string that is remembered. A longer one than any provider
// sends is cut, which keeps it apart from others well enough.
//
//nolint:unparam // the limit is read where it holds
func keep(s string, limit int) string { return strings.Clone(s[:min(len(s), limit)]) }

// anthropicStart begins a block. Blocks are sequential, so one that is still
// open then has all it gets (proxies drop content_block_stop).
func (r *Reader) anthropicStart(mem *AnthropicMemory, e anthropicEvent) *Problem {
	if !isObject(e.block) {
		return wrongType("content_block", e.block, "an object")
	}
	if mem.Kind == callBlock && mem.Block != e.index.Raw {
		r.emit(chunks.Chunk{Kind: chunks.Next, Message: mem.Message, Index: e.index.Raw})
	}
	kind, problem := r.anthropicBlock(chunks.Chunk{Message: mem.Message, Index: e.index.Raw, Part: integer(e.index)}, e.block)
	mem.Block, mem.Kind = keep(e.index.Raw, keptID), kind
	return problem
}

// anthropicBlock emits a block's beginning, or a whole block of a full message
// (of.Whole), and tells its kind. The input of a beginning is {} and gives way
// to deltas; where it is not empty and none come, it is the args.
func (r *Reader) anthropicBlock(of chunks.Chunk, block gjson.Result) (blockKind, *Problem) {
	var kind, id, name, input, text, caller, use gjson.Result
	for m := members(block); m.next(); {
		switch m.key {
		case "type":
			kind = m.value
		case "id":
			id = m.value
		case "name":
			name = m.value
		case "input":
			input = m.value
		case "text", "thinking":
			text = m.value
		case "caller":
			caller = m.value
		case "tool_use_id":
			use = m.value
		}
	}
	switch {
	case kind.Str == "text", kind.Str == "thinking":
		c := chunks.Chunk{Kind: chunks.Text, Message: of.Message, Part: of.Part, Text: r.text(text)}
		if kind.Str == "thinking" {
			c.Kind = chunks.Reasoning
		}
		if c.Text != "" {
			r.emit(c)
		}
		return partBlock, nil
	case strings.HasSuffix(kind.Str, "tool_use"):
		of.Kind, of.Part, of.Final = chunks.Fragment, 0, true
		of.ID, of.Name = r.text(id), r.text(name)
		of.ParentCall = r.text(member(caller, "tool_id"))
		of.CallKind, of.Provider = anthropicCallKind(kind.Str)
		args := r.compact(input.Raw)
		if isString(input) { // as proxies spell it that have only the text
			args = r.text(input)
		}
		if (isObject(input) || isString(input) && jsonText(args)) && (of.Whole || args != "{}") {
			of.Args, of.Object, of.Weak = args, true, !of.Whole
		}
		r.emit(of)
		return callBlock, nil
	case use.Type == gjson.String:
		// Of a tool the provider ran; its call may be in an earlier message.
		if problem := r.toolResult(resultFields(block)); problem != nil {
			return otherBlock, problem
		}
	}
	return otherBlock, nil
}

func anthropicCallKind(block string) (kind string, provider bool) {
	if block == "tool_use" {
		return "", false
	}
	return "server", true // its connector for MCP runs with the provider too
}

func (r *Reader) anthropicDelta(mem *AnthropicMemory, e anthropicEvent) *Problem {
	if !isObject(e.delta) {
		return wrongType("delta", e.delta, "an object")
	}
	c := chunks.Chunk{Message: mem.Message}
	var content gjson.Result
	for m := members(e.delta); m.next(); {
		switch m.key {
		case "partial_json":
			c.Kind, content = chunks.Fragment, m.value
		case "text":
			c.Kind, content = chunks.Text, m.value
		case "thinking":
			c.Kind, content = chunks.Reasoning, m.value
		}
	}
	s := r.text(content)
	if content.Type == gjson.JSON {
		s = r.compact(content.Raw) // of a proxy that has parsed it
	}
	switch {
	case s == "":
	case c.Kind != chunks.Fragment:
		c.Text, c.Part = s, integer(e.index)
		r.emit(c)
	case mem.Kind != otherBlock || mem.Block != e.index.Raw:
		c.Args, c.Index = s, e.index.Raw
		r.emit(c)
	}
	return nil
}

// anthropicStop ends a block. Of one whose beginning was not seen it is not
// known what it was; a Seal that names no call says nothing.
func (r *Reader) anthropicStop(mem *AnthropicMemory, index gjson.Result) {
	kind := callBlock
	if mem.Block == index.Raw && mem.Kind != noBlock {
		kind = mem.Kind
		mem.Block, mem.Kind = "", noBlock
	}
	switch kind {
	case callBlock:
		r.emit(chunks.Chunk{Kind: chunks.Seal, Message: mem.Message, Index: index.Raw})
	case partBlock:
		r.emit(chunks.Chunk{Kind: chunks.PartEnd, Message: mem.Message, Part: integer(index)})
	}
}

// anthropicEnding reads message_delta: the stop reason, and usage, which
// replaces and completes what message_start said.
func (r *Reader) anthropicEnding(mem *AnthropicMemory, delta, usage gjson.Result) {
	if reason := r.text(member(delta, "stop_reason")); reason != "" {
		r.emit(chunks.Chunk{Kind: chunks.Finish, Message: mem.Message, Reason: reason, Truncated: anthropicTruncates(reason)})
	}
	if isObject(usage) {
		r.emit(chunks.Chunk{Kind: chunks.Usage, Message: mem.Message, Usage: r.merge(mem.Usage, usage)})
	}
}

// anthropicTruncates: a refusal is the classifiers' intervention in mid-text.
func anthropicTruncates(reason string) bool {
	switch reason {
	case "max_tokens", "model_context_window_exceeded", "refusal":
		return true
	}
	return false
}

// merge gives the object over with those members of the object under before
// it that it lacks.
func (r *Reader) merge(under string, over gjson.Result) string {
	if under == "" {
		return over.Raw
	}
	start := len(r.scratch)
	r.scratch = append(r.scratch, '{')
	for m := members(valueOf(under)); m.next(); {
		if member(over, m.key).Raw == "" {
			r.scratch = appendMember(r.scratch, start, m)
		}
	}
	for m := members(over); m.next(); {
		r.scratch = appendMember(r.scratch, start, m)
	}
	r.scratch = append(r.scratch, '}')
	return alias(r.scratch[start:])
}

func appendMember(dst []byte, start int, m walker) []byte {
	if len(dst) > start+1 {
		dst = append(dst, ',')
	}
	dst = append(dst, m.rawKey...)
	dst = append(dst, ':')
	return append(dst, m.value.Raw...)
}

// anthropicWhole reads a message that was not streamed.
func (r *Reader) anthropicWhole(mem *AnthropicMemory, message gjson.Result) *Problem {
	problem := r.anthropicMessage(mem, message)
	mem.Usage = ""
	r.anthropicEnding(mem, message, member(message, "usage"))
	r.emit(chunks.Chunk{Kind: chunks.Ended, Message: mem.Message})
	return problem
}

// anthropicBlocks emits the blocks of a full message; the index of each is its
// place.
func (r *Reader) anthropicBlocks(message string, content gjson.Result) (problem *Problem) {
	i := 0
	for e := elements(content); e.next(); i++ {
		if !isObject(e.value) {
			return wrongType("content", e.value, "a list of blocks")
		}
		if _, p := r.anthropicBlock(chunks.Chunk{Message: message, Index: strconv.Itoa(i), Part: i, Whole: true}, e.value); p != nil && problem == nil {
			problem = p
		}
	}
	return problem
}
