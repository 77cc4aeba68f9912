package openai

import (
	"cmp"
	"slices"

	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

// executedTools emits the calls that Groq makes and runs in the course of an answer:
//
//	"executed_tools":[{"index":0,"type":"search","arguments":"{…}"}]
//	→ "executed_tools":[{"index":0,"type":"search","arguments":"{…}","output":"…"}]
//
// An entry comes without its output first and with it later, or once with it. Calls
// have no id, and mostly no name but their type.
func (d *decoder) executedTools(w *wire.Writer, of wire.Choice, entries jsonscan.Value) {
	for e := entries.Elements(); e.Next(); {
		var index, kind, name, args, output, other jsonscan.Value
		w.ReadKnown("executed_tools", e.Value,
			index.From("index"), kind.From("type"), name.From("name"), args.From("arguments"), output.From("output"),
			other.From("search_results"), other.From("code_results"), other.From("browser_results"),
		)
		c := chunks.Chunk{
			Kind: chunks.Fragment, Message: of.Message, Choice: of.Index, IDVaries: of.Varies, Index: wire.RawIndex(index),
			Name: cmp.Or(w.Text(name), w.Text(kind)), CallKind: "server", Provider: true, Final: true, Opens: true,
		}
		if c.Name != "" {
			d.executed(w, c, args, output)
		}
	}
}

func (d *decoder) executed(w *wire.Writer, c chunks.Chunk, args, output jsonscan.Value) {
	place := wire.Keep(cmp.Or(c.Index, c.Name))
	if !slices.Contains(d.Running, place) {
		d.Running = append(wire.MakeRoom(d.Running, maxRunning), place)
		w.SetArgs(&c, args)
		w.Emit(c)
		w.Emit(chunks.Chunk{Kind: chunks.Seal, Message: c.Message, Choice: c.Choice, Index: c.Index})
	}
	if !output.Present() {
		return
	}
	result := chunks.Chunk{Kind: chunks.Result, Index: c.Index, Name: c.Name, Status: "success"}
	result.Content, result.Text = w.ContentOf(output)
	w.Emit(result)
	d.Running = slices.DeleteFunc(d.Running, func(running string) bool { return running == place })
}

// maxRunning is the maximum number of executed tools whose outputs are awaited.
const maxRunning = 64
