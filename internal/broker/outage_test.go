package broker

import (
	"errors"
	"strings"
	"testing"
	"time"

	"streamer/internal/inputs"
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
		o := outages{down: new(downtime)}
		for _, d := range c.failed {
			o.failed(&flight{pub: &Pub{Subject: subject, Data: []byte("1")}, sent: began.Add(d)}, c.why, began.Add(d))
		}
		o.stored(&flight{pub: &Pub{Subject: c.stored}, sent: began.Add(c.at)}, began.Add(c.at))
		err := o.problem(began.Add(c.at))
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
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
