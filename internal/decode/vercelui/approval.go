package vercelui

import (
	"cmp"
	"slices"

	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
	"streamer/internal/stored"
)

// Ask is an approval that was requested.
type Ask struct {
	ID        string // of the approval
	Call      string // id of the call
	Automatic bool   // no person is asked
}

func (a *Ask) fields(f *stored.Fields) {
	f.Text("i", &a.ID)
	f.Text("c", &a.Call)
	f.Flag("a", &a.Automatic)
}

// The maximum numbers of calls in the state. The oldest are removed first.
const (
	maxAsks   = 100
	maxInputs = 100
)

const denial = "The tool call was denied."

// answer reads {"approvalId","approved","reason"?}. An approved call runs, and one that is
// denied has ended: tool-output-denied repeats it, or does not come.
func (d *decoder) answer(w *wire.Writer, e *event) *wire.Problem {
	id := w.Text(e.approval)
	i := slices.IndexFunc(d.Asks, func(a Ask) bool { return a.ID == id[:min(len(id), wire.MaxID)] })
	switch {
	case e.approved.Kind != jsonscan.True && e.approved.Kind != jsonscan.False:
		return wire.WrongType("approved", e.approved, "a boolean")
	case e.approved.Kind == jsonscan.True:
		w.Emit(chunks.Chunk{Kind: chunks.Resume, InterruptID: id, Text: w.Text(e.reason)})
	case i >= 0:
		d.Denied.AddNew(d.Asks[i].Call, maxAsks)
		w.Emit(chunks.Chunk{Kind: chunks.Result, ID: d.Asks[i].Call, Status: "denied", Text: cmp.Or(w.Text(e.reason), denial)})
	}
	if i >= 0 {
		d.Asks = slices.Delete(d.Asks, i, i+1)
	}
	return nil
}

// answered records that the call with an id has a result. No input of it follows.
func (d *decoder) answered(id string) {
	d.Inputs.Remove(id)
	d.Asks = slices.DeleteFunc(d.Asks, func(a Ask) bool { return a.Call == id[:min(len(id), wire.MaxID)] })
}
