package broker

import (
	"sync"
	"testing"
)

// TestPausedAtOnce: processes that state the same at once all succeed.
func TestPausedAtOnce(t *testing.T) {
	b := start(t, Options{Partitions: 1})
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if err := b.SetPaused(deadline(t), true); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if paused, err := b.Paused(t.Context()); err != nil || !paused {
		t.Errorf("got %t, %v", paused, err)
	}
}
