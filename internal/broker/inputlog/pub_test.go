package inputlog

import (
	"errors"
	"fmt"
	"testing"

	"streamer/internal/broker"
	"streamer/internal/broker/brokertest"
	"streamer/internal/inputs"
)

func TestPubs(t *testing.T) {
	b := start(t, broker.Options{})
	clock := b.ClockPub("s", "s:clock:1", []byte("{}"))
	if want := fmt.Sprintf("_llm.%d.s.clock", b.Partition("s")); clock.Subject != want || clock.Header.Get("Nats-Msg-Id") != "s:clock:1" {
		t.Errorf("ClockPub: got %+v, want subject %s", clock, want)
	}
	rules := b.RulesPub(3, "r", []byte("{}"))
	if rules.Subject != "_llm.3.rules" || rules.Header.Get("Nats-Msg-Id") != "r" {
		t.Errorf("RulesPub: got %+v, want subject _llm.3.rules", rules)
	}
	header := inputs.Header{"Streamer-Format": {"openai"}}
	in := b.InputPub("s", inputs.Delta, "s:delta:1", header, nil)
	if in.Subject != "llm.s.delta" || in.Header.Get("Streamer-Format") != "openai" || len(header) != 1 {
		t.Errorf("InputPub: got %+v; the caller's header is now %v", in, header)
	}
	first, again := brokertest.Must(t, b.Broker, in), b.PublishWait(brokertest.Deadline(t), in)
	if again.Seq != first || !again.Duplicate {
		t.Errorf("the same Nats-Msg-Id again: got %+v, want a duplicate of %d", again, first)
	}
}

// An input is stored once for each id and session, and a refusal is one of
// package inputs.
func TestAppend(t *testing.T) {
	b := start(t, broker.Options{Partitions: 1, MaxBytes: 8 << 10})
	put := func(token, id string, size int) (uint64, bool, error) {
		return b.Append(brokertest.Deadline(t), token, inputs.End, id, nil, make([]byte, size))
	}
	for _, c := range []struct {
		token, id string
		want      uint64
		repeated  bool
	}{
		{"a", "1", 1, false},
		{"a", "1", 1, true},
		{"b", "1", 2, false}, // the id of another session's input
		{"b", "1", 2, true},
		{"a", "2", 3, false},
	} {
		if got, repeated, err := put(c.token, c.id, 0); got != c.want || repeated != c.repeated || err != nil {
			t.Errorf("session %s, id %s: got sequence %d, repeated %t, %v, want %d, %t", c.token, c.id, got, repeated, err, c.want, c.repeated)
		}
	}
	if _, _, err := put("a", "full", 16<<10); !errors.Is(err, inputs.ErrFull) {
		t.Errorf("above the limit of the log: got %v, want ErrFull", err)
	}
	if _, _, err := put("a", "large", 2<<20); !errors.Is(err, inputs.ErrTooLarge) {
		t.Errorf("above the limit of a message: got %v, want ErrTooLarge", err)
	}
}
