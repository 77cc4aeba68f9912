package langchain

import (
	"slices"
	"strings"

	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/stored"
)

type protocol struct {
	// Open are the messages being streamed, the latest at the end.
	Open []protocolOpen
	// Failed are the calls whose tools failed last, the latest at the end.
	Failed wire.IDs
	// Causes are the calls that started the latest subgraphs, the latest at the end.
	Causes []protocolCause
}

func (m *protocol) fields(f *stored.Fields) {
	stored.List(f, "o", &m.Open, (*protocolOpen).fields)
	m.Failed.Fields(f, "f")
	stored.List(f, "p", &m.Causes, (*protocolCause).fields)
}

type protocolOpen struct {
	Namespace string
	Run       string // of the model, not of the graph
	ID        string
	Call      string // the call whose result the message of a tool contains
	Silent    bool   // the message is not the model's
	Human     bool   // a person wrote the message
	Block     bool   // its latest block is a call
	Streamed  bool   // some content of that block was emitted
}

func (o *protocolOpen) fields(f *stored.Fields) {
	f.Text("n", &o.Namespace)
	f.Text("r", &o.Run)
	f.Text("i", &o.ID)
	f.Text("c", &o.Call)
	f.Flag("s", &o.Silent)
	f.Flag("h", &o.Human)
	f.Flag("b", &o.Block)
	f.Flag("d", &o.Streamed)
}

// The bounds of the state.
const (
	maxOpen   = 64
	maxFailed = 64
)

func (m *protocol) find(ns, run string) int {
	for i := len(m.Open) - 1; i >= 0; i-- {
		if o := &m.Open[i]; o.Namespace == ns && (o.Run == run || o.Run == "" || run == "") {
			return i
		}
	}
	return -1
}

// at returns an open message, or an empty one that is not stored if i is -1.
func (m *protocol) at(i int) *protocolOpen {
	if i < 0 {
		return new(protocolOpen)
	}
	return &m.Open[i]
}

// begin adds a message. It removes the message before it in the same namespace and run,
// and the oldest message where there are too many.
func (m *protocol) begin(o protocolOpen) {
	if len(o.Namespace) > 4*wire.MaxID || len(o.ID) > wire.MaxID || len(o.Run) > wire.MaxID || len(o.Call) > wire.MaxID {
		return
	}
	o.Namespace, o.Run, o.ID, o.Call = strings.Clone(o.Namespace), strings.Clone(o.Run), strings.Clone(o.ID), strings.Clone(o.Call)
	m.drop(m.find(o.Namespace, o.Run))
	m.Open = append(wire.MakeRoom(m.Open, maxOpen), o)
}

func (m *protocol) drop(i int) {
	if i >= 0 {
		m.Open = slices.Delete(m.Open, i, i+1)
	}
}

type protocolCause struct {
	Namespace string // of the subgraph
	Call      string
}

func (c *protocolCause) fields(f *stored.Fields) {
	f.Text("n", &c.Namespace)
	f.Text("c", &c.Call)
}

const maxCauses = 64

// setParents names, in the calls among the chunks after the first n, the call that
// started the subgraph which made them.
func (d *decoder) setParents(w *wire.Writer, n int) {
	if len(d.Streams.Causes) == 0 {
		return
	}
	for i := range w.Since(n) {
		if c := &w.Since(n)[i]; c.Kind == chunks.Fragment && c.Namespace != "" && c.ID != "" {
			c.ParentCall = d.Streams.causeOf(c.Namespace)
		}
	}
}

// cause stores the call that started a subgraph, and removes the oldest where there are
// too many.
func (m *protocol) cause(ns, call string) {
	if len(ns) > 4*wire.MaxID || len(call) > wire.MaxID {
		return
	}
	if slices.ContainsFunc(m.Causes, func(c protocolCause) bool { return c.Namespace == ns && c.Call == call }) {
		return
	}
	m.Causes = slices.DeleteFunc(m.Causes, func(c protocolCause) bool { return c.Namespace == ns })
	m.Causes = append(wire.MakeRoom(m.Causes, maxCauses), protocolCause{strings.Clone(ns), strings.Clone(call)})
}

func (m *protocol) causeOf(ns string) (call string) {
	inner := -1
	for _, c := range m.Causes {
		if within(ns, c.Namespace) && len(c.Namespace) > inner {
			call, inner = c.Call, len(c.Namespace)
		}
	}
	return call
}
