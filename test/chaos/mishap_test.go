package chaos

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
)

// fate does things to a cluster and a fleet.
type fate struct {
	t *testing.T
	c *cluster
	f *fleet
	// nc is its own connection to the account of the streams; outside is one of
	// a client.
	nc, outside *nats.Conn
	tokens      *tokens
	plan        plan

	mu    sync.Mutex
	count map[string]int
	lost  spans // times whose inputs may be lost
	// damaged: snapshots or checkpoints were; forged: a client in the account of
	// the streams had acknowledgements stored there.
	damaged, forged bool
	net             sync.Mutex // one mishap of the network between servers at a time
	down            sync.Mutex // and one server down, but for quorum
}

// mishap is something that happens for a while, and is over when it returns.
type mishap struct {
	name   string
	weight int
	do     func(f *fate, p params)
	loses  bool // inputs that were acknowledged
}

// params are the random choices of a mishap, made beforehand so that a seed
// gives the same ones however long others take.
type params struct {
	a, b  int // two different servers or workers
	short time.Duration
	long  time.Duration // at times longer than the ownership's time-out of 3 s
	stall bool
	name  string // of a stream
	seed  uint64 // of what else is random
}

var mishaps = [...]mishap{
	{name: "worker killed", weight: 8, do: func(f *fate, p params) { f.restart(f.f.workers[p.a], syscall.SIGKILL, p.short) }},
	{name: "worker restarted", weight: 3, do: func(f *fate, p params) { f.restart(f.f.workers[p.a], syscall.SIGTERM, p.short/4) }},
	{name: "worker frozen", weight: 6, do: func(f *fate, p params) { f.freeze(f.f.workers[p.a], p.long) }},
	{name: "worker cut off", weight: 4, do: func(f *fate, p params) { f.cutOff(p.a, []int{0, 1, 2}, p.stall, p.long) }},
	{name: "worker cut off from a server", weight: 3, do: func(f *fate, p params) { f.cutOff(p.a, []int{p.b}, p.stall, p.long) }},
	{name: "server killed", weight: 4, do: func(f *fate, p params) { f.serverDown(p.a, syscall.SIGKILL, p.short) }},
	{name: "server restarted", weight: 2, do: func(f *fate, p params) { f.serverDown(p.a, syscall.SIGTERM, p.short) }},
	{name: "leader killed", weight: 4, do: func(f *fate, p params) { f.serverDown(f.c.leader(f.nc, p.name), syscall.SIGKILL, p.short) }},
	{name: "leader frozen", weight: 3, do: func(f *fate, p params) { f.freeze(f.c.servers[f.c.leader(f.nc, p.name)], p.long) }},
	{name: "leader steps down", weight: 3, do: func(f *fate, p params) { f.stepDown(p.name) }},
	{name: "leader isolated", weight: 3, do: func(f *fate, p params) { f.isolate(f.c.leader(f.nc, p.name), 0, p.stall, p.long) }},
	{name: "server isolated", weight: 2, do: func(f *fate, p params) { f.isolate(p.a, 0, p.stall, p.long) }},
	{name: "two servers apart", weight: 2, do: func(f *fate, p params) { f.isolate(p.a, p.b-p.a, p.stall, p.long) }},
	{name: "quorum lost", weight: 1, do: func(f *fate, p params) { f.quorumLost(p.a, p.b, p.short) }},
	{name: "all servers killed", weight: 1, do: func(f *fate, p params) { f.allDown(p.short) }},
	{name: "a server's disk set back", weight: 2, do: func(f *fate, p params) { f.setBack(p.a, p.short) }},
	{name: "a server's disk full", weight: 2, do: func(f *fate, p params) { f.diskFull(p.a, p.short) }},
	{name: "snapshots damaged", weight: 3, do: func(f *fate, p params) { f.damageKeys("STREAMER_SNAPSHOT", p) }},
	{name: "checkpoints damaged", weight: 2, do: func(f *fate, p params) { f.damageKeys("STREAMER_CHECKPOINT", p) }},
	{name: "a server's snapshots flipped", weight: 1, do: func(f *fate, p params) { f.flip(p.a, p) }},
	{name: "acknowledgements to another account", weight: 2, do: func(f *fate, p params) { f.forge(f.outside, outsider, p) }},
	{name: "acknowledgements within the account", weight: 2, do: func(f *fate, p params) { f.forge(f.nc, insider, p) }},
	{name: rolledBack, weight: 1, do: func(f *fate, p params) { f.rollBack(p.short) }, loses: true},
}

const rolledBack = "input stream put back"

var streams = [...]string{"LLM", "TOOLCALLS", "KV_STREAMER_SNAPSHOT", "KV_STREAMER_CHECKPOINT", "KV_STREAMER_MEMBER", "STREAMER_BLOBS"}

// rage lets mishaps happen until ctx ends, some at the same time, and returns
// when the last is over.
func (f *fate) rage(ctx context.Context, rnd *rand.Rand) {
	var wg sync.WaitGroup
	defer wg.Wait()
	room := make(chan struct{}, 3)
	for {
		m, p := f.plan.draw(rnd)
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Duration(100+rnd.IntN(1500)) * time.Millisecond): // a random moment is the point
		}
		select {
		case <-ctx.Done():
			return
		case room <- struct{}{}:
		}
		wg.Go(func() {
			defer func() { <-room }()
			m.do(f, p)
			f.mu.Lock()
			f.count[m.name]++
			f.mu.Unlock()
		})
	}
}

// draw returns the next mishap and its choices.
func (p *plan) draw(rnd *rand.Rand) (mishap, params) {
	from := p.usual
	if len(p.often) > 0 && rnd.IntN(2) == 0 {
		from = p.often
	}
	sum := 0
	for _, m := range from {
		sum += m.weight
	}
	n, at := rnd.IntN(sum), 0
	for n >= from[at].weight {
		n -= from[at].weight
		at++
	}
	return from[at], choose(rnd)
}

func choose(rnd *rand.Rand) params {
	p := params{a: rnd.IntN(size), stall: rnd.IntN(2) == 0, name: streams[rnd.IntN(len(streams))]}
	p.b = (p.a + 1 + rnd.IntN(size-1)) % size
	p.short = time.Duration(rnd.IntN(3000)) * time.Millisecond
	p.long = time.Duration(200+rnd.IntN(7000)) * time.Millisecond
	p.seed = rnd.Uint64()
	return p
}

// restart ends a process and starts its next life after a pause.
func (f *fate) restart(p *process, sig syscall.Signal, pause time.Duration) {
	p.busy.Lock()
	defer p.busy.Unlock()
	p.end(sig)
	time.Sleep(pause)
	p.start()
}

func (f *fate) freeze(p *process, d time.Duration) {
	p.busy.Lock()
	defer p.busy.Unlock()
	p.signal(syscall.SIGSTOP)
	time.Sleep(d)
	p.signal(syscall.SIGCONT)
}

func (f *fate) serverDown(i int, sig syscall.Signal, d time.Duration) {
	f.down.Lock()
	defer f.down.Unlock()
	f.restart(f.c.servers[i], sig, d)
}

func (f *fate) quorumLost(i, j int, d time.Duration) {
	f.down.Lock()
	defer f.down.Unlock()
	var wg sync.WaitGroup
	for _, s := range []int{i, j} {
		wg.Go(func() { f.restart(f.c.servers[s], syscall.SIGKILL, d) })
	}
	wg.Wait()
}

// allDown kills all servers at once, as when the power of all is lost and no
// disk loses what it had.
func (f *fate) allDown(d time.Duration) {
	f.down.Lock()
	defer f.down.Unlock()
	var wg sync.WaitGroup
	for _, s := range f.c.servers {
		wg.Go(func() { f.restart(s, syscall.SIGKILL, d) })
	}
	wg.Wait()
}

func (f *fate) stepDown(stream string) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_, _ = f.nc.RequestWithContext(ctx, "$JS.API.STREAM.LEADER.STEPDOWN."+stream, nil) // there may be none just now
}

func (f *fate) cutOff(w int, servers []int, stall bool, d time.Duration) {
	f.f.workers[w].busy.Lock()
	defer f.f.workers[w].busy.Unlock()
	f.f.cutOff(w, servers, stall)
	time.Sleep(d)
	for _, s := range servers {
		f.f.links[w][s].heal()
	}
}

// isolate parts a server from the one that is step further in the ring, or
// from both.
func (f *fate) isolate(i, step int, stall bool, d time.Duration) {
	f.net.Lock()
	defer f.net.Unlock()
	others := []int{(i + 1) % size, (i + 2) % size}
	if step != 0 {
		others = []int{(i + step + size) % size}
	}
	f.c.isolate(i, others, stall)
	time.Sleep(d)
	f.c.heal()
}

// told returns how often each mishap happened.
func (f *fate) told() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var s string
	for _, name := range slices.Sorted(maps.Keys(f.count)) {
		s += fmt.Sprintf("\n  %4d %s", f.count[name], name)
	}
	return s
}
