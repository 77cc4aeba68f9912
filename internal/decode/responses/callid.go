package responses

import (
	"slices"
	"strings"

	"streamer/internal/decode/wire"
)

// Call is a call that was emitted.
type Call struct {
	Index string `json:"i,omitzero"` // raw
	ID    string `json:"d"`
	Done  bool   `json:"e,omitzero"` // its item has ended
}

// maxCalls is the maximum number of calls that are stored of a response.
const maxCalls = 128

// callID returns the id under which a call was emitted first. Some servers send
// another id at the end of the item or of the response. others reports whether the
// end of the response contains an id.
func (d *Decoder) callID(index, id string, at stage, others func(id string) bool) string {
	if len(id) > wire.MaxID || len(index) > wire.MaxID {
		return id
	}
	i := slices.IndexFunc(d.Calls, func(c Call) bool { return c.ID == id })
	if i < 0 && at != itemAdded {
		i = slices.IndexFunc(d.Calls, func(c Call) bool {
			return c.Index == index && (at == itemDone && !c.Done || at > itemDone && !others(c.ID))
		})
	}
	if i < 0 {
		d.Calls = append(wire.MakeRoom(d.Calls, maxCalls), Call{Index: strings.Clone(index), ID: strings.Clone(id)})
		i = len(d.Calls) - 1
	}
	c := &d.Calls[i]
	c.Done = c.Done || at != itemAdded
	return c.ID
}
