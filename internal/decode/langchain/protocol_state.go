package langchain

import (
	"slices"
	"strings"

	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/stored"
)

// protocol is the state of the format langgraph-protocol.
type protocol struct {
	// Open are the messages being streamed, the latest at the end.
	Open []protocolOpen
	// Failed are the calls whose tools failed last, the latest at the end.
	Failed []string
	// Causes are the calls that started the latest subgraphs, the latest at the end.
	Causes []protocolCause
}

func (m *protocol) fields(f *stored.Fields) {
	stored.List(f, "o", &m.Open, (*protocolOpen).fields)
	f.Texts("f", &m.Failed)
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

// find returns the index of the message to which an event belongs, or -1.
func (m *protocol) find(ns, run string) int {
	for i := len(m.Open) - 1; i >= 0; i-- {
		if o := &m.Open[i]; o.Namespace == ns && (o.Run == run || o.Run == "" || run == "") {
			return i
		}
	}
	return -1
}

// begin adds a message. It removes the message before it in the same namespace and run,
// and the oldest message where there are too many.
func (m *protocol) begin(o protocolOpen) {
	if len(o.Namespace) > 4*wire.MaxID || len(o.ID) > wire.MaxID || len(o.Run) > wire.MaxID || len(o.Call) > wire.MaxID {
		return
	}
	o.Namespace, o.Run, o.ID, o.Call = strings.Clone(o.Namespace), strings.Clone(o.Run), strings.Clone(o.ID), strings.Clone(o.Call)
	if i := m.find(o.Namespace, o.Run); i >= 0 {
		m.drop(i)
	}
	m.Open = append(wire.MakeRoom(m.Open, maxOpen), o)
}

func (m *protocol) drop(i int) {
	if i >= 0 {
		m.Open = slices.Delete(m.Open, i, i+1)
	}
}

func (m *protocol) block(i int, call, streamed bool) {
	if i >= 0 {
		m.Open[i].Block, m.Open[i].Streamed = call, streamed
	}
}

func (m *protocol) streamed(i int) {
	if i >= 0 {
		m.Open[i].Streamed = true
	}
}

func (m *protocol) fail(call string) {
	if len(call) > wire.MaxID || m.answered(call) {
		return
	}
	m.Failed = append(wire.MakeRoom(m.Failed, maxFailed), strings.Clone(call))
}

func (m *protocol) retry(call string) {
	m.Failed = slices.DeleteFunc(m.Failed, func(failed string) bool { return failed == call })
}

func (m *protocol) answered(call string) bool { return slices.Contains(m.Failed, call) }

func (m *protocol) hasResult(c *chunks.Chunk) bool {
	return c.Kind == chunks.Result && m.answered(c.ID)
}
