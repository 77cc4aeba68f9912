package broker

import (
	"math/rand/v2"
	"testing"
	"time"
)

// Numbers grow with sequences, are greater than all that were folded before, and lead
// back to the sequence of the input.
func TestRewinds(t *testing.T) {
	for seed := range uint64(200) {
		rnd := rand.New(rand.NewPCG(seed, 3))
		var r Rewinds
		for range 1 + rnd.IntN(4) {
			from := 1 + rnd.Uint64N(40)
			top := r.Effective(from+rnd.Uint64N(20)) + rnd.Uint64N(100)
			next := r.Add(from, top, time.Time{})
			if got := next.Effective(from); got <= top {
				t.Fatalf("seed %d: %v: input %d is numbered %d, want one greater than %d", seed, next, from, got, top)
			}
			if !next.Newer(r) || r.Newer(next) {
				t.Fatalf("seed %d: %v is not newer than %v", seed, next, r)
			}
			if got, want := next.Effective(from-1), r.Effective(from-1); got != want {
				t.Fatalf("seed %d: %v: input %d is numbered %d, was %d", seed, next, from-1, got, want)
			}
			r = next
		}
		numbered := map[uint64]bool{}
		for seq, last := uint64(1), uint64(0); seq < 100; seq++ {
			n := r.Effective(seq)
			if back, ok := r.Stored(n); n <= last || back != seq || !ok {
				t.Fatalf("seed %d: %v: input %d is numbered %d after %d, which leads to %d, %v", seed, r, seq, n, last, back, ok)
			}
			last, numbered[n] = n, true
		}
		for n := uint64(1); n < 100; n++ {
			if seq, ok := r.Stored(n); ok != numbered[n] && seq < 100 {
				t.Fatalf("seed %d: %v: number %d is of %d, %v", seed, r, n, seq, ok)
			}
		}
	}
}
