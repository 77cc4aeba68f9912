package agui

import (
	"slices"

	"streamer/internal/decode/wire"
	"streamer/internal/stored"
)

type decoder struct {
	Items      []Item      // the open items, oldest first
	Namespaces []Namespace // those with a message or a subagent
	Waiting    wire.IDs    // of the calls for which a run was interrupted, without a result
	Asked      bool        // the run has emitted an interrupt before its end
	Past       wire.IDs    // of the runs that finished
	Seen       wire.IDs    // of the calls and messages of these and of the open run
	Again      string      // id of the open run if it finished before
}

func (d *decoder) Fields(f *stored.Fields) {
	stored.List(f, "l", &d.Items, (*Item).fields)
	stored.List(f, "p", &d.Namespaces, (*Namespace).fields)
	d.Waiting.Fields(f, "w")
	f.Flag("a", &d.Asked)
	d.Past.Fields(f, "f")
	d.Seen.Fields(f, "s")
	f.Text("r", &d.Again)
}

// Item is an open text, reasoning or call.
type Item struct {
	Kind      itemKind
	Namespace string
	ID        string // of the call, or of the message
	Message   string
	Chunk     bool // it came in chunks and has no end event
}

func (i *Item) fields(f *stored.Fields) {
	stored.Number(f, "k", &i.Kind)
	f.Text("n", &i.Namespace)
	f.Text("i", &i.ID)
	f.Text("m", &i.Message)
	f.Flag("c", &i.Chunk)
}

// Namespace is the state of a namespace.
type Namespace struct {
	Name       string
	Message    string // id of the current message
	Begun      bool   // there is a current message
	ParentCall string // the call that started the subagent
}

func (n *Namespace) fields(f *stored.Fields) {
	f.Text("n", &n.Name)
	f.Text("m", &n.Message)
	f.Flag("b", &n.Begun)
	f.Text("o", &n.ParentCall)
}

type itemKind uint8

const (
	callItem     itemKind = iota
	repeatedCall          // a call that was emitted before an interrupt
	textItem
	reasoningItem
	mutedItem // of a message that is neither the assistant's nor human
	humanItem
)

func (k itemKind) ofCall() bool { return k == callItem || k == repeatedCall }

// chunk returns the type of the event that continues an item that came in chunks.
func (k itemKind) chunk() string {
	switch k {
	case callItem, repeatedCall:
		return "TOOL_CALL_CHUNK"
	case reasoningItem:
		return "REASONING_MESSAGE_CHUNK"
	}
	return "TEXT_MESSAGE_CHUNK"
}

// The maximum numbers of elements of the state. The oldest are removed first.
const (
	maxItems      = 1000
	maxNamespaces = 100
	maxWaiting    = 100
	maxPast       = 16
	maxSeen       = 256
)

// startRun records that a run begins, and reports whether it is one that has finished and
// is sent again.
func (d *decoder) startRun(id string) (again bool) {
	if d.Again = ""; d.Past.Has(id) {
		d.Again = wire.Keep(id)
	}
	return d.Again != ""
}

// replays reports whether an event begins a call or a message that was seen, in a run that
// is sent again. An id that was not seen is recorded.
func (d *decoder) replays(id string) bool {
	return !d.Seen.AddNew(id, maxSeen) && d.Again != "" && id != ""
}

// open adds an item. The pointer is valid until the next item opens or closes.
func (d *decoder) open(i Item) *Item {
	i.Namespace, i.ID, i.Message = wire.Keep(i.Namespace), wire.Keep(i.ID), wire.Keep(i.Message)
	d.Items = append(wire.MakeRoom(d.Items, maxItems), i)
	return &d.Items[len(d.Items)-1]
}

func (d *decoder) close(i *Item) {
	for k := range d.Items {
		if &d.Items[k] == i {
			d.Items = slices.Delete(d.Items, k, k+1)
			return
		}
	}
}

// findCall returns the open call with an id. Without an id it returns the call that
// came in chunks last.
func (d *decoder) findCall(ns, id string) *Item {
	return d.find(func(i *Item) bool {
		return i.Kind.ofCall() && (id == "" && i.Chunk && i.Namespace == ns || id != "" && sameID(i.ID, id))
	})
}

// findContent returns the open text or reasoning with an id. Without an id it returns
// the latest one of its kind in the namespace.
func (d *decoder) findContent(kind itemKind, ns, id string) *Item {
	return d.find(func(i *Item) bool {
		sameKind := i.Kind == kind || kind == textItem && (i.Kind == mutedItem || i.Kind == humanItem)
		return sameKind && i.Namespace == ns && sameID(i.ID, id)
	})
}

func (d *decoder) find(match func(*Item) bool) *Item {
	for i := len(d.Items) - 1; i >= 0; i-- {
		if match(&d.Items[i]) {
			return &d.Items[i]
		}
	}
	return nil
}

func (d *decoder) busy(ns, message string) bool {
	return d.find(func(i *Item) bool {
		return i.Namespace == ns && i.Message == message && (i.Kind == callItem || i.Kind == textItem || i.Kind == reasoningItem)
	}) != nil
}

// namespace returns the state of a namespace, and adds it if there is none. The
// pointer is valid until the next call.
func (d *decoder) namespace(ns string) *Namespace {
	ns = ns[:min(len(ns), wire.MaxID)]
	for i := range d.Namespaces {
		if d.Namespaces[i].Name == ns {
			return &d.Namespaces[i]
		}
	}
	d.Namespaces = append(wire.MakeRoom(d.Namespaces, maxNamespaces), Namespace{Name: wire.Keep(ns)})
	return &d.Namespaces[len(d.Namespaces)-1]
}

func (d *decoder) forget(ns string) {
	d.Items = slices.DeleteFunc(d.Items, func(i Item) bool { return i.Namespace == ns })
	d.Namespaces = slices.DeleteFunc(d.Namespaces, func(n Namespace) bool { return n.Name == ns })
}
