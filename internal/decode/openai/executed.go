package openai

import (
	"slices"

	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

type executedFields struct {
	index, kind, name, args, output jsonscan.Value
}

func (f *executedFields) read(w *wire.Writer, entry jsonscan.Value) {
	var other jsonscan.Value
	w.ReadKnown("executed_tools", entry,
		f.index.From("index"), f.kind.From("type"), f.name.From("name"), f.args.From("arguments"),
		f.output.From("output"), other.From("search_results"),
		other.From("code_results"), other.From("browser_results"),
	)
}

// executedTools emits the calls that Groq makes and runs in the course of an answer:
//
//	"executed_tools":[{"index":0,"type":"search","arguments":"{…}"}]
//	→ "executed_tools":[{"index":0,"type":"search","arguments":"{…}","output":"…"}]
//
// An entry comes without its output first and with it later, or once with it. Calls
// have no id, and mostly no name but their type.
func (d *decoder) executedTools(w *wire.Writer, of wire.Choice, entries jsonscan.Value) {
	for e := entries.Elements(); e.Next(); {
		var f executedFields
		f.read(w, e.Value)
		c := chunks.Chunk{
			Kind: chunks.Fragment, Message: of.Message, Choice: of.Index, IDVaries: of.Varies, Index: wire.RawIndex(f.index),
			Name: w.Text(f.name), CallKind: "server", Provider: true, Final: true, Opens: true,
		}
		if c.Name == "" {
			c.Name = w.Text(f.kind)
		}
		if c.Name == "" {
			continue
		}
		d.executed(w, c, &f)
	}
}

func (d *decoder) executed(w *wire.Writer, c chunks.Chunk, f *executedFields) {
	place := c.Index
	if place == "" {
		place = c.Name
	}
	if place = wire.Keep(place); !slices.Contains(d.Running, place) {
		d.Running = append(wire.MakeRoom(d.Running, maxRunning), place)
		w.SetArgs(&c, f.args)
		w.Emit(c)
		w.Emit(chunks.Chunk{Kind: chunks.Seal, Message: c.Message, Choice: c.Choice, Index: c.Index})
	}
	if !f.output.Present() {
		return
	}
	result := chunks.Chunk{Kind: chunks.Result, Index: c.Index, Name: c.Name, Status: "success"}
	result.Content, result.Text = w.ContentOf(f.output)
	w.Emit(result)
	d.Running = slices.DeleteFunc(d.Running, func(running string) bool { return running == place })
}

// maxRunning is the maximum number of executed tools whose outputs are awaited.
const maxRunning = 64
