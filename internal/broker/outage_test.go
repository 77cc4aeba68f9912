package broker

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"streamer/internal/inputs"

	"github.com/nats-io/nats.go"
)

// An outage is a problem after some seconds, for as long as publishes fail, and
// ends with the first that is stored.
func TestOutage(t *testing.T) {
	began := time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC)
	full := &apiError{Code: 503, ErrCode: codeStoreFailed, Description: "maximum bytes exceeded"}
	limit := &apiError{Code: 503, ErrCode: codeNoResources, Description: "insufficient resources"}
	const subject = "_toolcalls.s.event.run_started"
	for _, c := range []struct {
		name   string
		why    error
		failed []time.Duration // after began
		stored string          // on this subject, after the failures
		at     time.Duration
		want   string // in the problem; "" for none
	}{
		{"none", nil, nil, "", time.Hour, ""},
		{"short", errSilentAck, []time.Duration{0, 3 * time.Second}, "", 4 * time.Second, ""},
		{"long", errSilentAck, []time.Duration{0, 3 * time.Second, 6 * time.Second}, "", 7 * time.Second, "no events stored for 7s: no acknowledgement"},
		{"over", errSilentAck, []time.Duration{0, 3 * time.Second, 6 * time.Second}, subject, 7 * time.Second, ""},
		{"another stream stores", errSilentAck, []time.Duration{0, 6 * time.Second}, "llm.s.delta", 7 * time.Second, "no events"},
		{"no publish any more", errSilentAck, []time.Duration{0, 6 * time.Second}, "", 20 * time.Second, ""},
		{"another one", errSilentAck, []time.Duration{0, time.Minute}, "", 61 * time.Second, ""},
		{"full", full, []time.Duration{0, 6 * time.Second}, "", 7 * time.Second, "larger --max-bytes"},
		{"limit", limit, []time.Duration{0, 6 * time.Second}, "", 7 * time.Second, "limit of storage"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := inflights{b: new(Broker)}
			for _, d := range c.failed {
				p.noteOutage(&inflight{stream: streamOf(subject), why: c.why, sent: began.Add(d)}, began.Add(d))
			}
			p.endOutage(&inflight{stream: streamOf(c.stored), sent: began.Add(c.at)}, began.Add(c.at))
			err := p.problem(began.Add(c.at))
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: got %v, want %q", c.name, err, c.want)
			}
		})
	}
}

// A full input stream refuses a publish with RefuseFull at once. It is a problem while
// it has no space for any input, and while it has none for the refused one. The problem
// ends when old inputs are deleted.
func TestFullStream(t *testing.T) {
	inBubble(t, Options{MaxBytes: 4 << 10, Partitions: 1}, func(t *testing.T, b *Broker) {
		input := func(id string, size int) Ack {
			p := input("s", inputs.Delta, id, make([]byte, size))
			p.RefuseFull = true
			return b.PublishWait(deadline(t), p)
		}
		empty := func() {
			t.Helper()
			if err := b.ask(deadline(t), apiPurge+StreamInputs, map[string]any{}, &failure{}); err != nil {
				t.Fatal(err)
			}
		}
		if a := input("1", 3<<10); a.Err != nil {
			t.Fatal(a.Err)
		}
		began := time.Now()
		if a := input("2", 3<<10); !errors.Is(a.Err, ErrFull) || time.Since(began) > time.Second {
			t.Errorf("got %v after %v, want %v at once", a.Err, time.Since(began), ErrFull)
		}
		if err := b.Ready(deadline(t)); err != nil {
			t.Errorf("at once: got %v, want ready", err)
		}
		time.Sleep(time.Minute)
		if err := b.Ready(deadline(t)); err == nil || !strings.Contains(err.Error(), "no inputs stored for") || !strings.Contains(err.Error(), "--max-bytes") {
			t.Errorf("a minute later: got %v, want no inputs stored", err)
		}
		empty()
		time.Sleep(5 * time.Second)
		if err := b.Ready(deadline(t)); err != nil {
			t.Errorf("with room again: got %v, want ready", err)
		}
		empty() // the probe too
		if a := input("3", 3850); a.Err != nil {
			t.Fatal(a.Err)
		}
		if err := b.Ready(deadline(t)); err == nil || !strings.Contains(err.Error(), "of 4096 bytes") {
			t.Errorf("full, and nothing refused: got %v, want that it is full", err)
		}
	})
}

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
		t.Run(c.name, func(t *testing.T) {
			var d downtime
			for _, s := range c.sent {
				d.answered(at(s[0]), at(s[1]))
			}
			if c.until == 0 && d.from.IsZero() {
				return
			}
			if !d.from.Equal(at(c.from)) || !d.until.Equal(at(c.until)) {
				t.Errorf("%s: got an outage from %v to %v, want %d to %d ms", c.name, d.from.Sub(began), d.until.Sub(began), c.from, c.until)
			}
		})
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
