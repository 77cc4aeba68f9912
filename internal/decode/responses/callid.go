package responses

import (
	"slices"
	"strings"

	"streamer/internal/decode/wire"
	"streamer/internal/stored"
)

// Call is a call that was emitted.
type Call struct {
	Index    string // raw
	ID       string
	Done     bool // its item has ended
	Answered bool // its result was emitted

	repeated bool // the end of the response that is being read contains it
}

func (c *Call) fields(f *stored.Fields) {
	f.Text("i", &c.Index)
	f.Text("d", &c.ID)
	f.Flag("e", &c.Done)
	f.Flag("r", &c.Answered)
}

// maxCalls is the maximum number of calls that are stored of a response.
const maxCalls = 128

// identity is what is known of the call that an item is.
type identity uint8

const (
	knownCall identity = iota
	newCall
	otherCall // it has the id of an earlier call
)

// callOf returns the call that an item is, under the index and the id of its first
// event: some servers send others at the end of the item or of the response. others
// reports whether the end of the response contains an id.
func (d *decoder) callOf(index, id string, at stage, others func(id string) bool) (c Call, is identity) {
	if len(id) > wire.MaxID || len(index) > wire.MaxID {
		return Call{Index: index, ID: id}, knownCall
	}
	i := d.findCall(index, id, at, others)
	if i < 0 {
		is = newCall
		if slices.ContainsFunc(d.Calls, func(c Call) bool { return c.ID == id }) {
			is = otherCall
		}
		d.Calls = append(wire.MakeRoom(d.Calls, maxCalls), Call{Index: strings.Clone(index), ID: strings.Clone(id)})
		i = len(d.Calls) - 1
	}
	d.Calls[i].Done = d.Calls[i].Done || at != itemAdded
	d.Calls[i].repeated = at > itemDone
	return d.Calls[i], is
}

// findCall returns the position of the stored call that an item is, or -1. An id
// may be that of several calls.
func (d *decoder) findCall(index, id string, at stage, others func(id string) bool) int {
	find := func(match func(c *Call) bool) int {
		return slices.IndexFunc(d.Calls, func(c Call) bool {
			open := !c.Done && at <= itemDone || !c.repeated && at > itemDone
			return open && match(&c)
		})
	}
	i := find(func(c *Call) bool { return c.ID == id && c.Index == index })
	if i < 0 {
		i = find(func(c *Call) bool { return c.ID == id })
	}
	if i < 0 && at != itemAdded {
		i = find(func(c *Call) bool { return c.Index == index && (at == itemDone || !others(c.ID)) })
	}
	if i < 0 && at == itemDone { // the event comes again
		i = slices.IndexFunc(d.Calls, func(c Call) bool { return c.ID == id && c.Index == index })
	}
	return i
}

// answers reports whether the result of an output item is new. The end of the
// response repeats those of the items.
func (d *decoder) answers(id string, at stage) bool {
	known := false
	for i := range d.Calls {
		c := &d.Calls[i]
		if c.ID == id && !c.Answered {
			c.Answered = true
			return true
		}
		known = known || c.ID == id
	}
	return !known || at == itemDone
}
