package inputlog

import (
	"testing"
	"time"
)

// The rate is that of the last complete window. A window without inputs makes it 0, and one
// that nothing completed in time is longer.
func TestRate(t *testing.T) {
	start := time.Unix(1000, 0)
	r := newRate(3)
	for _, step := range []struct {
		after             time.Duration // since start
		partition, n      int
		perSecond, active int
	}{
		{0, 0, 300, 0, 0},
		{900 * time.Millisecond, 1, 200, 0, 0},
		{time.Second, 0, 100, 500, 2},
		{1500 * time.Millisecond, 0, 100, 500, 2},
		{2 * time.Second, 2, 0, 200, 1},
		{2100 * time.Millisecond, 2, 1000, 200, 1},
		{6 * time.Second, 0, 1, 250, 1},
		{7 * time.Second, 0, 0, 1, 1},
		{8 * time.Second, 0, 0, 0, 0},
	} {
		r.add(start.Add(step.after), step.partition, step.n)
		if r.perSecond != step.perSecond || r.active != step.active {
			t.Errorf("after %v: got %d per second of %d partitions, want %d of %d", step.after, r.perSecond, r.active, step.perSecond, step.active)
		}
	}
}
