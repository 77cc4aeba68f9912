package server

import (
	"slices"
	"strings"
	"testing"
	"time"

	"streamer/internal/broker/brokertest"
	"streamer/internal/events"
	"streamer/internal/inputs"
	"streamer/test/testkit"

	"github.com/rs/zerolog"
)

// TestRetain: when a server has started, a session is erased after the time of the first
// pattern that matches it, an erasure that was cut short is completed, and a time beyond the
// retention of the events is refused.
func TestRetain(t *testing.T) {
	c := NewConfig()
	c.Broker.DataDir, c.Broker.Listen, c.HTTPListen = t.TempDir(), "127.0.0.1:0", ""
	s := openConfig(t, c)
	end := run(t, s)
	for _, session := range []string{"tmp-kept-1", "tmp-1", "other"} {
		for i, in := range []string{`{"id":"m","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"hello"},"finish_reason":"stop"}]}`, `{"reason":"completed"}`} {
			if _, _, err := s.Broker.Append(brokertest.Deadline(t), session, []inputs.Kind{inputs.Delta, inputs.End}[i], session+"-"+string(rune('a'+i)), nil, []byte(in)); err != nil {
				t.Fatal(err)
			}
		}
	}
	names := func() (list []string) {
		sessions, err := s.Broker.Sessions(t.Context(), 9)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range sessions {
			list = append(list, s.Session)
		}
		slices.Sort(list)
		return list
	}
	testkit.UntilTrue(t, "all sessions to be listed", func() bool { return len(names()) == 3 })
	end()
	s.Close()
	c.Retain = []PatternTime{{"tmp-kept-*", time.Hour}, {"tmp-*", time.Nanosecond}}
	s = openConfig(t, c)
	end = run(t, s)
	testkit.UntilTrue(t, "one of them to be erased", func() bool { return slices.Equal(names(), []string{"other", "tmp-kept-1"}) })
	if last, err := s.Broker.LastOf(t.Context(), "tmp-1", events.SessionErased); err != nil || last.Seq == 0 {
		t.Errorf("got the event %+v, %v", last, err)
	}
	// An erasure that was cut short by the end of a process is completed by the next one.
	if _, err := s.Broker.BeginErasure(brokertest.Deadline(t), "other"); err != nil {
		t.Fatal(err)
	}
	if a := s.Broker.PublishWait(brokertest.Deadline(t), s.Broker.ErasePub("other", "other:erase")); a.Err != nil {
		t.Fatal(a.Err)
	}
	testkit.UntilTrue(t, "the event of the erasure", func() bool {
		last, err := s.Broker.LastOf(t.Context(), "other", events.SessionErased)
		return err == nil && last.Seq > 0
	})
	end()
	s.Close()
	s = openConfig(t, c)
	end = run(t, s)
	testkit.UntilTrue(t, "the erasure to be completed", func() bool {
		first, err := s.Broker.FirstEvent(t.Context(), "other")
		pending, failed := s.Broker.Erasures(t.Context())
		return err == nil && failed == nil && first.Type == events.SessionErased && len(pending) == 0
	})
	end()
	s.Close()
	c.Retain = []PatternTime{{"tmp-*", 25 * time.Hour}}
	if _, err := Open(t.Context(), c, zerolog.Nop()); err == nil || !strings.Contains(err.Error(), "invalid --retain tmp-*=25h0m0s: events are kept 24h0m0s; keep them longer with streamer archive") {
		t.Errorf("got %v", err)
	}
}

// TestPatternTime: the time follows the last =.
func TestPatternTime(t *testing.T) {
	var r PatternTime
	if err := r.UnmarshalText([]byte("a=b-*=90m")); err != nil || r != (PatternTime{"a=b-*", 90 * time.Minute}) {
		t.Errorf("got %v, %v", r, err)
	}
	for _, text := range []string{"", "tmp-*", "tmp-*=", "=1h", "tmp-*=0s", "tmp-*=-1h", "tmp-*=1"} {
		if err := r.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q: no error", text)
		}
	}
}
