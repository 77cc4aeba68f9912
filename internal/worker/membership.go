package worker

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
)

// Members is the membership of the workers.
type Members interface {
	Beat(ctx context.Context, id string, ttl time.Duration) error
	Leave(ctx context.Context, id string) error
	Members(ctx context.Context) ([]string, error)
	LastBeat(ctx context.Context, id string) (uint64, error)
	Pulse()
}

const (
	memberTTL  = 3 * time.Second // after which a worker without heartbeats is gone
	beatEvery  = time.Second
	pollEvery  = 250 * time.Millisecond
	beatBudget = 2 * time.Second // for one heartbeat or poll
	pulseEvery = broker.SilentAfter
)

// RunShared carries this worker's share of the partitions until ctx ends. The
// members divide the partitions evenly, and again when one joins, leaves or dies. A
// wrong view of the membership costs time, never correctness: two owners of a
// partition write one log. At the end it leaves after its partitions have settled,
// so that their next owners start where it ended. A worker without the permissions
// of a worker is refused at the start.
func (w *Worker) RunShared(ctx context.Context, members Members, partitions int) error {
	if err := w.check(); err != nil {
		return err
	}
	o := owner{w: w, members: members, partitions: partitions, id: w.Options.Nonce, carried: map[int]*carried{}, others: map[string]lastBeat{}}
	once, cancel := context.WithTimeout(ctx, beatBudget)
	err := members.Beat(once, o.id, memberTTL)
	cancel()
	if errors.Is(err, broker.ErrRefused) { // and so would be all that a worker publishes
		return fmt.Errorf("worker: joining the workers: %w", err)
	}
	defer o.leave()
	// Heartbeats go on until all is settled, or others would take over meanwhile.
	beating, stop := context.WithCancel(context.WithoutCancel(ctx))
	var beats sync.WaitGroup
	beats.Go(func() { o.beat(beating) })
	beats.Go(func() { pulse(beating, members) })
	defer func() { end(o.carried); stop(); beats.Wait() }()
	every := time.NewTicker(pollEvery)
	defer every.Stop()
	for {
		o.poll(ctx)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-every.C:
		}
	}
}

// owner is the partitions that a worker carries as a member. The goroutine of
// RunShared owns it.
type owner struct {
	w          *Worker
	members    Members
	partitions int
	id         string
	carried    map[int]*carried
	seen       []string // the members at the last poll
	others     map[string]lastBeat
}

// lastBeat is what was seen of another member's heartbeats.
type lastBeat struct {
	last    uint64 // heartbeat
	at      time.Time
	stopped bool
}

// carried is a partition that runs.
type carried struct {
	stop context.CancelFunc
	done chan struct{}
}

// beat writes the worker's heartbeats until ctx ends.
func (o *owner) beat(ctx context.Context) {
	every := time.NewTicker(beatEvery)
	defer every.Stop()
	var logged time.Time
	for {
		once, cancel := context.WithTimeout(ctx, beatBudget)
		err := o.members.Beat(once, o.id, memberTTL)
		cancel()
		if err != nil && ctx.Err() == nil && time.Since(logged) >= logInterval {
			logged = time.Now()
			o.w.Logger.Warn().Err(err).Msg("heartbeat failed")
		}
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		}
	}
}

// pulse shows when the input log stores nothing, until ctx ends.
func pulse(ctx context.Context, members Members) {
	every := time.NewTicker(pulseEvery)
	defer every.Stop()
	for {
		members.Pulse()
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		}
	}
}

// poll reads the membership, takes over the partitions that are this worker's now
// and hands over those that are not. Where the read fails, nothing changes.
func (o *owner) poll(ctx context.Context) {
	once, cancel := context.WithTimeout(ctx, beatBudget)
	ids, err := o.members.Members(once)
	cancel()
	if err != nil {
		return
	}
	ids = o.beating(ctx, ids, time.Now())
	if !slices.Contains(ids, o.id) { // its first heartbeat is under way, or has expired
		ids = append(ids, o.id)
	}
	slices.Sort(ids)
	if !slices.Equal(ids, o.seen) {
		o.seen = ids
		o.w.Logger.Info().Int("workers", len(ids)).Ints("partitions", share(ids, o.id, o.partitions)).Msg("carrying partitions")
	}
	mine := share(ids, o.id, o.partitions)
	for _, p := range mine {
		if o.carried[p] == nil && ctx.Err() == nil {
			o.carry(ctx, p)
		}
	}
	o.w.begun.Store(true)
	theirs := map[int]*carried{}
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
		if id == o.id || silent || known && now.Sub(p.at) < memberTTL {
			return p.stopped
		}
		last, err := o.lastBeat(ctx, id)
		if err != nil {
			silent = true
			return p.stopped
		}
		stopped := known && last == p.last
		if stopped && !p.stopped {
			o.w.Logger.Warn().Str("worker", id).Msg("a worker without heartbeats is still listed; it is not counted")
		}
		o.others[id] = lastBeat{last, now, stopped}
		return stopped
	})
}

func (o *owner) lastBeat(ctx context.Context, id string) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, beatBudget)
	defer cancel()
	return o.members.LastBeat(ctx, id)
}

// end stops partitions, all at the same time, and returns when they have settled.
func end(all map[int]*carried) {
	for _, c := range all {
		c.stop()
	}
	for _, c := range all {
		<-c.done
	}
}

func (o *owner) carry(ctx context.Context, p int) {
	ctx, stop := context.WithCancel(ctx)
	c := &carried{stop: stop, done: make(chan struct{})}
	o.carried[p] = c
	o.w.statuses.of(p).begin(time.Now())
	go func() {
		defer close(c.done)
		o.w.keep(ctx, p)
	}()
}

// leave removes the worker from the members.
func (o *owner) leave() {
	ctx, cancel := context.WithTimeout(context.Background(), beatBudget)
	defer cancel()
	if err := o.members.Leave(ctx, o.id); err != nil {
		o.w.Logger.Warn().Err(err).Msg("leaving failed; the others take over in a moment")
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
