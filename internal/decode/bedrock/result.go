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

// maxResult is the maximum number of bytes of a result that comes in pieces.
const maxResult = 1 << 20

// startResult begins the result of a tool that the provider runs:
// {"toolUseId","status"?,"type"?}.
func (r reader) startResult(v jsonscan.Value) *wire.Problem {
	w := wire.Body{Writer: r.Writer}
	r.d.Result.ID = wire.Keep(w.Text("toolUseId", v.Member("toolUseId")))
	if status := w.Text("status", v.Member("status")); status != "" {
		r.d.Result.Status = w.OneOf("status", status, "success", "error")
	}
	if w.Problem == nil && r.d.Result.ID == "" {
		w.Fail(&wire.Problem{Code: wire.BadShape, Text: "the result names no call: toolUseId is missing or empty"})
	}
	if w.Problem != nil {
		r.d.Result = Result{}
	}
	return w.Problem
}

func (r reader) addResult(index, list jsonscan.Value) *wire.Problem {
	if !list.IsArray() {
		return wire.WrongType("contentBlockDelta.delta.toolResult", list, "a list of blocks")
	}
	a := &r.d.Result
	if a.ID == "" || r.d.Block != index.Raw {
		return &wire.Problem{Code: wire.BadShape, Text: "a piece of a tool result comes without the start of its block, which names its call"}
	}
	for e := list.Elements(); e.Next(); {
		if len(a.Blocks)+len(e.Value.Raw) > maxResult {
			id := a.ID
			r.endResult()
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
func (r reader) endResult() {
	a := r.d.Result
	r.d.Result = Result{}
	if a.ID == "" {
		return
	}
	c := chunks.Chunk{Kind: chunks.Result, ID: a.ID, Status: a.Status}
	blocks := "[" + string(a.Blocks) + "]"
	var text strings.Builder
	for e := jsonscan.ValueOf(blocks).Elements(); e.Next(); {
		t := e.Value.Member("text")
		if !t.IsString() {
			c.Content = r.Compact(blocks)
			break
		}
		text.WriteString(r.Text(t))
	}
	if c.Content == "" {
		c.Text = text.String()
	}
	r.Emit(c)
}
