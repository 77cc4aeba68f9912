package responses

import (
	"slices"
	"strconv"
	"strings"

	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
	"streamer/internal/stored"
)

// hasCall reports whether a list of items has a call with an id, on an index if that is
// not "".
func (r frame) hasCall(items jsonscan.Value, id, index string) bool {
	i := 0
	for e := items.Elements(); e.Next(); i++ {
		if f := readItem(e.Value); (r.Text(f.call) == id || r.Text(f.id) == id) && (index == "" || index == strconv.Itoa(i)) {
			return true
		}
	}
	return false
}

// call emits a call. It also emits the result of a call that the provider ran, and
// the request for an approval.
func (r frame) call(of chunks.Chunk, i itemFields, at stage) {
	args, object := r.Text(i.args), i.args.IsObject() || i.args.IsArray()
	if object {
		args = r.Compact(i.args.Raw)
	}
	if at == itemAdded {
		if !object {
			of.Args = args
		}
		r.Emit(of)
		return
	}
	// The first fragment opens the call in this message. A whole call alone could
	// be matched with a call of an earlier response that has the same id.
	r.Emit(of)
	// In the Realtime API the status of a call that is whole says nothing.
	if i.status.Str == "incomplete" && !(r.realtime && wire.Valid(args)) || at == itemCutOff && !object && of.CallKind != "custom" && !wire.Valid(args) {
		return // the deltas have all args there are
	}
	of.Args, of.Object, of.Whole, of.Opens, of.Exact = args, object, true, false, false
	r.Emit(of)
	switch {
	case of.CallKind == "mcp_approval_request":
		r.Emit(chunks.Chunk{Kind: chunks.Await, Message: of.Message, ID: of.ID, Why: "approval", InterruptID: of.ID})
	case of.CallKind == "mcp":
		r.mcpResult(of, i)
	case of.CallKind == "custom" && of.Provider && i.status.Str == "completed":
		// The provider does not send the content of the result.
		r.Emit(chunks.Chunk{Kind: chunks.Result, Message: of.Message, ID: of.ID, Status: "success"})
	}
}

func (r frame) mcpResult(of chunks.Chunk, i itemFields) {
	c := chunks.Chunk{Kind: chunks.Result, Message: of.Message, ID: of.ID, Name: of.Name, Status: "success"}
	switch {
	case wire.Filled(i.failure):
		c.Status = "error"
		if content := i.failure.Member("content"); content.IsArray() {
			c.Content = r.Compact(content.Raw)
		} else {
			c.Text = r.FailureText(i.failure)
		}
	case i.status.Str == "failed":
		c.Status, c.Text = "error", r.Text(i.output)
	case i.output.IsNested():
		c.Content = r.Compact(i.output.Raw)
	case i.output.Present() || i.status.Str == "completed":
		c.Text = r.Text(i.output)
	default:
		return
	}
	r.Emit(c)
}

// Call is a call that was emitted.
type Call struct {
	Index    string // raw
	ID       string
	Name     string
	Done     bool // its item has ended
	Answered bool // its result was emitted
	Commands int  // of a shell: the number of commands that have begun
	Texts    bool // the last command has text

	repeated bool // the end of the response that is being read contains it
}

func (c *Call) fields(f *stored.Fields) {
	f.Text("i", &c.Index)
	f.Text("d", &c.ID)
	f.Text("m", &c.Name)
	f.Flag("e", &c.Done)
	f.Flag("r", &c.Answered)
	stored.Number(f, "n", &c.Commands)
	f.Flag("t", &c.Texts)
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
// reports whether the end of the response contains an id, on an index if it is given.
func (d *decoder) callOf(item Call, at stage, others func(id, index string) bool) (c Call, is identity) {
	if len(item.ID) > wire.MaxID || len(item.Index) > wire.MaxID {
		return item, knownCall
	}
	i := d.findCall(item, at, others)
	if i < 0 {
		is = newCall
		if slices.ContainsFunc(d.Calls, func(c Call) bool { return c.ID == item.ID }) {
			is = otherCall
		}
		d.Calls = append(wire.MakeRoom(d.Calls, maxCalls), Call{Index: strings.Clone(item.Index), ID: strings.Clone(item.ID), Name: wire.Keep(item.Name)})
		i = len(d.Calls) - 1
	}
	d.Calls[i].Done = d.Calls[i].Done || at != itemAdded
	d.Calls[i].repeated = at > itemDone
	return d.Calls[i], is
}

// findCall returns the position of the stored call that an item is, or -1. An id
// may be that of several calls.
func (d *decoder) findCall(item Call, at stage, others func(id, index string) bool) int {
	index, id := item.Index, item.ID
	find := func(match func(c *Call) bool) int {
		return slices.IndexFunc(d.Calls, func(c Call) bool {
			open := !c.Done && at <= itemDone || !c.repeated && at > itemDone
			return open && match(&c)
		})
	}
	i := find(func(c *Call) bool { return c.ID == id && c.Index == index })
	if i < 0 { // an item that begins on another index is another call
		i = find(func(c *Call) bool {
			return c.ID == id && (c.Name == item.Name || c.Name == "" || item.Name == "") && (at != itemAdded || c.Index == "" || index == "") && !(at > itemDone && jsonscan.Int(c.Index) > jsonscan.Int(index) && others(id, c.Index)) // that item follows
		})
	}
	if i < 0 && at != itemAdded {
		i = find(func(c *Call) bool { return c.Index == index && (at == itemDone || !others(c.ID, "")) })
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
