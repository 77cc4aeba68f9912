package members

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"streamer/internal/broker"

	"github.com/rs/zerolog"
)

// TestShare checks that every partition has one owner, that shares are even, and
// that few partitions move when a worker leaves.
func TestShare(t *testing.T) {
	for workers := 1; workers <= 7; workers++ {
		var ids []string
		for i := range workers {
			ids = append(ids, fmt.Sprintf("worker%d", i))
		}
		owners := map[int]string{}
		for _, id := range ids {
			mine := share(ids, id, 16)
			if low := 16 - (workers-1)*int(math.Ceil(16/float64(workers))); len(mine) > int(math.Ceil(16/float64(workers))) || len(mine) < low {
				t.Errorf("%d workers: %s has %v", workers, id, mine)
			}
			for _, p := range mine {
				if owners[p] != "" {
					t.Errorf("%d workers: partition %d has two owners", workers, p)
				}
				owners[p] = id
			}
		}
		if len(owners) != 16 {
			t.Errorf("%d workers: %d partitions have an owner", workers, len(owners))
		}
		if workers < 3 {
			continue
		}
		moved := 0
		for _, id := range ids[1:] {
			for _, p := range share(ids[1:], id, 16) {
				if owners[p] != id && owners[p] != ids[0] {
					moved++
				}
			}
		}
		if moved > 8 {
			t.Errorf("%d workers: %d partitions move that need not", workers, moved)
		}
	}
}

// memory is a List in memory. It expires nothing by itself.
type memory struct {
	mu    sync.Mutex
	beats map[string]uint64
	err   error // of heartbeats
}

func (l *memory) Beat(_ context.Context, id string, _ time.Duration) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil {
		l.beats[id]++
	}
	return l.err
}

func (l *memory) Leave(_ context.Context, id string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.beats, id)
	return nil
}

func (l *memory) Members(context.Context) ([]string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Collect(maps.Keys(l.beats)), nil
}

func (l *memory) LastBeat(_ context.Context, id string) (uint64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.beats[id], nil
}

func (l *memory) Pulse() {}

// carriers has the members that carry each partition.
type carriers struct {
	mu sync.Mutex
	of map[int][]string
}

func (c *carriers) carry(id string) func(context.Context, int) {
	return func(ctx context.Context, p int) {
		c.mu.Lock()
		c.of[p] = append(c.of[p], id)
		c.mu.Unlock()
		<-ctx.Done()
		c.mu.Lock()
		defer c.mu.Unlock()
		c.of[p] = slices.DeleteFunc(c.of[p], func(other string) bool { return other == id })
	}
}

// shares returns how many partitions each member carries, and fails if a partition
// has not one carrier.
func (c *carriers) shares(t *testing.T) map[string]int {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	n := map[string]int{}
	for p := range 8 {
		if len(c.of[p]) != 1 {
			t.Fatalf("partition %d is carried by %q, want one member", p, c.of[p])
		}
		n[c.of[p][0]]++
	}
	return n
}

// TestRun checks that each partition has one carrier while members join and leave,
// that one whose heartbeats have stopped is not counted, although the list still
// has it, and that Begin is called for each partition before it is carried.
func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		list, c := &memory{beats: map[string]uint64{"ghost": 1}}, &carriers{of: map[int][]string{}}
		join := func(id string) (leave func()) {
			var begun sync.Map
			m := Member{List: list, ID: id, Partitions: 8, Logger: zerolog.Nop(), Begin: func(partitions []int) {
				for _, p := range partitions {
					begun.Store(p, true)
				}
			}}
			carry := c.carry(id)
			m.Carry = func(ctx context.Context, p int) {
				if _, ok := begun.Load(p); !ok {
					t.Errorf("%s carries partition %d, which was not begun", id, p)
				}
				carry(ctx, p)
			}
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() { done <- m.Run(ctx) }()
			return func() {
				cancel()
				if err := <-done; !errors.Is(err, context.Canceled) {
					t.Errorf("%s: got %v, want that it was cancelled", id, err)
				}
			}
		}
		want := func(shares map[string]int) {
			t.Helper()
			time.Sleep(3 * ttl)
			synctest.Wait()
			if got := c.shares(t); !maps.Equal(got, shares) {
				t.Errorf("got %v, want %v", got, shares)
			}
		}
		one := join("one")
		want(map[string]int{"one": 8})
		two := join("two")
		want(map[string]int{"one": 4, "two": 4})
		one()
		want(map[string]int{"two": 8})
		two()
		if got, _ := list.Members(t.Context()); !slices.Equal(got, []string{"ghost"}) {
			t.Errorf("at the end the list has %q, want only the one that never left", got)
		}
	})
}

// TestRefused checks that a process that may not join says so, and carries nothing.
func TestRefused(t *testing.T) {
	m := Member{
		List: &memory{err: fmt.Errorf("%w: no permission", broker.ErrRefused)}, ID: "one", Partitions: 8, Logger: zerolog.Nop(),
		Begin: func([]int) { t.Error("it began to carry") }, Carry: func(context.Context, int) {},
	}
	if err := m.Run(t.Context()); !errors.Is(err, broker.ErrRefused) || !strings.Contains(err.Error(), "joining the workers") {
		t.Errorf("got %v, want that it was refused", err)
	}
}
