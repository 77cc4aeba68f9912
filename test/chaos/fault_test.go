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

// faultInjector injects faults into a cluster and a fleet.
type faultInjector struct {
	t *testing.T
	c *cluster
	f *fleet
	// nc is a connection to the account of the streams, and outside a connection to
	// the account of clients.
	nc, outside *nats.Conn
	system      *nats.Conn // to the account of the servers
	tokens      *tokens
	plan        plan
	op          *operator

	mu    sync.Mutex
	count map[string]int // faults by name
	lost  spans          // times in which inputs were acknowledged that may be lost
	// damaged is set if snapshots or checkpoints were damaged. forged is set if a
	// client in the account of the streams stored acknowledgements there.
	damaged, forged bool
	// bits is set if a server with bit errors led the logs: sessions may then differ, of
	// which `streamer verify` names each.
	bits     bool
	unsynced int64      // bytes that were lost because they were not synced
	net      sync.Mutex // allows one fault of the network between servers at a time
	paused   sync.Mutex // allows one pause at a time
	down     sync.Mutex // allows one server to be down at a time, except in quorumLost and allDown
}

// fault is something that fails for a while. It has ended when do returns.
type fault struct {
	name   string
	weight int
	do     func(f *faultInjector, p params)
	loses  bool // acknowledged inputs may be lost
	power  bool // of power and disks, for servers that sync what they acknowledge
}

// params are the random choices of a fault. They are made before it starts, so
// that a seed leads to the same choices whatever the timing is.
type params struct {
	a, b  int // two different servers or workers
	short time.Duration
	long  time.Duration // sometimes longer than the heartbeat's TTL of 3 s
	stall bool
	name  string // of a stream
	seed  uint64 // for further random choices
}

// faults lists the faults. A fault with a higher weight is chosen more often.
var faults = [...]fault{
	{name: "worker killed", weight: 8, do: func(f *faultInjector, p params) { f.restart(f.f.workers[p.a], syscall.SIGKILL, p.short) }},
	{name: "worker restarted", weight: 3, do: func(f *faultInjector, p params) { f.restart(f.f.workers[p.a], syscall.SIGTERM, p.short/4) }},
	{name: "worker frozen", weight: 6, do: func(f *faultInjector, p params) { f.freeze(f.f.workers[p.a], p.long) }},
	{name: "worker cut off", weight: 4, do: func(f *faultInjector, p params) { f.cutOff(p.a, []int{0, 1, 2}, p.stall, p.long) }},
	{name: "worker cut off from a server", weight: 3, do: func(f *faultInjector, p params) { f.cutOff(p.a, []int{p.b}, p.stall, p.long) }},
	{name: "server killed", weight: 4, do: func(f *faultInjector, p params) { f.serverDown(p.a, syscall.SIGKILL, p.short) }},
	{name: "server restarted", weight: 2, do: func(f *faultInjector, p params) { f.serverDown(p.a, syscall.SIGTERM, p.short) }},
	{name: "leader killed", weight: 4, do: func(f *faultInjector, p params) { f.serverDown(f.c.leader(f.nc, p.name), syscall.SIGKILL, p.short) }},
	{name: "leader frozen", weight: 3, do: func(f *faultInjector, p params) { f.freeze(f.c.servers[f.c.leader(f.nc, p.name)], p.long) }},
	{name: "leader steps down", weight: 3, do: func(f *faultInjector, p params) { f.stepDown(p.name) }},
	{name: "leader isolated", weight: 3, do: func(f *faultInjector, p params) { f.isolate(f.c.leader(f.nc, p.name), 0, p.stall, p.long) }},
	{name: "server isolated", weight: 2, do: func(f *faultInjector, p params) { f.isolate(p.a, 0, p.stall, p.long) }},
	{name: "two servers disconnected", weight: 2, do: func(f *faultInjector, p params) { f.isolate(p.a, p.b-p.a, p.stall, p.long) }},
	{name: "quorum lost", weight: 1, do: func(f *faultInjector, p params) { f.quorumLost(p.a, p.b, p.short) }},
	{name: "all servers killed", weight: 1, do: func(f *faultInjector, p params) { f.allDown(p.short) }},
	{name: "a server's disk rolled back", weight: 2, do: func(f *faultInjector, p params) { f.rollBackDisk(p.a, p.short) }},
	{name: "a server's disk full", weight: 2, do: func(f *faultInjector, p params) { f.diskFull(p.a, p.short) }},
	{name: "snapshots damaged", weight: 3, do: func(f *faultInjector, p params) { f.damageKeys("STREAMER_SNAPSHOT", p) }},
	{name: "checkpoints damaged", weight: 2, do: func(f *faultInjector, p params) { f.damageKeys("STREAMER_CHECKPOINT", p) }},
	{name: "bits of the next leader's snapshots flipped", weight: 1, do: func(f *faultInjector, p params) { f.flip(p.a, []string{"KV_STREAMER_SNAPSHOT"}, p) }},
	{name: "acknowledgements to another account", weight: 2, do: func(f *faultInjector, p params) { f.forge(f.outside, outsider, p) }},
	{name: "acknowledgements within the account", weight: 2, do: func(f *faultInjector, p params) { f.forge(f.nc, insider, p) }},
	{name: "new sessions paused", weight: 2, do: func(f *faultInjector, p params) { f.pause(p.long) }},
	{name: "power failed", weight: 1, power: true, do: func(f *faultInjector, p params) { f.failPower(p.short) }},
	{name: "bits of the next leader's streams flipped", weight: 1, power: true, do: func(f *faultInjector, p params) { f.flip(p.a, streams[:], p) }},
	{name: "a server replaced", weight: 1, power: true, do: func(f *faultInjector, p params) { f.alone(func() { f.renew(p.a, p.stall, p.short) }) }},
	{name: rolledBack, weight: 1, do: func(f *faultInjector, p params) { f.rollBack(p.short) }, loses: true},
}

// rolledBack is the name of the only fault that loses inputs.
const rolledBack = "input stream rolled back"

// streams lists the streams of streamer.
var streams = [...]string{"LLM", "TOOLCALLS", "KV_STREAMER_SNAPSHOT", "KV_STREAMER_CHECKPOINT", "KV_STREAMER_MEMBER", "STREAMER_BLOBS"}

// run injects faults until ctx ends, up to three at the same time, and returns when
// the last one has ended.
func (f *faultInjector) run(ctx context.Context, rnd *rand.Rand) {
	var wg sync.WaitGroup
	defer wg.Wait()
	slots := make(chan struct{}, 3)
	for {
		m, p := f.plan.draw(rnd)
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Duration(100+rnd.IntN(1500)) * time.Millisecond): // a random moment
		}
		select {
		case <-ctx.Done():
			return
		case slots <- struct{}{}:
		}
		wg.Go(func() {
			defer func() { <-slots }()
			m.do(f, p)
			f.mu.Lock()
			f.count[m.name]++
			f.mu.Unlock()
		})
	}
}

// draw chooses the next fault and its params.
func (p *plan) draw(rnd *rand.Rand) (fault, params) {
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

// choose returns random params.
func choose(rnd *rand.Rand) params {
	p := params{a: rnd.IntN(size), stall: rnd.IntN(2) == 0, name: streams[rnd.IntN(len(streams))]}
	p.b = (p.a + 1 + rnd.IntN(size-1)) % size
	p.short = time.Duration(rnd.IntN(3000)) * time.Millisecond
	p.long = time.Duration(200+rnd.IntN(7000)) * time.Millisecond
	p.seed = rnd.Uint64()
	return p
}

// restart ends a process and starts it again after a pause.
func (f *faultInjector) restart(p *process, sig syscall.Signal, pause time.Duration) {
	p.busy.Lock()
	defer p.busy.Unlock()
	p.end(sig)
	time.Sleep(pause)
	p.start()
}

// freeze pauses a process for the time d.
func (f *faultInjector) freeze(p *process, d time.Duration) {
	p.busy.Lock()
	defer p.busy.Unlock()
	p.signal(syscall.SIGSTOP)
	time.Sleep(d)
	p.signal(syscall.SIGCONT)
}

// serverDown ends a server for the time d.
func (f *faultInjector) serverDown(i int, sig syscall.Signal, d time.Duration) {
	f.down.Lock()
	defer f.down.Unlock()
	f.restart(f.c.servers[i], sig, d)
}

// quorumLost kills two servers for the time d.
func (f *faultInjector) quorumLost(i, j int, d time.Duration) {
	f.down.Lock()
	defer f.down.Unlock()
	var wg sync.WaitGroup
	for _, s := range []int{i, j} {
		wg.Go(func() { f.restart(f.c.servers[s], syscall.SIGKILL, d) })
	}
	wg.Wait()
}

// allDown kills all servers at once. The effect is that of a power loss in which no
// disk loses data.
func (f *faultInjector) allDown(d time.Duration) {
	f.down.Lock()
	defer f.down.Unlock()
	var wg sync.WaitGroup
	for _, s := range f.c.servers {
		wg.Go(func() { f.restart(s, syscall.SIGKILL, d) })
	}
	wg.Wait()
}

// stepDown makes the leader of a stream step down.
func (f *faultInjector) stepDown(stream string) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_, _ = f.nc.RequestWithContext(ctx, "$JS.API.STREAM.LEADER.STEPDOWN."+stream, nil) // fails if there is no leader
}

// cutOff fails the links of a worker to servers for the time d.
func (f *faultInjector) cutOff(w int, servers []int, stall bool, d time.Duration) {
	f.f.workers[w].busy.Lock()
	defer f.f.workers[w].busy.Unlock()
	f.f.cutOff(w, servers, stall)
	time.Sleep(d)
	for _, s := range servers {
		f.f.links[w][s].Heal()
	}
}

// isolate disconnects a server from the one that is step positions after it, or
// from both others if step is 0.
func (f *faultInjector) isolate(i, step int, stall bool, d time.Duration) {
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

// summary returns how often each fault was injected.
func (f *faultInjector) summary() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var s string
	for _, name := range slices.Sorted(maps.Keys(f.count)) {
		s += fmt.Sprintf("\n  %4d %s", f.count[name], name)
	}
	return s
}
