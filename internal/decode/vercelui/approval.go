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

// ask reads {"approvalId","toolCallId"|"toolCall","reason"?,"approvalDescriptor"?,
// "inputSchemaInput"?,"isAutomatic"?,"signature"?}. The agent verifies the signature when it
// continues, so all but the ids is kept as it is.
func (d *decoder) ask(w *wire.Writer, e *event, call string, v jsonscan.Value) *wire.Problem {
	id, automatic := w.Text(e.approval), e.automatic.Kind == jsonscan.True
	d.Asks = append(wire.MakeRoom(d.Asks, maxAsks), Ask{wire.Keep(id), wire.Keep(call), automatic})
	c := chunks.Chunk{Kind: chunks.Await, ID: call, Why: "approval", InterruptID: id}
	if automatic {
		c = chunks.Chunk{Kind: chunks.Progress, ID: call, InterruptID: id}
	}
	var problem *wire.Problem
	if !e.mastra {
		c.Content, problem = request(w, v)
	}
	w.Emit(c)
	return problem
}

// request returns an object with the members of a request besides its type and its ids, or
// "" if there are none. Members of a wrong type are left out: a client would refuse them.
func request(w *wire.Writer, v jsonscan.Value) (content string, problem *wire.Problem) {
	text := w.Build(func(dst []byte) []byte {
		dst = append(dst, '{')
		for m := v.Members(); m.Next(); {
			wanted := ""
			switch m.Key {
			case "type", "approvalId", "toolCallId", "toolCall":
				continue
			case "reason", "signature":
				if !m.Value.IsString() {
					wanted = "a string"
				}
			case "isAutomatic":
				if m.Value.Kind != jsonscan.True && m.Value.Kind != jsonscan.False {
					wanted = "a boolean"
				}
			}
			switch {
			case wanted == "":
				dst = wire.AppendMember(dst, &m)
			case m.Value.Present():
				problem = wire.WrongType(m.Key, m.Value, wanted)
			}
		}
		return append(dst, '}')
	})
	if text == "{}" {
		return "", problem
	}
	return w.Compact(text), problem
}

// answer reads {"approvalId","approved","reason"?}. An approved call runs, and one that is
// denied has ended: tool-output-denied repeats it, or does not come.
func (d *decoder) answer(w *wire.Writer, e *event) *wire.Problem {
	id := w.Text(e.approval)
	i := slices.IndexFunc(d.Asks, func(a Ask) bool { return a.ID == id[:min(len(id), wire.MaxID)] })
	switch {
	case e.approved.Kind != jsonscan.True && e.approved.Kind != jsonscan.False:
		return wire.WrongType("approved", e.approved, "a boolean")
	case e.approved.Kind == jsonscan.True && i >= 0 && d.Asks[i].Automatic:
		w.Emit(chunks.Chunk{Kind: chunks.Progress, ID: d.Asks[i].Call, InterruptID: id, Text: w.Text(e.reason)})
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
