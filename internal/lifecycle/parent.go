package lifecycle

import (
	"strings"

	"streamer/internal/chunks"
	"streamer/internal/events"
)

// A tool of LangGraph runs as a task, and the namespaces of the graphs that it starts
// begin with that of the task. Only the result, which comes in the namespace of the
// task, shows which call the task ran. By then the calls below it have mostly ended.

// ranIn records the namespace in which the result of the call came that was closed last,
// a call of m. When all calls of m are closed, the calls below their tasks get their
// parents. A task that ran several calls of m is the parent of none.
func (st *Step) ranIn(m *Message, task string) {
	if task == "" || task == m.Namespace {
		return
	}
	mem := &st.State.Memory
	mem.Closed[len(mem.Closed)-1].Task = clone(task)
	if m.open() > 0 {
		return
	}
	last := mem.ofRun(m.Run)
	if tasks := tasksOf(last, m); len(tasks) > 0 {
		st.nameParents(last, tasks)
	}
}

// tasksOf returns the id of the call that a task ran, by the namespace of the task, for
// the calls of m in a list. It is "" for a task that ran several.
func tasksOf(list []Closed, m *Message) map[string]string {
	var tasks map[string]string
	for i := range list {
		c := &list[i]
		if !c.in(m) || c.Task == "" {
			continue
		}
		if tasks == nil {
			tasks = map[string]string{}
		}
		if _, several := tasks[c.Task]; several {
			tasks[c.Task] = ""
		} else {
			tasks[c.Task] = c.ID
		}
	}
	return tasks
}

// nameParents emits the parents of the closed calls below tasks that have none yet.
func (st *Step) nameParents(list []Closed, tasks map[string]string) {
	for i := range list {
		c := &list[i]
		if c.Child || c.Call == "" {
			continue
		}
		parent := ""
		for ns := outer(c.Namespace); ns != "" && parent == ""; ns = outer(ns) {
			parent = tasks[ns]
		}
		if parent != "" {
			c.Child = true
			st.emitClosed(events.ToolCallParent, c).ParentCall = parent
		}
	}
}

// outer returns the namespace around a namespace, "" at the root.
func outer(namespace string) string {
	return namespace[:max(0, strings.LastIndexByte(namespace, '|'))]
}

func (c *Closed) in(m *Message) bool {
	return c.Call != "" && c.Message == m.ID && c.Namespace == m.Namespace && c.Choice == m.Choice
}

// ofRun returns the calls that were closed last, up to one of another run.
func (m *Memory) ofRun(run string) []Closed {
	first := len(m.Closed)
	for first > 0 && m.Closed[first-1].Run == run {
		first--
	}
	return m.Closed[first:]
}

func (st *Step) emitClosed(t events.Type, c *Closed) *events.Event {
	e := st.append(t, c.Run)
	e.Place = &events.Place{MessageID: c.Message, Namespace: c.Namespace, Choice: c.Choice}
	e.Call, e.ID, e.IDSynthesized, e.UID, e.ToolName = c.Call, c.ID, c.Synth, c.UID, c.Name
	e.Index = chunks.RawIndex(c.Index)
	return e
}
