package cursoragent

import (
	"strings"

	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

// Decode emits the chunks of a line. An interaction_query is a request of the program to
// itself, whose calls have lines of their own.
func (d *decoder) Decode(w *wire.Writer, f wire.Frame) *wire.Problem {
	var l line
	l.read(f)
	switch kind := l.kind.Str; {
	case kind == "system" && l.subtype.Str == "init":
		w.StartRun(d.Run)
		*d = decoder{Run: true}
	case kind == "user" && l.message.IsObject():
		w.Emit(chunks.Chunk{Kind: chunks.Human, Text: w.PlainText(l.message.Member("content"))})
	case kind == "thinking" && l.subtype.Str == "delta":
		d.write(w, &l, Thought, w.Text(l.text))
	case kind == "thinking" && l.subtype.Str == "completed":
		d.endText(w)
	case kind == "assistant" && l.message.IsObject():
		d.assistant(w, &l)
	case kind == "tool_call" && (l.subtype.Str == "started" || l.subtype.Str == "completed"):
		return d.toolCall(w, &l)
	case kind == "result":
		d.end(w, &l)
	case kind == "interaction_query":
	default:
		if l.subtype.IsString() {
			kind = w.Join(kind, "/", w.Text(l.subtype))
		}
		w.Unknown("line", kind, f.JSON)
	}
	return nil
}

func (d *decoder) begin(w *wire.Writer, l *line) {
	model := wire.Keep(w.Text(l.model))
	same := model != "" && model == d.Model
	unknown := (model == "" || d.Model == "") && !d.Answered
	if !d.Open || !same && !unknown {
		w.StartMessage(d.Open, chunks.Chunk{})
		*d = decoder{Run: true, Open: true, Calls: d.Calls}
	}
	if model != "" {
		d.Model = model
	}
}

func (d *decoder) write(w *wire.Writer, l *line, as TextKind, text string) {
	if text == "" {
		return
	}
	d.begin(w, l)
	if d.Written != as {
		d.endText(w)
	}
	d.Written = as
	c := chunks.Chunk{Kind: chunks.Text, Part: d.Part, Text: text}
	if as == Thought {
		c.Kind = chunks.Reasoning
	}
	w.Emit(c)
}

func (d *decoder) endText(w *wire.Writer) {
	if d.Written != Nothing {
		w.Emit(chunks.Chunk{Kind: chunks.PartEnd, Part: d.Part})
		d.Part, d.Written = d.Part+1, Nothing
	}
	d.Pieces = false
}

// assistant emits text. With --stream-partial-output, a line with a time and without a
// model_call_id is a piece, and a line with all of the text follows the pieces.
func (d *decoder) assistant(w *wire.Writer, l *line) {
	piece := l.time.Present() && !l.model.Present()
	if !piece && d.Pieces {
		d.begin(w, l)
		d.endText(w)
		return
	}
	for e := l.message.Member("content").Elements(); e.Next(); {
		if kind := wire.TypeOf(e.Value); kind != "text" {
			w.Unknown("content block", kind, e.Value)
			continue
		}
		d.write(w, l, Answer, w.Text(e.Value.Member("text")))
	}
	if d.Pieces = piece; !piece {
		d.endText(w)
	}
}

// end ends the run. A process that ended well has left no call open.
func (d *decoder) end(w *wire.Writer, l *line) {
	c := chunks.Chunk{Kind: chunks.RunEnd, Status: "completed", Abandons: true}
	if l.failed.Kind == jsonscan.True || l.subtype.Str != "success" {
		c.Status, c.Text, c.Abandons = "error", w.Text(l.result), false
		if strings.Contains(l.subtype.Str, "cancel") {
			c.Status = "cancelled"
		}
	}
	d.endText(w)
	*d = decoder{}
	w.Emit(c)
}
