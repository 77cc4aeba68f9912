package cursoragent

import (
	"strings"

	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

// Decode emits the chunks of a line. An interaction_query is a request of the program to
// itself, whose calls have lines of their own.
func (d *Decoder) Decode(w *wire.Writer, f wire.Frame) *wire.Problem {
	var l line
	l.read(f)
	r := reader{w, d}
	switch kind := l.kind.Str; {
	case kind == "system" && l.subtype.Str == "init":
		r.start()
	case kind == "user" && l.message.IsObject():
		r.Emit(chunks.Chunk{Kind: chunks.Human, Text: r.PlainText(l.message.Member("content"))})
	case kind == "thinking" && l.subtype.Str == "delta":
		r.write(&l, Thought, r.Text(l.text))
	case kind == "thinking" && l.subtype.Str == "completed":
		r.endText()
	case kind == "assistant" && l.message.IsObject():
		r.assistant(&l)
	case kind == "tool_call" && (l.subtype.Str == "started" || l.subtype.Str == "completed"):
		return r.toolCall(&l)
	case kind == "result":
		r.end(&l)
	case kind == "interaction_query":
	default:
		if l.subtype.IsString() {
			kind = r.Join(kind, "/", r.Text(l.subtype))
		}
		r.Unknown("line", kind, f.JSON)
	}
	return nil
}

type reader struct {
	*wire.Writer
	d *Decoder
}

// start begins a run. A process that was killed has not written its end.
func (r reader) start() {
	if r.d.Run {
		r.Emit(chunks.Chunk{Kind: chunks.RunEnd, Status: "error", Text: "the program ended without a result"})
	}
	*r.d = Decoder{Run: true}
	r.Emit(chunks.Chunk{Kind: chunks.RunStart, Explicit: true})
}

func (r reader) begin(l *line) {
	model := wire.Keep(r.Text(l.model))
	same := model != "" && model == r.d.Model
	unknown := (model == "" || r.d.Model == "") && !r.d.Answered
	if !r.d.Open || !same && !unknown {
		*r.d = Decoder{Run: true, Open: true, Calls: r.d.Calls}
		r.Emit(chunks.Chunk{Kind: chunks.Start, Role: "assistant", Fresh: true})
	}
	if model != "" {
		r.d.Model = model
	}
}

func (r reader) write(l *line, as Written, text string) {
	if text == "" {
		return
	}
	r.begin(l)
	if r.d.Written != as {
		r.endText()
	}
	r.d.Written = as
	c := chunks.Chunk{Kind: chunks.Text, Part: r.d.Part, Text: text}
	if as == Thought {
		c.Kind = chunks.Reasoning
	}
	r.Emit(c)
}

func (r reader) endText() {
	if r.d.Written != Nothing {
		r.Emit(chunks.Chunk{Kind: chunks.PartEnd, Part: r.d.Part})
		r.d.Part, r.d.Written = r.d.Part+1, Nothing
	}
	r.d.Pieces = false
}

// assistant emits text. With --stream-partial-output, a line with a time and without a
// model_call_id is a piece, and a line with all of the text follows the pieces.
func (r reader) assistant(l *line) {
	piece := l.time.Present() && !l.model.Present()
	if !piece && r.d.Pieces {
		r.begin(l)
		r.endText()
		return
	}
	for e := l.message.Member("content").Elements(); e.Next(); {
		if kind := wire.TypeOf(e.Value); kind != "text" {
			r.Unknown("content block", kind, e.Value)
			continue
		}
		r.write(l, Answer, r.Text(e.Value.Member("text")))
	}
	if r.d.Pieces = piece; !piece {
		r.endText()
	}
}

// end ends the run. A process that ended well has left no call open.
func (r reader) end(l *line) {
	c := chunks.Chunk{Kind: chunks.RunEnd, Status: "completed", Abandons: true}
	if l.failed.Kind == jsonscan.True || l.subtype.Str != "success" {
		c.Status, c.Text, c.Abandons = "error", r.Text(l.result), false
		if strings.Contains(l.subtype.Str, "cancel") {
			c.Status = "cancelled"
		}
	}
	r.endText()
	*r.d = Decoder{}
	r.Emit(c)
}
