package broker

import (
	"context"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
)

// Late answers show an outage, from when the first message was sent until the first
// answer. What is sent and answered in time shows none.
func TestOutageByAnswers(t *testing.T) {
	began := time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC)
	at := func(ms int) time.Time { return began.Add(time.Duration(ms) * time.Millisecond) }
	for _, c := range []struct {
		name        string
		sent        [][2]int // and answered, in the order of the answers
		from, until int      // 0, 0: no outage
	}{
		{"in time", [][2]int{{100, 340}, {400, 402}}, 0, 0},
		{"late", [][2]int{{100, 4000}}, 100, 4000},
		{"together", [][2]int{{100, 4000}, {2000, 4001}, {3990, 4002}}, 100, 4000},
		{"together, the first last", [][2]int{{2000, 4000}, {100, 4001}}, 100, 4000},
		{"slow all the time", [][2]int{{100, 500}, {300, 700}, {500, 900}}, 500, 900},
		{"two", [][2]int{{100, 4000}, {9000, 9500}}, 9000, 9500},
	} {
		var d downtime
		for _, s := range c.sent {
			d.answered(at(s[0]), at(s[1]))
		}
		if c.until == 0 && d.from.IsZero() {
			continue
		}
		if !d.from.Equal(at(c.from)) || !d.until.Equal(at(c.until)) {
			t.Errorf("%s: got an outage from %v to %v, want %d to %d ms", c.name, d.from.Sub(began), d.until.Sub(began), c.from, c.until)
		}
	}
}

// The input log answers a pulse and stores nothing. Without an answer there is an
// outage, which ends with the next one.
func TestPulse(t *testing.T) {
	inBubble(t, Options{Partitions: 1}, func(t *testing.T, b *Broker) {
		last := func() uint64 {
			s, err := b.Bounds(context.Background(), StreamInputs)
			if err != nil {
				t.Fatal(err)
			}
			return s.Last
		}
		outage := func(what string, want, lasts bool) {
			t.Helper()
			from, until := b.Outage()
			if from.IsZero() == want || want && until.IsZero() != lasts {
				t.Errorf("%s: got an outage from %v to %v, want one: %t, which lasts: %t", what, from, until, want, lasts)
			}
		}
		before := last()
		for range 10 {
			b.Pulse()
			time.Sleep(SilentAfter)
		}
		outage("answered", false, false)
		if got := last(); got != before {
			t.Errorf("the pulses were stored: the last sequence is %d, want %d", got, before)
		}
		b.down.pulse = time.Now() // one without an answer
		time.Sleep(SilentAfter - 1)
		outage("not late yet", false, false)
		time.Sleep(time.Second)
		outage("without an answer", true, true)
		b.down.pulsed(&nats.Msg{Header: nats.Header{"Status": {"503"}}})
		outage("no leader", true, true)
		b.Pulse()
		time.Sleep(time.Millisecond)
		outage("answered again", true, false)
	})
}
