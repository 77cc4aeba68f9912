package worker

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"streamer/internal/broker"

	"github.com/nats-io/nats.go"
)

// TestDamagedUnderOwner: where the snapshot of a resident session, or the
// checkpoint, is deleted, overwritten or purged, its owner writes the next one
// in its place and goes on.
func TestDamagedUnderOwner(t *testing.T) {
	const snapshot, checkpoint = "$KV.STREAMER_STATE.0.a", "$KV.STREAMER_MARK.0"
	deletion := nats.Header{"KV-Operation": {"DEL"}}
	for name, subjects := range map[string][]string{"snapshot": {snapshot}, "checkpoint": {checkpoint}, "both": {snapshot, checkpoint}} {
		t.Run(name, func(t *testing.T) {
			h := open(t, broker.Options{Partitions: 1})
			w := h.counting(Options{SaveEvery: 10 * time.Millisecond, EvictAfter: time.Hour})
			for i, header := range []nats.Header{deletion, nil} {
				seq := h.publish("a", "delta", fmt.Sprintf(callDelta, i, i))
				h.wait("a", func(s broker.Stored) bool { return s.ID.Seq >= seq })
				for _, subject := range subjects {
					if a := h.broker.PublishWait(t.Context(), &broker.Pub{Subject: subject, Header: header, Data: []byte("?")}); a.Err != nil {
						t.Fatal(a.Err)
					}
				}
				seq = h.publish("a", "result", fmt.Sprintf(result, i))
				h.until(w, "snapshot and checkpoint are written again", func(Stats) bool {
					s, ok, err := h.broker.LoadState(t.Context(), 0, "a")
					m, _, failed := h.broker.LoadMark(t.Context(), 0)
					if err != nil || failed != nil || !ok {
						return false
					}
					n, err := strconv.ParseUint(s.Header[headerInput], 10, 64)
					return err == nil && n >= seq && m.Seq > seq
				})
			}
			r, err := Verify(t.Context(), h.broker)
			if err != nil || len(r.Differences) > 0 || w.Problem() != nil {
				t.Errorf("verify: got %v, %v, problem %v, want none", r.Differences, err, w.Problem())
			}
		})
	}
}
