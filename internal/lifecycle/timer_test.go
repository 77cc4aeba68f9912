package lifecycle

import (
	"fmt"
	"testing"

	"streamer/internal/chunks"
	"streamer/internal/events"
)

// TestTimerOfAFinish checks that a message is flushed after the silence that its
// finish reason asks for, and that nothing is asked for after that.
func TestTimerOfAFinish(t *testing.T) {
	rules := DefaultRules()
	for _, test := range []struct {
		wait uint8
		want events.Time
	}{{0, 1250}, {1, 1250}, {8, 3000}, {120, 31000}} {
		t.Run(fmt.Sprint(test.wait), func(t *testing.T) {
			var s State
			New(nil, &s, &rules, "s", 1, 1000, false).Chunks([]chunks.Chunk{
				{Kind: chunks.Start, Message: "m"},
				{Kind: chunks.Finish, Message: "m", Reason: "STOP", Wait: test.wait},
			})
			for range 2 { // a flush at another time leaves the timer as it is
				got, ok := s.Timer(&rules)
				if !ok || got.Kind != Flush || got.At != test.want {
					t.Fatalf("wait %d: timer is %v %v, want a flush at %d", test.wait, got, ok, test.want)
				}
				if test.wait > 1 {
					New(nil, &s, &rules, "s", 2, got.At-1, true).Flush(false)
				}
			}
			st := New(nil, &s, &rules, "s", 3, test.want, true)
			st.Flush(false)
			out := st.Done()
			if got, ok := s.Timer(&rules); ok {
				t.Errorf("wait %d: timer is %v after the flush, want none", test.wait, got)
			}
			if len(out) != 2 || out[0].Type != events.MessageFinished || out[1].Type != events.RunFinished {
				t.Errorf("wait %d: the flush gives %v", test.wait, out)
			}
		})
	}
}
