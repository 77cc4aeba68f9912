package bedrock

import (
	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

// startBlock begins a block: {"contentBlockIndex","start":{"toolUse"|"toolResult"}}.
func (d *decoder) startBlock(w *wire.Writer, e jsonscan.Value) *wire.Problem {
	index, start := e.Member("contentBlockIndex"), e.Member("start")
	if !start.IsObject() {
		return wire.WrongType("contentBlockStart.start", start, "an object")
	}
	d.endResult(w)
	*d = decoder{Block: wire.Keep(index.Raw), Kind: wire.OtherBlock}
	for m := start.Members(); m.Next(); {
		if m.Key != "toolUse" && m.Key != "toolResult" {
			w.UnknownMember("contentBlockStart.start", m.Key, m.Value)
			continue
		}
		if !m.Value.IsObject() {
			return wire.WrongType("contentBlockStart.start."+m.Key, m.Value, "an object")
		}
		if m.Key == "toolUse" {
			d.Kind = wire.CallBlock
			d.call(w, chunks.Chunk{Index: index.Raw}, m.Value)
			continue
		}
		return d.startResult(w, m.Value)
	}
	return nil
}

// call emits the beginning of a call, or a whole call (of.Whole):
// {"toolUseId","name","type"?,"input"?}.
func (d *decoder) call(w *wire.Writer, of chunks.Chunk, v jsonscan.Value) {
	of.Kind, of.Final = chunks.Fragment, true
	var id, name, kind, input jsonscan.Value
	w.ReadKnown("toolUse", v, id.From("toolUseId"), name.From("name"), kind.From("type"), input.From("input"))
	of.ID, of.Name = w.Text(id), w.Text(name)
	if kind.Str == "server_tool_use" {
		of.CallKind, of.Provider = "server", true
	}
	d.input(w, &of, input)
	w.Emit(of)
}

// input sets the args of a chunk. They are text, or an object where a proxy has
// parsed them.
func (d *decoder) input(w *wire.Writer, c *chunks.Chunk, input jsonscan.Value) {
	if c.Object = input.IsObject(); c.Object {
		c.Args = w.Compact(input.Raw)
	} else {
		c.Args = w.Text(input)
	}
}

func (d *decoder) delta(w *wire.Writer, e jsonscan.Value) *wire.Problem {
	var index, delta jsonscan.Value
	e.Read(index.From("contentBlockIndex"), delta.From("delta"))
	if !delta.IsObject() {
		return wire.WrongType("contentBlockDelta.delta", delta, "an object")
	}
	for m := delta.Members(); m.Next(); {
		switch m.Key {
		case "text":
			d.emitText(w, chunks.Text, index, m.Value)
		case "reasoningContent":
			d.emitText(w, chunks.Reasoning, index, m.Value.Member("text"))
		case "toolUse":
			c := chunks.Chunk{Kind: chunks.Fragment, Index: index.Raw, Exact: true}
			if !m.Value.IsObject() {
				return wire.WrongType("contentBlockDelta.delta.toolUse", m.Value, "an object")
			}
			input := m.Value.Member("input")
			if d.input(w, &c, input); c.Args != "" {
				w.Emit(c)
			}
			if !input.Present() {
				w.UnknownMembers("contentBlockDelta.delta.toolUse", m.Value)
			}
		case "toolResult":
			return d.addResult(w, index, m.Value)
		default:
			if d.Block == index.Raw && (d.Kind == wire.CallBlock || d.Result.ID != "") {
				w.UnknownCall("delta", m.Key, m.Key)
			}
			w.UnknownMember("contentBlockDelta.delta", m.Key, m.Value)
		}
	}
	return nil
}

// emitText emits text or reasoning. Its block has no start event.
func (d *decoder) emitText(w *wire.Writer, kind chunks.Kind, index, text jsonscan.Value) {
	if d.Block != index.Raw || d.Kind != wire.PartBlock {
		d.endResult(w)
		*d = decoder{Block: wire.Keep(index.Raw), Kind: wire.PartBlock}
	}
	w.EmitText(chunks.Chunk{Kind: kind, Part: index.Int()}, text)
}

// stopBlock ends a block. The kind of a block without a known beginning is not
// known either.
func (d *decoder) stopBlock(w *wire.Writer, index jsonscan.Value) {
	kind := wire.NoBlock
	if d.Block == index.Raw && d.Kind != wire.NoBlock {
		kind = d.Kind
		d.endResult(w)
		*d = decoder{}
	}
	w.EndBlock("", kind, index)
}
