package langchain

import (
	"slices"
	"strings"

	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
)

// protocol is what the langgraph-protocol format remembers between
// events. Its slices are never written to once they are set, so that copies
// may share them.
type protocol struct {
	// Open are the messages being streamed, the latest at the end.
	Open []protocolOpen `json:"o,omitzero"`
	// Failed are the calls whose tools failed last, the latest at the end.
	Failed []string `json:"f,omitzero"`
}

// protocolOpen is a message being streamed.
type protocolOpen struct {
	Namespace string `json:"n,omitzero"`
	Run       string `json:"r,omitzero"` // of the model, not of the graph
	ID        string `json:"i,omitzero"`
	Call      string `json:"c,omitzero"` // that a tool's message answers
	Silent    bool   `json:"s,omitzero"` // it is not the model's
	Block     bool   `json:"b,omitzero"` // its latest block is a call
	Said      bool   `json:"d,omitzero"` // something of that block was streamed
}

const (
	keptOpen   = 64
	keptFailed = 64
)

// find gives the place of the message that an event belongs to, or -1.
func (m *protocol) find(ns, run string) int {
	for i := len(m.Open) - 1; i >= 0; i-- {
		if o := &m.Open[i]; o.Namespace == ns && (o.Run == run || o.Run == "" || run == "") {
			return i
		}
	}
	return -1
}

// begin notes a message. The one before it in the same place is over; the
// oldest of too many is forgotten.
func (m *protocol) begin(o protocolOpen) {
	if len(o.Namespace) > 4*wire.MaxID || len(o.ID) > wire.MaxID || len(o.Run) > wire.MaxID || len(o.Call) > wire.MaxID {
		return
	}
	o.Namespace, o.Run, o.ID, o.Call = strings.Clone(o.Namespace), strings.Clone(o.Run), strings.Clone(o.ID), strings.Clone(o.Call)
	if i := m.find(o.Namespace, o.Run); i >= 0 {
		m.drop(i)
	}
	old := m.Open[max(0, len(m.Open)-keptOpen+1):]
	m.Open = append(slices.Clip(old), o)
}

func (m *protocol) drop(i int) {
	if i >= 0 {
		m.Open = slices.Delete(slices.Clone(m.Open), i, i+1)
	}
}

// block notes that a block began, and whether with some of its content.
func (m *protocol) block(i int, call, said bool) {
	if i >= 0 && (m.Open[i].Block != call || m.Open[i].Said != said) {
		m.Open = slices.Clone(m.Open)
		m.Open[i].Block, m.Open[i].Said = call, said
	}
}

// said notes that something of the block was streamed.
func (m *protocol) said(i int) {
	if i >= 0 {
		m.block(i, m.Open[i].Block, true)
	}
}

// failed notes that a tool failed.
func (m *protocol) failed(call string) {
	if len(call) > wire.MaxID || m.answered(call) {
		return
	}
	old := m.Failed[max(0, len(m.Failed)-keptFailed+1):]
	m.Failed = append(slices.Clip(old), strings.Clone(call))
}

// retry notes that a tool runs again.
func (m *protocol) retry(call string) {
	if i := slices.Index(m.Failed, call); i >= 0 {
		m.Failed = slices.Delete(slices.Clone(m.Failed), i, i+1)
	}
}

// answered tells whether it was told that the tool of a call failed.
func (m *protocol) answered(call string) bool { return slices.Contains(m.Failed, call) }

// hasResult reports whether a chunk is a result of a call that has one already.
func (m *protocol) hasResult(c *chunks.Chunk) bool {
	return c.Kind == chunks.Result && m.answered(c.ID)
}
