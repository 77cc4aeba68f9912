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

// Members is who else carries partitions.
type Members interface {
	Beat(ctx context.Context, id string, ttl time.Duration) error
	Leave(ctx context.Context, id string) error
	Members(ctx context.Context) ([]string, error)
	LastBeat(ctx context.Context, id string) (uint64, error)
}

const (
	memberTTL  = 3 * time.Second // after which a worker that does not beat is gone
	beatEvery  = time.Second
	pollEvery  = 250 * time.Millisecond
	beatBudget = 2 * time.Second // for one beat or look; a lost one is not worth more
)

// RunShared carries this worker's share of the partitions until ctx ends: the
// live workers divide them evenly, and again when one comes, leaves or dies. A
// wrong view of who is there costs time, never correctness: two owners of a
// partition write one log. At the end it leaves when its partitions are
// settled, so that their next owners begin at once where it ended. A worker
// that may not publish what workers do is refused at the start.
func (w *Worker) RunShared(ctx context.Context, members Members, partitions int) error {
	if err := w.check(); err != nil {
		return err
	}
	o := owner{w: w, members: members, partitions: partitions, id: w.Options.Nonce, carried: map[int]*carried{}, pulses: map[string]pulse{}}
	once, cancel := context.WithTimeout(ctx, beatBudget)
	err := members.Beat(once, o.id, memberTTL)
	cancel()
	if errors.Is(err, broker.ErrRefused) { // and so would all that a worker has to say
		return fmt.Errorf("worker: joining the workers: %w", err)
	}
	defer o.leave()
	// It beats until all is settled, or others would take over meanwhile.
	beating, stop := context.WithCancel(context.WithoutCancel(ctx))
	var beats sync.WaitGroup
	beats.Go(func() { o.beat(beating) })
	defer func() { end(o.carried); stop(); beats.Wait() }()
	poll := time.NewTicker(pollEvery)
	defer poll.Stop()
	for {
		o.look(ctx)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-poll.C:
		}
	}
}

// owner knows which partitions a worker carries. The goroutine of RunShared
// owns it.
type owner struct {
	w          *Worker
	members    Members
	partitions int
	id         string
	carried    map[int]*carried
	seen       []string // the members at the last look
	pulses     map[string]pulse
}

// pulse is what was seen of another member's beats.
type pulse struct {
	last    uint64 // beat
	at      time.Time
	stopped bool
}

// carried is a partition that runs.
type carried struct {
	stop context.CancelFunc
	done chan struct{}
}

// beat says again and again that the worker is there.
func (o *owner) beat(ctx context.Context) {
	every := time.NewTicker(beatEvery)
	defer every.Stop()
	var told time.Time
	for {
		once, cancel := context.WithTimeout(ctx, beatBudget)
		err := o.members.Beat(once, o.id, memberTTL)
		cancel()
		if err != nil && ctx.Err() == nil && time.Since(told) >= logInterval {
			told = time.Now()
			o.w.Logger.Warn().Err(err).Msg("heartbeat failed")
		}
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		}
	}
}

// look asks who is there, takes over what is ours now and hands over what is
// not. While nobody answers, all stays as it is.
func (o *owner) look(ctx context.Context) {
	once, cancel := context.WithTimeout(ctx, beatBudget)
	ids, err := o.members.Members(once)
	cancel()
	if err != nil {
		return
	}
	ids = o.beating(ctx, ids, time.Now())
	if !slices.Contains(ids, o.id) { // our first beat is on its way, or ended
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

// beating leaves out the members that do not beat any more. The server lets
// their last beats expire; but one that has caught up with the others' log may
// never do so, and nobody would carry the partitions of those who are gone.
func (o *owner) beating(ctx context.Context, ids []string, now time.Time) []string {
	maps.DeleteFunc(o.pulses, func(id string, _ pulse) bool { return !slices.Contains(ids, id) })
	mute := false // nobody answers
	return slices.DeleteFunc(ids, func(id string) bool {
		p, known := o.pulses[id]
		if id == o.id || mute || known && now.Sub(p.at) < memberTTL {
			return p.stopped
		}
		last, err := o.lastBeat(ctx, id)
		if err != nil {
			mute = true
			return p.stopped
		}
		stopped := known && last == p.last
		if stopped && !p.stopped {
			o.w.Logger.Warn().Str("worker", id).Msg("a worker that does not beat any more is still listed; it is not counted")
		}
		o.pulses[id] = pulse{last, now, stopped}
		return stopped
	})
}

func (o *owner) lastBeat(ctx context.Context, id string) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, beatBudget)
	defer cancel()
	return o.members.LastBeat(ctx, id)
}

// end settles partitions, all at the same time.
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

// leave takes the beat back.
func (o *owner) leave() {
	ctx, cancel := context.WithTimeout(context.Background(), beatBudget)
	defer cancel()
	if err := o.members.Leave(ctx, o.id); err != nil {
		o.w.Logger.Warn().Err(err).Msg("leaving failed; the others take over in a moment")
	}
}

// share gives the partitions of a worker: each goes to the member that ranks
// it highest (rendezvous hashing, so that few move when members change) and
// has not its even share yet.
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

// rankOf mixes fnv's sum, whose high bits say little of short texts.
func rankOf(id string, p int) uint64 {
	h := fnv.New64a()
	_, _ = io.WriteString(h, id+"/"+strconv.Itoa(p)) // a hash does not fail
	x := h.Sum64()
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	return x
}
