package langchain

import (
	"slices"
	"strings"

	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
	"streamer/internal/stored"
)

// protocolCause is the call that started a subgraph.
type protocolCause struct {
	Namespace string // of the subgraph
	Call      string
}

func (c *protocolCause) fields(f *stored.Fields) {
	f.Text("n", &c.Namespace)
	f.Text("c", &c.Call)
}

// maxCauses is the maximum number of causes that are stored.
const maxCauses = 64

// protocolCause stores the cause of a subgraph: {"type":"toolCall","tool_call_id"}.
func (d *decoder) protocolCause(w *wire.Writer, ns string, cause jsonscan.Value) {
	if call := callIn(w, cause); call != "" {
		d.Streams.cause(ns, call)
	}
}

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

// causeOf returns the call that started the innermost subgraph around a namespace, or
// "".
func (m *protocol) causeOf(ns string) (call string) {
	inner := -1
	for _, c := range m.Causes {
		if within(ns, c.Namespace) && len(c.Namespace) > inner {
			call, inner = c.Call, len(c.Namespace)
		}
	}
	return call
}
