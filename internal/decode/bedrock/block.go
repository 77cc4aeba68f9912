package bedrock

import (
	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

// startBlock begins a block: {"contentBlockIndex","start":{"toolUse"|"toolResult"}}.
func (r reader) startBlock(e jsonscan.Value) *wire.Problem {
	index, start := e.Member("contentBlockIndex"), e.Member("start")
	if !start.IsObject() {
		return wire.WrongType("contentBlockStart.start", start, "an object")
	}
	r.endResult()
	*r.d = Decoder{Block: wire.Keep(index.Raw), Kind: wire.OtherBlock}
	for m := start.Members(); m.Next(); {
		if m.Key != "toolUse" && m.Key != "toolResult" {
			r.UnknownMember("contentBlockStart.start", m.Key, m.Value)
			continue
		}
		if !m.Value.IsObject() {
			return wire.WrongType("contentBlockStart.start."+m.Key, m.Value, "an object")
		}
		if m.Key == "toolUse" {
			r.d.Kind = wire.CallBlock
			r.call(chunks.Chunk{Index: index.Raw}, m.Value)
			continue
		}
		return r.startResult(m.Value)
	}
	return nil
}

// call emits the beginning of a call, or a whole call (of.Whole):
// {"toolUseId","name","type"?,"input"?}.
func (r reader) call(of chunks.Chunk, v jsonscan.Value) {
	of.Kind, of.Final = chunks.Fragment, true
	for m := v.Members(); m.Next(); {
		switch m.Key {
		case "toolUseId":
			of.ID = r.Text(m.Value)
		case "name":
			of.Name = r.Text(m.Value)
		case "type":
			if m.Value.Str == "server_tool_use" {
				of.CallKind, of.Provider = "server", true
			}
		case "input":
			r.input(&of, m.Value)
		default:
			r.UnknownMember("toolUse", m.Key, m.Value)
		}
	}
	r.Emit(of)
}

// input sets the args of a chunk. They are text, or an object where a proxy has
// parsed them.
func (r reader) input(c *chunks.Chunk, input jsonscan.Value) {
	if c.Object = input.IsObject(); c.Object {
		c.Args = r.Compact(input.Raw)
	} else {
		c.Args = r.Text(input)
	}
}

func (r reader) delta(e jsonscan.Value) *wire.Problem {
	var index, delta jsonscan.Value
	e.Read(index.From("contentBlockIndex"), delta.From("delta"))
	if !delta.IsObject() {
		return wire.WrongType("contentBlockDelta.delta", delta, "an object")
	}
	for m := delta.Members(); m.Next(); {
		switch m.Key {
		case "text":
			r.emitText(chunks.Text, index, m.Value)
		case "reasoningContent":
			r.emitText(chunks.Reasoning, index, m.Value.Member("text"))
		case "toolUse":
			c := chunks.Chunk{Kind: chunks.Fragment, Index: index.Raw, Exact: true}
			if !m.Value.IsObject() {
				return wire.WrongType("contentBlockDelta.delta.toolUse", m.Value, "an object")
			}
			input := m.Value.Member("input")
			if r.input(&c, input); c.Args != "" {
				r.Emit(c)
			}
			if !input.Present() {
				r.UnknownMembers("contentBlockDelta.delta.toolUse", m.Value)
			}
		case "toolResult":
			return r.addResult(index, m.Value)
		default:
			if r.d.Block == index.Raw && (r.d.Kind == wire.CallBlock || r.d.Result.ID != "") {
				r.UnknownCall("delta", m.Key, m.Key)
			}
			r.UnknownMember("contentBlockDelta.delta", m.Key, m.Value)
		}
	}
	return nil
}

// emitText emits text or reasoning. Its block has no start event.
func (r reader) emitText(kind chunks.Kind, index, text jsonscan.Value) {
	if r.d.Block != index.Raw || r.d.Kind != wire.PartBlock {
		r.endResult()
		*r.d = Decoder{Block: wire.Keep(index.Raw), Kind: wire.PartBlock}
	}
	if s := r.Text(text); s != "" {
		r.Emit(chunks.Chunk{Kind: kind, Part: index.Int(), Text: s})
	}
}

// stopBlock ends a block. The kind of a block without a known beginning is not
// known either: it may be a call, and a Seal without such a call has no effect.
func (r reader) stopBlock(index jsonscan.Value) {
	kind := wire.CallBlock
	if r.d.Block == index.Raw && r.d.Kind != wire.NoBlock {
		kind = r.d.Kind
		r.endResult()
		*r.d = Decoder{}
	}
	switch kind {
	case wire.CallBlock:
		r.Emit(chunks.Chunk{Kind: chunks.Seal, Index: index.Raw})
	case wire.PartBlock:
		r.Emit(chunks.Chunk{Kind: chunks.PartEnd, Part: index.Int()})
	}
}
