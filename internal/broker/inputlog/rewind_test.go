package inputlog

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"streamer/internal/broker"
	"streamer/internal/broker/brokertest"
)

// A reader stops where the log has another input in place of the last one that it read, or
// ends before that.
func TestReaderOfARewoundLog(t *testing.T) {
	t.Parallel()
	b := start(t, broker.Options{Partitions: 1})
	fill(t, b, 5, 1, nil)
	in, ok, err := b.Input(brokertest.Deadline(t), 5)
	if err != nil || !ok || in.Token != "s0" || in.At.IsZero() {
		t.Fatalf("got %+v, %v, %v, want input 5", in, ok, err)
	}
	for _, c := range []struct {
		read    broker.Witness
		rewound bool
	}{
		{broker.Witness{}, false},
		{broker.Witness{Seq: 5, At: in.At}, false},
		{broker.Witness{Seq: 5, At: in.At.Add(time.Nanosecond)}, true},
		{broker.Witness{Seq: 3, At: in.At}, true},
	} {
		t.Run(fmt.Sprintf("read %d, rewound %v", c.read.Seq, c.rewound), func(t *testing.T) {
			r := &reader{l: b.Log, last: c.read.Seq, next: 6, read: c.read}
			err := r.position(brokertest.Deadline(t), 6)
			if _, got := errors.AsType[*RewoundError](err); got != c.rewound || !got && err != nil {
				t.Errorf("read %+v: got %v, want rewound %v", c.read, err, c.rewound)
			}
		})
	}
	if seq, err := b.InputAfter(brokertest.Deadline(t), in.At); err != nil || seq != 6 {
		t.Errorf("after the last: got %d, %v, want 6", seq, err)
	}
	if seq, err := b.InputAfter(brokertest.Deadline(t), in.At.Add(-time.Hour)); err != nil || seq != 1 {
		t.Errorf("after an hour ago: got %d, %v, want 1", seq, err)
	}
}
