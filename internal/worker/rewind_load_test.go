package worker

import (
	"fmt"
	"testing"

	"streamer/internal/inputs"
)

// TestRewindShownByLoad checks a rewind that neither the takeover nor the check of
// the log can see, and that the load of a session shows. Meanwhile an input of the
// session waits, and another session folds inputs behind it. The input that waits is
// folded as if it had been stored after the rewind; the others keep their numbers.
func TestRewindShownByLoad(t *testing.T) {
	const text = `{"id":"t%d","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"hello"}}]}`
	m := newModel(1, true)
	m.todo = nil
	if err := m.birth(0); err != nil {
		t.Fatal(err)
	}
	m.append("a", inputs.Delta, fmt.Appendf(nil, text, 1))
	m.append("a", inputs.Delta, fmt.Appendf(nil, text, 2))
	m.append("a", inputs.End, []byte("{}"))
	if err := m.owners[0].fold(3); err != nil {
		t.Fatal(err)
	}
	m.owners[0].settle(t)
	last, _, _ := m.last("a")
	if last == 0 {
		t.Fatal("the session has no events")
	}
	// The inputs are lost, the snapshot is damaged, and the events are old.
	m.inputs = m.inputs[:1]
	m.snapshots["a"] = kept{rev: 1, data: []byte("?")}
	m.rev, m.oldEvents = 1, true
	m.now = m.now.Add(1e9)
	m.append("b", inputs.Delta, fmt.Appendf(nil, text, 3))
	waits := m.append("a", inputs.Delta, fmt.Appendf(nil, text, 4))
	after := m.append("b", inputs.Delta, fmt.Appendf(nil, text, 5))
	if err := m.birth(0); err != nil {
		t.Fatal(err)
	}
	o := m.owners[0]
	if err := o.fold(3); err != nil {
		t.Fatal(err)
	}
	if o.q.loads.of["a"] == nil || o.q.sessions.resident["b"] == nil {
		t.Fatal("want one session that is being loaded and one that is resident")
	}
	o.settle(t)
	rewinds := o.q.history.rewinds
	if len(rewinds) != 1 || rewinds[0].From != after+1 || m.checkpoint.Rewinds.Effective(after) != after {
		t.Fatalf("got rewinds %+v, want one from input %d on", rewinds, after+1)
	}
	s := o.q.sessions.resident["a"]
	if want := waits + rewinds[0].By; s == nil || s.state.N != want || s.log.id.Seq != want || want <= last {
		t.Fatalf("got %+v, want the input that waited folded as %d", s, want)
	}
	if n := o.q.sessions.resident["b"].state.N; n != after {
		t.Errorf("the other session is folded up to %d, want %d", n, after)
	}
	// The next input of the session is behind that, for this owner and the next.
	for range 2 {
		n := m.append("a", inputs.Delta, fmt.Appendf(nil, text, 6)) + rewinds[0].By
		if err := m.owners[0].fold(1); err != nil {
			t.Fatal(err)
		}
		m.owners[0].settle(t)
		if s := m.owners[0].q.sessions.resident["a"]; s == nil || s.state.N != n {
			t.Fatalf("got %+v, want the next input folded as %d", s, n)
		}
		m.owners[0].q.sessions.writeAll(m.now.AddDate(1000, 0, 0))
		m.owners[0].settle(t)
		m.owners[0].q.advance(t.Context())
		m.owners[0].settle(t)
		if err := m.birth(0); err != nil {
			t.Fatal(err)
		}
	}
}
