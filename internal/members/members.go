// Package members divides the partitions among the processes that carry them.
package members

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"streamer/internal/broker"

	"github.com/rs/zerolog"
)

// List is the list of the members, with their heartbeats.
type List interface {
	Beat(ctx context.Context, id string, ttl time.Duration) error
	Leave(ctx context.Context, id string) error
	Members(ctx context.Context) ([]string, error)
	LastBeat(ctx context.Context, id string) (uint64, error)
	Pulse()
}

const (
	ttl         = 3 * time.Second // after which a member without heartbeats is gone
	beatEvery   = time.Second
	pollEvery   = 250 * time.Millisecond
	beatBudget  = 2 * time.Second // for one heartbeat or poll
	pulseEvery  = broker.SilentAfter
	logInterval = 30 * time.Second
)

// Member is a process that carries a share of the partitions. All fields are
// required.
type Member struct {
	List       List
	ID         string
	Partitions int // that there are
	// Begin is called whenever the partitions were divided, with those to be
	// carried from now on, if any.
	Begin func(partitions []int)
	// Carry carries a partition until ctx ends.
	Carry  func(ctx context.Context, p int)
	Logger zerolog.Logger
}

// Run carries this member's share of the partitions until ctx ends. The members
// divide the partitions evenly, and again when one joins, leaves or dies. A wrong
// view of the membership costs time, never correctness: two owners of a partition
// write one log. At the end it leaves after its partitions have settled, so that
// their next owners start where it ended. A process without the permissions of a
// worker is refused at the start.
func (m Member) Run(ctx context.Context) error {
	o := owner{Member: m, carried: map[int]*partition{}, others: map[string]lastBeat{}}
	once, cancel := context.WithTimeout(ctx, beatBudget)
	err := o.List.Beat(once, o.ID, ttl)
	cancel()
	if errors.Is(err, broker.ErrRefused) { // and so would be all that a worker publishes
		return fmt.Errorf("members: joining the workers: %w", err)
	}
	defer o.leave()
	// Heartbeats go on until all is settled, or others would take over meanwhile.
	beating, stop := context.WithCancel(context.WithoutCancel(ctx))
	var beats sync.WaitGroup
	beats.Go(func() { o.beat(beating) })
	beats.Go(func() { repeat(beating, pulseEvery, o.List.Pulse) })
	defer func() { end(o.carried); stop(); beats.Wait() }()
	repeat(ctx, pollEvery, func() { o.poll(ctx) })
	return ctx.Err()
}

// repeat calls do at once and then at an interval, until ctx ends.
func repeat(ctx context.Context, interval time.Duration, do func()) {
	every := time.NewTicker(interval)
	defer every.Stop()
	for {
		do()
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		}
	}
}

// owner is the partitions that a member carries. The goroutine of Run owns it.
type owner struct {
	Member
	carried map[int]*partition
	seen    []string // the members at the last poll
	others  map[string]lastBeat
}

type lastBeat struct {
	last    uint64 // heartbeat
	at      time.Time
	stopped bool
}

type partition struct {
	stop context.CancelFunc
	done chan struct{}
}

func (o *owner) beat(ctx context.Context) {
	var logged time.Time
	repeat(ctx, beatEvery, func() {
		once, cancel := context.WithTimeout(ctx, beatBudget)
		defer cancel()
		if err := o.List.Beat(once, o.ID, ttl); err != nil && ctx.Err() == nil && time.Since(logged) >= logInterval {
			logged = time.Now()
			o.Logger.Warn().Err(err).Msg("heartbeat failed")
		}
	})
}

// poll reads the membership, takes over the partitions that are this member's now
// and hands over those that are not. Where the read fails, nothing changes.
func (o *owner) poll(ctx context.Context) {
	once, cancel := context.WithTimeout(ctx, beatBudget)
	ids, err := o.List.Members(once)
	cancel()
	if err != nil {
		return
	}
	ids = o.beating(ctx, ids, time.Now())
	if !slices.Contains(ids, o.ID) { // its first heartbeat is under way, or has expired
		ids = append(ids, o.ID)
	}
	slices.Sort(ids)
	if !slices.Equal(ids, o.seen) {
		o.seen = ids
		o.Logger.Info().Int("workers", len(ids)).Ints("partitions", share(ids, o.ID, o.Partitions)).Msg("carrying partitions")
	}
	mine := share(ids, o.ID, o.Partitions)
	if ctx.Err() == nil {
		added := slices.DeleteFunc(slices.Clone(mine), func(p int) bool { return o.carried[p] != nil })
		o.Begin(added)
		for _, p := range added {
			o.carry(ctx, p)
		}
	}
	theirs := map[int]*partition{}
	for p, c := range o.carried {
		if !slices.Contains(mine, p) {
			theirs[p] = c
			delete(o.carried, p)
		}
	}
	end(theirs)
}

// beating removes the members whose heartbeats have stopped. The server lets the
// last heartbeats expire. But one that has caught up with the others' log may never
// do so, and the partitions of those members would have no owner.
func (o *owner) beating(ctx context.Context, ids []string, now time.Time) []string {
	maps.DeleteFunc(o.others, func(id string, _ lastBeat) bool { return !slices.Contains(ids, id) })
	silent := false // a read failed
	return slices.DeleteFunc(ids, func(id string) bool {
		p, known := o.others[id]
		if id == o.ID || silent || known && now.Sub(p.at) < ttl {
			return p.stopped
		}
		last, err := o.lastBeat(ctx, id)
		if err != nil {
			silent = true
			return p.stopped
		}
		stopped := known && last == p.last
		if stopped && !p.stopped {
			o.Logger.Warn().Str("worker", id).Msg("a worker without heartbeats is still listed; it is not counted")
		}
		o.others[id] = lastBeat{last, now, stopped}
		return stopped
	})
}

func (o *owner) lastBeat(ctx context.Context, id string) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, beatBudget)
	defer cancel()
	return o.List.LastBeat(ctx, id)
}

// end stops partitions, all at the same time, and returns when they have settled.
func end(all map[int]*partition) {
	for _, c := range all {
		c.stop()
	}
	for _, c := range all {
		<-c.done
	}
}

func (o *owner) carry(ctx context.Context, p int) {
	ctx, stop := context.WithCancel(ctx)
	c := &partition{stop: stop, done: make(chan struct{})}
	o.carried[p] = c
	go func() {
		defer close(c.done)
		o.Carry(ctx, p)
	}()
}

func (o *owner) leave() {
	ctx, cancel := context.WithTimeout(context.Background(), beatBudget)
	defer cancel()
	if err := o.List.Leave(ctx, o.ID); err != nil {
		o.Logger.Warn().Err(err).Msg("leaving failed; the others take over in a moment")
	}
}

// share returns the partitions of a member. Each partition goes to the member that
// ranks it highest and does not have its even share yet. This is rendezvous
// hashing: few partitions move when members change.
func share(ids []string, id string, partitions int) []int {
	most := (partitions + len(ids) - 1) / len(ids)
	load := make(map[string]int, len(ids))
	var mine []int
	for p := range partitions {
		best, rank := "", uint64(0)
		for _, m := range ids {
			if r := rankOf(m, p); load[m] < most && (best == "" || r > rank) {
				best, rank = m, r
			}
		}
		load[best]++
		if best == id {
			mine = append(mine, p)
		}
	}
	return mine
}

// rankOf returns the rank of a partition for a member. It mixes the sum of fnv,
// whose high bits depend little on short texts.
func rankOf(id string, p int) uint64 {
	h := fnv.New64a()
	_, _ = io.WriteString(h, id+"/"+strconv.Itoa(p)) // a hash does not fail
	x := h.Sum64()
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	return x
}
