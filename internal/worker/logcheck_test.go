package worker

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"streamer/internal/inputs"
	"streamer/internal/rewind"
)

// TestLogsAreChecked checks that a worker whose connection was lost goes on only when both
// logs have what it read and stored last, and that no session is loaded before.
func TestLogsAreChecked(t *testing.T) {
	for _, c := range []struct {
		what string
		lose func(*model)
		want error
	}{
		{"nothing", func(*model) {}, nil},
		{"the last event", func(m *model) { m.log = m.log[:len(m.log)-1] }, errShort},
		{"the last event, in whose place is another", func(m *model) { m.log[len(m.log)-1].token = "b" }, errShort},
		{"the last input", func(m *model) { m.inputs = m.inputs[:len(m.inputs)-1] }, rewind.ErrOther},
		{"the last input, in whose place is another", func(m *model) {
			m.inputs[len(m.inputs)-1].At = m.now.Add(time.Second)
		}, rewind.ErrOther},
	} {
		t.Run(c.what, func(t *testing.T) {
			inModel(t, func(t *testing.T, m *model, o *modelOwner) {
				m.append("a", inputs.Delta, fmt.Appendf(nil, callDelta, 1, 1))
				o.take(t)
				o.settle(t)
				c.lose(m)
				m.epoch++
				o.q.table.complete = false // or the session would be taken to be new
				if s, l := o.q.load("other"); s != nil || l == nil || len(o.q.loads.blocked) != 1 {
					t.Fatalf("got session %+v and load %+v, want a load that waits for the check", s, l)
				}
				err := o.step(nil) // no tick: a takeover has none
				for err == nil && len(o.operations)+len(o.finished) > 0 {
					o.operate()
					err = o.finish()
				}
				if !errors.Is(err, c.want) {
					t.Fatalf("got %v, want %v", err, c.want)
				}
				if loaded := o.q.table.live("other") != nil; loaded != (c.want == nil) {
					t.Errorf("the session is loaded: %v", loaded)
				}
			})
		})
	}
}
