package bedrock

import (
	"fmt"
	"strings"

	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
	"streamer/internal/stored"
)

// Result is a tool result of which some pieces have arrived.
type Result struct {
	ID     string
	Status string
	Blocks []byte // the content so far: JSON objects separated by commas
}

func (r *Result) fields(f *stored.Fields) {
	f.Text("i", &r.ID)
	f.Text("s", &r.Status)
	f.Bytes("c", &r.Blocks)
}

const maxResult = 1 << 20

// startResult begins the result of a tool that the provider runs:
// {"toolUseId","status"?,"type"?}.
func (d *decoder) startResult(w *wire.Writer, v jsonscan.Value) *wire.Problem {
	b := wire.Body{Writer: w}
	d.Result.ID = wire.Keep(b.Text("toolUseId", v.Member("toolUseId")))
	if status := b.Text("status", v.Member("status")); status != "" {
		d.Result.Status = strings.Clone(b.OneOf("status", status, "success", "error"))
	}
	if b.Problem == nil && d.Result.ID == "" {
		b.Fail(wire.WrongShape("the result names no call: toolUseId is missing or empty"))
	}
	if b.Problem != nil {
		d.Result = Result{}
	}
	return b.Problem
}

func (d *decoder) addResult(w *wire.Writer, index, list jsonscan.Value) *wire.Problem {
	if !list.IsArray() {
		return wire.WrongType("contentBlockDelta.delta.toolResult", list, "a list of blocks")
	}
	a := &d.Result
	if a.ID == "" || d.Block != index.Raw {
		return wire.WrongShape("a piece of a tool result comes without the start of its block, which names its call")
	}
	for e := list.Elements(); e.Next(); {
		if len(a.Blocks)+len(e.Value.Raw) > maxResult {
			id := a.ID
			d.endResult(w)
			return &wire.Problem{Code: wire.OverLimit, Text: fmt.Sprintf("the result of %q is longer than %d bytes: the rest of it is dropped", wire.Clip(id), maxResult)}
		}
		if len(a.Blocks) > 0 {
			a.Blocks = append(a.Blocks, ',')
		}
		a.Blocks = append(a.Blocks, e.Value.Raw...)
	}
	return nil
}

// endResult emits the result that came in pieces, if there is one. A result that
// consists of texts becomes one text.
func (d *decoder) endResult(w *wire.Writer) {
	a := d.Result
	d.Result = Result{}
	if a.ID == "" {
		return
	}
	c := chunks.Chunk{Kind: chunks.Result, ID: a.ID, Status: a.Status}
	blocks := "[" + string(a.Blocks) + "]"
	var text strings.Builder
	for e := jsonscan.ValueOf(blocks).Elements(); e.Next(); {
		t := e.Value.Member("text")
		if !t.IsString() {
			c.Content = w.Compact(blocks)
			break
		}
		text.WriteString(w.Text(t))
	}
	if c.Content == "" {
		c.Text = text.String()
	}
	w.Emit(c)
}
