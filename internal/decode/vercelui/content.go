package vercelui

import (
	"slices"

	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/stored"
)

// Part is an open text or reasoning.
type Part struct {
	ID     string
	Number int
}

func (p *Part) fields(f *stored.Fields) {
	f.Text("i", &p.ID)
	stored.Number(f, "n", &p.Number)
}

const maxParts = 64

func (d *decoder) contentEvent(w *wire.Writer, e *event, kind chunks.Kind, what string) *wire.Problem {
	if !e.id.IsString() {
		return wire.WrongType("id", e.id, "a string")
	}
	switch id := w.Text(e.id); what {
	case "start":
		d.open(id)
	case "delta":
		if !e.delta.IsString() {
			return wire.WrongType("delta", e.delta, "a string")
		}
		if s := w.Text(e.delta); s != "" {
			part := d.openPart(id)
			if part == 0 {
				part = d.open(id)
			}
			w.Emit(chunks.Chunk{Kind: kind, Message: d.Message, Part: part, Text: s})
		}
	case "end":
		if n := d.end(id); n > 0 {
			w.Emit(chunks.Chunk{Kind: chunks.PartEnd, Message: d.Message, Part: n})
		}
	}
	return nil
}

// open begins a content part and returns its number. Ids repeat in later steps.
func (d *decoder) open(id string) int {
	d.Part++
	d.Parts = append(wire.MakeRoom(d.Parts, maxParts), Part{ID: wire.Keep(id), Number: d.Part})
	return d.Part
}

func (d *decoder) openPart(id string) int {
	for i := len(d.Parts) - 1; i >= 0; i-- {
		if d.Parts[i].ID == id[:min(len(id), wire.MaxID)] {
			return d.Parts[i].Number
		}
	}
	return 0
}

func (d *decoder) end(id string) int {
	for i := len(d.Parts) - 1; i >= 0; i-- {
		if p := d.Parts[i]; p.ID == id[:min(len(id), wire.MaxID)] {
			d.Parts = slices.Delete(d.Parts, i, i+1)
			return p.Number
		}
	}
	return 0
}
