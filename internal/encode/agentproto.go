package encode

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"streamer/internal/events"
)

// maxNamespaces is the maximum number of subgraphs of a run that are shown.
const maxNamespaces = 1000

// agentProtocol encodes a session as the thread stream of the agent streaming
// protocol of LangGraph (package @langchain/protocol).
//
// The client connects again without a cursor, gets everything again, and drops the
// frames whose event_id it has. So an event_id names the content of its frame: the
// args of a call up to a byte have the same id whether they arrive in many frames or
// in one. A frame of the history that replaces the earlier ones (block-delta) is
// therefore exact for any client.
//
// The stream does not end: the client reconnects to a stream that ends, for ever.
// Clients stop reading at the root terminal of a run. In the history only that of the
// last run is shown, otherwise they would stop before the last run.
type agentProtocol struct {
	output
	filter     Filter
	since      uint64      // the client has the events before this sequence
	seq        uint64      // of the last event
	at         events.Time // of the last event
	live       bool
	messages   []*apMessage // the open ones
	names      lgMessages
	calls      []*apCall // the open ones
	run        string
	namespaces []string // of the run, besides the root
	callIDs
	ended *apFrame // root terminal that is not written yet
}

type apCall struct {
	*lgCall
	block   *apBlock
	started bool // tool-started was written
	ended   bool // its end was written, before the log has it
}

type apFrame struct {
	Type    string   `json:"type"`
	EventID string   `json:"event_id"`
	Seq     uint64   `json:"seq"`
	Method  string   `json:"method"`
	Params  apParams `json:"params"`
}

type apParams struct {
	Namespace []string `json:"namespace"`
	Timestamp int64    `json:"timestamp"` // milliseconds since the Unix epoch
	Data      apData   `json:"data"`
}

// apData is the content of an event of any channel. The fields that an event does not
// have are empty.
type apData struct {
	Event        string          `json:"event,omitempty"`
	Role         string          `json:"role,omitempty"`
	ID           string          `json:"id,omitempty"`
	RunID        string          `json:"run_id,omitempty"` // tells messages of a namespace that overlap apart
	Index        *int            `json:"index,omitempty"`
	Content      *apContent      `json:"content,omitempty"`
	Delta        any             `json:"delta,omitempty"` // an apDelta, or the text of an output
	Usage        *lgUsage        `json:"usage,omitempty"`
	Reason       string          `json:"reason,omitempty"`
	ToolCallID   string          `json:"tool_call_id,omitempty"`
	ToolName     string          `json:"tool_name,omitempty"`
	Input        json.RawMessage `json:"input,omitempty"`
	Output       *lgChunk        `json:"output,omitempty"`
	Message      string          `json:"message,omitempty"`
	Code         string          `json:"code,omitempty"`
	Cause        *apCause        `json:"cause,omitempty"`
	Error        string          `json:"error,omitempty"`
	Status       string          `json:"status,omitempty"`
	InterruptID  string          `json:"interrupt_id,omitempty"`
	InterruptIDs []string        `json:"interrupt_ids,omitempty"`
	Payload      *lgQuestion     `json:"payload,omitempty"`
	Streamer     *callData       `json:"streamer,omitempty"`
}

type apCause struct {
	Type       string `json:"type"`
	ToolCallID string `json:"tool_call_id"`
}

// Open appends a comment, so that the client gets the headers at once.
func (a *agentProtocol) Open(dst []byte, o Opening) []byte {
	a.filter, a.since = o.Filter, o.Since
	return append(dst, ": open\n"...)
}

func (a *agentProtocol) Event(dst []byte, r events.Record, e *events.Event) []byte {
	a.seq = r.Seq
	if !isShown(r.Type) || r.Type == events.SessionErased && a.run == "" {
		return dst
	}
	a.dst, a.at = dst, e.Timestamp
	if e.Type != events.MessageStarted && e.Type != events.ToolCallParent {
		a.enter(namespaceOf(e), e.EventID, e.ParentCall)
	}
	if m := a.names.question; m != nil && e.Type != events.HumanMessage && graphOf(m.place.Namespace) == graphOf(namespaceOf(e)) {
		a.endHuman()
	}
	dispatch(a, e)
	return a.take()
}

// Live appends what the history has of the blocks that are open, and the terminal of
// the last run if that has ended.
func (a *agentProtocol) Live(dst []byte, _ uint64) []byte {
	a.live = true
	a.dst = dst
	for _, m := range a.messages {
		a.sendSnapshot(m)
	}
	a.sendTerminal()
	return a.take()
}

// Done returns false: a stream has all runs of its session.
func (a *agentProtocol) Done() bool { return false }

func (a *agentProtocol) send(e *events.Event, id, method string, d apData) {
	a.sendTo(namespaceOf(e), id, method, d)
}

func (a *agentProtocol) sendTo(namespace, id, method string, d apData) {
	a.write(&apFrame{"event", id, a.seq, method, apParams{splitNamespace(namespace), int64(a.at), d}})
}

// writes reports whether a frame is written: the client neither has it nor wants it
// not. The last event that the client has can have several frames, of which it may
// have a part, so these are written again: it knows them by their ids.
func (a *agentProtocol) writes(method string, namespace []string) bool {
	return a.seq >= a.since && a.filter.selects(method, namespace)
}

func (a *agentProtocol) write(f *apFrame) {
	if !a.writes(f.Method, f.Params.Namespace) {
		return
	}
	a.dst = append(append(append(a.dst, "id: "...), f.EventID...), '\n')
	a.dst = append(append(append(a.dst, "event: "...), f.Method...), '\n')
	a.dst = dataFrame(a.dst, f)
}

func (a *agentProtocol) startRun(e *events.Event) {
	a.ended, a.namespaces, a.run = nil, nil, e.Run
	a.sendTo("", e.EventID.String(), "lifecycle", apData{Event: "running", RunID: e.Run})
}

// enter appends the start of a subgraph, and of those around it, at its first event in
// a run besides the start of a message: clients read its cause there only, and the start of a message has none.
// parent is the call that the event names as its cause. A subagent of which the
// namespace is the id of a call has that as its cause.
func (a *agentProtocol) enter(ns string, id events.ID, parent string) {
	if ns == "" || slices.Contains(a.namespaces, ns) || len(a.namespaces) >= maxNamespaces {
		return
	}
	outer := ns[:max(0, strings.LastIndexByte(ns, '|'))]
	if graph := graphOf(ns); graph != ns && graph != "" {
		a.enter(outer, id, parent) // the call started the graph around the task
		parent = ""
	} else {
		a.enter(outer, id, "")
	}
	a.namespaces = append(a.namespaces, ns)
	d := apData{Event: "started"}
	if own := a.of(ns); parent == "" && slices.ContainsFunc(a.calls, func(c *apCall) bool { return c.id == own }) {
		parent = ns
	}
	if parent != "" {
		d.Cause = &apCause{"toolCall", a.of(parent)}
	}
	a.sendTo(ns, id.String()+".ns"+strconv.Itoa(strings.Count(ns, "|")), "lifecycle", d)
}

func (a *agentProtocol) parent(e *events.Event) {
	if graph := graphOf(namespaceOf(e)); slices.Contains(a.namespaces, graph) {
		a.sendTo(graph, e.EventID.String(), "lifecycle", apData{Event: "running", Cause: &apCause{"toolCall", a.of(e.ParentCall)}})
	}
}

// endRun ends the messages of the run, its subgraphs, and the run itself. Calls stay
// open if a client or a person answers them: their results follow in the stream.
func (a *agentProtocol) endRun(e *events.Event) {
	for len(a.messages) > 0 {
		a.finish(a.messages[0], e)
	}
	a.names.open = nil
	a.closeCut(e)
	d := apData{Event: "completed", RunID: cmp.Or(e.Run, a.run), Status: string(e.Status)}
	switch e.Status {
	case events.Error:
		d.Event, d.Error = "failed", reasonText(e.Reason, "The run failed.")
	case events.Cancelled, events.Interrupted:
		d.Event = "interrupted"
	}
	for i, ns := range a.namespaces {
		a.sendTo(ns, e.EventID.String()+".ns"+strconv.Itoa(i), "lifecycle", apData{Event: d.Event, Error: d.Error})
	}
	a.namespaces, a.run = nil, ""
	a.ended = &apFrame{"event", e.EventID.String(), a.seq, "lifecycle", apParams{[]string{}, int64(e.Timestamp), d}}
	if a.live {
		a.sendTerminal()
	}
}

func (a *agentProtocol) sendTerminal() {
	if a.ended != nil {
		a.ended.Seq = a.seq // of the last event: the client compares sequences
		a.write(a.ended)
		a.ended = nil
	}
}

func namespaceOf(e *events.Event) string { return placeOf(e).Namespace }

func splitNamespace(ns string) []string {
	if ns == "" {
		return []string{}
	}
	return strings.Split(ns, "|")
}

func (f *Filter) selects(method string, namespace []string) bool {
	channel, _, _ := strings.Cut(method, ".")
	if len(f.Channels) > 0 && !slices.Contains(f.Channels, channel) {
		return false
	}
	if len(f.Namespaces) == 0 {
		return f.Depth == nil || len(namespace) <= *f.Depth
	}
	return slices.ContainsFunc(f.Namespaces, func(prefix []string) bool {
		return hasPrefix(namespace, prefix) && (f.Depth == nil || len(namespace)-len(prefix) <= *f.Depth)
	})
}

// hasPrefix reports whether a namespace begins with a prefix. A name without a colon
// in the prefix also means the names that have a suffix after it.
func hasPrefix(ns, prefix []string) bool {
	if len(prefix) > len(ns) {
		return false
	}
	for i, want := range prefix {
		name, _, _ := strings.Cut(ns[i], ":")
		if ns[i] != want && (strings.Contains(want, ":") || name != want) {
			return false
		}
	}
	return true
}
