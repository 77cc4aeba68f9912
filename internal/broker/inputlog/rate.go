package inputlog

import "time"

// rateWindow is the time over which arriving inputs are counted.
const rateWindow = time.Second

// rate measures how many inputs arrive per second, and for how many partitions.
// It never reads the clock.
type rate struct {
	began time.Time // of the window in progress; zero before the first
	count int
	seen  []bool // by partition: has inputs in this window

	perSecond int // in the last complete window
	active    int // partitions that had inputs in it
}

func newRate(partitions int) rate { return rate{seen: make([]bool, partitions)} }

// add counts n inputs of a partition.
func (r *rate) add(now time.Time, partition, n int) {
	r.advance(now)
	if n > 0 {
		r.count += n
		r.seen[partition] = true
	}
}

// advance completes the window in progress if it is old enough. A window that
// nothing completed in time is longer, and counts as one.
func (r *rate) advance(now time.Time) {
	if r.began.IsZero() {
		r.began = now
	}
	took := now.Sub(r.began)
	if took < rateWindow {
		return
	}
	r.perSecond = int(float64(r.count) / took.Seconds())
	r.active = 0
	for _, seen := range r.seen {
		if seen {
			r.active++
		}
	}
	clear(r.seen)
	r.began, r.count = now, 0
}
