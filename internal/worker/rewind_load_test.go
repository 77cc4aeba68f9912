package worker

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"streamer/internal/inputs"
)

// text is a delta with the text of a message.
const text = `{"id":"t%d","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"hello"}}]}`

// TestRewindShownByLoad checks a rewind that neither the takeover nor the check of
// the log can see, and that the load of a session shows. Meanwhile an input of the
// session waits, and another session folds inputs behind it. The input that waits is
// folded as if it had been stored after the rewind; the others keep their numbers.
func TestRewindShownByLoad(t *testing.T) {
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
	m.rev, m.now = 1, m.now.Add(time.Minute)
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
		m.owners[0].save(t)
		if err := m.birth(0); err != nil {
			t.Fatal(err)
		}
	}
}

// TestRewindShownByReload checks a rewind that only the event log of one session shows,
// of which no snapshot was written. Its next input is folded as that of a new session.
// Its events are refused when the log was read past the number of the last lost input.
func TestRewindShownByReload(t *testing.T) { synctest.Test(t, rewindShownByReload) }

func rewindShownByReload(t *testing.T) {
	m := newModel(1, true)
	m.todo = nil
	for i, data := range []string{fmt.Sprintf(text, 1), fmt.Sprintf(text, 2)} {
		if i > 0 { // the first is lost
			m.now = m.now.Add(time.Minute)
			m.inputs, m.rewound, m.epoch = m.inputs[:1], []time.Time{m.now}, m.epoch+1
			m.now = m.now.Add(time.Second)
		}
		if err := m.birth(0); err != nil {
			t.Fatal(err)
		}
		m.append("a", inputs.Delta, []byte(data))
		for range 10 * i {
			m.append("b", inputs.Interrupt, []byte("{}"))
		}
		if err := m.work(m.owners[0]); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.consistent(); err != nil {
		t.Error(err)
	}
	if r := m.checkpoint.Rewinds; len(r) != 1 {
		t.Errorf("got the rewinds %+v, want one", r)
	}
}

// TestNoRewindOfBegunAfresh checks that the snapshot of a session that is begun afresh,
// because inputs of it were lost, does not show a rewind: its state is behind inputs
// that were never folded into it.
func TestNoRewindOfBegunAfresh(t *testing.T) {
	m := newModel(1, true)
	m.todo = nil
	if err := m.birth(0); err != nil {
		t.Fatal(err)
	}
	fold := func(kind inputs.Kind, data string) {
		t.Helper()
		m.append("a", kind, []byte(data))
		m.now = m.now.Add(time.Second)
		if err := m.owners[0].fold(1); err != nil {
			t.Fatal(err)
		}
		m.owners[0].save(t)
	}
	fold(inputs.Delta, fmt.Sprintf(callDelta, 1, 1))
	open := m.snapshots["a"]
	fold(inputs.Result, fmt.Sprintf(result, 1))
	fold(inputs.End, "{}")
	cut := len(m.inputs)
	fold(inputs.Delta, fmt.Sprintf(text, 2)) // this input is lost, and the next one
	fold(inputs.End, "{}")
	m.inputs = m.inputs[:cut]
	m.epoch++
	if err := m.birth(0); err != nil {
		t.Fatal(err)
	}
	fold(inputs.Delta, fmt.Sprintf(text, 3))
	fold(inputs.End, "{}")
	rewinds := m.checkpoint.Rewinds
	if len(rewinds) != 1 {
		t.Fatalf("got the rewinds %+v, want one", rewinds)
	}

	m.rev++
	open.rev = m.rev
	m.snapshots["a"], m.now = open, m.now.Add(time.Minute)
	for range 2 {
		if err := m.birth(0); err != nil {
			t.Fatal(err)
		}
		m.owners[0].save(t)
	}
	if !m.checkpoint.Rewinds.Equal(rewinds) {
		t.Errorf("got the rewinds %+v, want no other than %+v", m.checkpoint.Rewinds, rewinds)
	}
}

// TestRewindBehindCheckpoint checks that a takeover finds a rewind of a log that has
// grown past the checkpoint since. The input before the checkpoint is one of another
// partition, of which nothing is known but its sequence.
func TestRewindBehindCheckpoint(t *testing.T) {
	m := newModel(1, true)
	m.todo = nil
	if err := m.birth(0); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		m.append("a", inputs.Delta, fmt.Appendf(nil, callDelta, i, i))
	}
	if err := m.owners[0].fold(3); err != nil {
		t.Fatal(err)
	}
	m.owners[0].save(t)
	if c := m.checkpoint; c.Seq != 5 || c.Read.Seq != 4 {
		t.Fatalf("got checkpoint %+v, want one at input 5", c)
	}

	m.checkpoint.Seq = 8 // as if three inputs of others had been read
	m.inputs, m.snapshots, m.epoch = m.inputs[:2], map[string]kept{}, m.epoch+1
	m.now = m.now.Add(time.Minute)
	for i := range 8 {
		m.append("b", inputs.Delta, fmt.Appendf(nil, callDelta, i, i))
	}
	if err := m.birth(0); err != nil {
		t.Fatal(err)
	}
	if r := m.checkpoint.Rewinds; len(r) != 1 || r[0].From != 3 || m.checkpoint.Seq != 3 {
		t.Errorf("got the checkpoint at %d and the rewinds %+v, want a rewind from input 3 on, which is read next", m.checkpoint.Seq, r)
	}
}

// TestFirstNew checks where a rewind begins if a session that was not loaded since an
// earlier one shows an input which that one lost.
func TestFirstNew(t *testing.T) {
	m := newModel(1, true)
	for len(m.inputs) < 10 {
		m.now = m.now.Add(time.Second)
		m.append("a", inputs.Delta, nil)
	}
	at := func(seq int) time.Time { return m.inputs[seq-1].At }
	same := func(seq int) evidence { return evidence{n: uint64(seq), token: "a", at: at(seq)} }
	lost := func(seq int, when time.Time) evidence { return evidence{n: uint64(seq), token: "a", at: when} }
	sequence := func(seq uint64) evidence { return evidence{n: seq, until: time.Unix(1<<40, 0)} }
	for name, c := range map[string]struct {
		known []evidence
		want  uint64
	}{
		"one lost input":                     {[]evidence{same(3), lost(8, at(5).Add(1))}, 6},
		"two lost inputs":                    {[]evidence{same(3), lost(8, at(5).Add(1)), lost(9, at(5).Add(2))}, 6},
		"one behind the end":                 {[]evidence{same(3), lost(20, at(10))}, 11},
		"only a sequence":                    {[]evidence{same(3), sequence(20)}, 11},
		"a sequence that is there again":     {[]evidence{same(3), lost(7, at(5).Add(1)), sequence(9)}, 6},
		"one that an earlier rewind lost":    {[]evidence{lost(3, at(1)), same(6), lost(9, at(7).Add(1))}, 8},
		"two that earlier rewinds lost":      {[]evidence{same(2), lost(3, at(1)), lost(4, at(1)), same(7), lost(9, at(7).Add(1))}, 8},
		"the same, with the clock back":      {[]evidence{same(7), lost(9, at(3))}, 8},
		"all of them lost":                   {[]evidence{lost(3, at(1).Add(1)), lost(9, at(7))}, 2},
		"lost inputs with nothing in common": {[]evidence{lost(3, at(1).Add(-1))}, 1},
	} {
		r := rewindRecord{inputCheck: inputCheck{log: &modelOwner{m: m}}}
		if got, err := r.firstNew(t.Context(), c.known); err != nil || got != c.want {
			t.Errorf("%s: got %d, %v, want %d", name, got, err, c.want)
		}
	}
}
