package inputlog

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"streamer/internal/broker"
	"streamer/internal/broker/brokertest"
	"streamer/internal/inputs"
)

// flow is a log whose partitions are all read while inputs are published.
type flow struct {
	t     *testing.T
	b     testLog
	ctx   context.Context
	stop  context.CancelFunc
	hold  func(p int, batch []inputs.Input) // called before each batch is counted
	reads sync.WaitGroup

	mu        sync.Mutex
	changed   *sync.Cond
	published int
	got       [][]uint64 // by partition
	next      []uint64
	caughtUp  []bool
	errs      []error
}

// newFlow reads the first n partitions, until close.
func newFlow(t *testing.T, b testLog, n int, hold func(p int, batch []inputs.Input)) *flow {
	f := &flow{t: t, b: b, hold: hold, got: make([][]uint64, n), next: make([]uint64, n), caughtUp: make([]bool, n), errs: make([]error, n)}
	f.changed = sync.NewCond(&f.mu)
	f.ctx, f.stop = context.WithCancel(context.Background())
	for p := range n {
		f.reads.Go(func() {
			err := b.Inputs(f.ctx, p, 1, func(batch []inputs.Input, next uint64, caughtUp bool) error {
				f.deliver(p, batch, next, caughtUp)
				return nil
			})
			f.mu.Lock()
			defer f.mu.Unlock()
			f.errs[p] = err
			f.changed.Broadcast()
		})
	}
	return f
}

func (f *flow) deliver(p int, batch []inputs.Input, next uint64, caughtUp bool) {
	if f.hold != nil {
		f.hold(p, batch)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range batch {
		f.got[p] = append(f.got[p], batch[i].Seq)
	}
	if n := len(f.got[p]); next < f.next[p] || n > 0 && next <= f.got[p][n-1] {
		f.t.Errorf("partition %d: next is %d after %d and %d inputs", p, next, f.next[p], n)
	}
	f.next[p], f.caughtUp[p] = next, caughtUp
	f.changed.Broadcast()
}

// publish publishes n inputs and waits until they are stored.
func (f *flow) publish(n int) {
	f.t.Helper()
	f.publishTo(n, func(i int) string { return "s" + strconv.Itoa(i%97) }, nil)
}

func (f *flow) publishTo(n int, token func(i int) string, data []byte) {
	f.t.Helper()
	acks := make(chan broker.Ack, n)
	for range n {
		f.published++
		f.b.Publish(f.b.InputPub(token(f.published), inputs.Delta, "m"+strconv.Itoa(f.published), nil, data), acks)
	}
	for range n {
		if a := <-acks; a.Err != nil {
			f.t.Fatal(a.Err)
		}
	}
}

// await waits until a condition holds, which is checked after each batch, and reports
// whether it does.
func (f *flow) await(what string, holds func() bool) bool {
	f.t.Helper()
	late := time.AfterFunc(time.Minute, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.errs[0] = errors.Join(f.errs[0], errors.New("too late: "+what))
		f.changed.Broadcast()
	})
	defer late.Stop()
	f.mu.Lock()
	defer f.mu.Unlock()
	for !holds() {
		if err := errors.Join(f.errs...); err != nil {
			f.t.Errorf("%s: %v", what, err)
			return false
		}
		f.changed.Wait()
	}
	return true
}

// awaitAll waits until all that was published is delivered, and every partition knows it.
func (f *flow) awaitAll() {
	f.t.Helper()
	f.await("all is delivered", func() bool {
		sum := 0
		for _, got := range f.got {
			sum += len(got)
		}
		return sum >= f.published && !slices.Contains(f.caughtUp, false)
	})
}

// following returns how many partitions follow the shared reader.
func (f *flow) following() (n int) {
	c := f.b.shared
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range c.members {
		if m != nil && m.follows.Load() {
			n++
		}
	}
	return n
}

// publishUntil publishes until n partitions follow the shared reader.
func (f *flow) publishUntil(n int) {
	f.t.Helper()
	for try := 0; f.following() != n; try++ {
		if try == 2000 {
			f.t.Fatalf("%d partitions follow the shared reader, want %d", f.following(), n)
		}
		f.publish(20)
		f.awaitAll()
	}
}

// close ends the reads and checks that each partition received what it has, once and in
// order.
func (f *flow) close() {
	f.t.Helper()
	f.stop()
	f.reads.Wait()
	for p, err := range f.errs {
		if !errors.Is(err, context.Canceled) {
			f.t.Errorf("partition %d: %v", p, err)
		}
	}
	alone := testLog{f.b.Broker, New(f.b.Broker)}
	for p, got := range f.got {
		var want []uint64
		for _, in := range collect(f.t, alone, p, 1, untilCaughtUp) {
			want = append(want, in.Seq)
		}
		if !slices.Equal(got, want) {
			f.t.Errorf("partition %d: got %d inputs, want %d, and the same: %v, %v", p, len(got), len(want), got, want)
		}
	}
}

// setRate sets the rate that is measured, for good.
func setRate(b testLog, perSecond int) {
	c := b.shared
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rate.began, c.rate.perSecond, c.rate.active = time.Now().Add(24*time.Hour), perSecond, len(c.members)
}

// pace publishes for a time, in steps of 10 ms.
func (f *flow) pace(perSecond int, took time.Duration) {
	f.t.Helper()
	const step = 10 * time.Millisecond
	for range int(took / step) {
		f.publish(perSecond * int(step) / int(time.Second))
		time.Sleep(step) // fake time
	}
	f.awaitAll()
}

// Partitions are read together at the end of the stream while many inputs arrive, and one by
// one below half of that.
func TestLive(t *testing.T) {
	inBubble(t, broker.Options{Partitions: 4}, func(t *testing.T, b testLog) {
		f := newFlow(t, b, 4, nil)
		defer f.close()
		for _, step := range []struct{ perSecond, following int }{
			{sharedRate * 3 / 4, 0},
			{sharedRate * 3 / 2, 4},
			{sharedRate * 3 / 4, 4},
			{sharedRate / 4, 0},
			{sharedRate * 3 / 4, 0},
			{sharedRate * 3 / 2, 4},
		} {
			f.pace(step.perSecond, 4*time.Second)
			if got := f.following(); got != step.following {
				t.Errorf("at %d inputs per second: %d partitions follow the shared reader, want %d", step.perSecond, got, step.following)
			}
		}
		time.Sleep(10 * time.Second) // without inputs
		if got := f.following(); got != 0 {
			t.Errorf("without inputs: %d partitions follow the shared reader, want none", got)
		}
		if c := b.CatchUps(); c != 0 {
			t.Errorf("got %d runs of partitions that were far behind, want none", c)
		}
	})
}

// Where this process reads half of the partitions, or few of them have inputs, each reads
// alone.
func TestLiveIsOnlyForMany(t *testing.T) {
	inBubble(t, broker.Options{Partitions: 4}, func(t *testing.T, b testLog) {
		f := newFlow(t, b, 2, nil)
		for range 400 {
			f.publish(200)
			time.Sleep(10 * time.Millisecond)
		}
		f.close()
		if n := b.shared.lives.Load(); n != 0 {
			t.Errorf("half of the partitions: got %d runs, want none", n)
		}
	})
	inBubble(t, broker.Options{Partitions: 4}, func(t *testing.T, b testLog) {
		f := newFlow(t, b, 4, nil)
		for range 400 {
			f.publishTo(100, func(int) string { return "s0" }, nil)
			time.Sleep(10 * time.Millisecond)
		}
		f.awaitAll()
		f.close()
		if n := b.shared.lives.Load(); n != 0 {
			t.Errorf("one partition has inputs: got %d runs, want none", n)
		}
	})
}

// A run of partitions that were far behind becomes live where many inputs arrive, and each
// learns that it has caught up.
func TestCatchUpBecomesLive(t *testing.T) {
	b, _ := behind(t, 4, 5000)
	setRate(b, sharedRate)
	f := newFlow(t, b, 4, nil)
	f.published = 5000
	f.awaitAll()
	f.publishUntil(4)
	if b.CatchUps() == 0 {
		t.Error("got no run")
	}
	f.close()
}

// A member that does not take its inputs is dropped. It loses none, and the others wait for
// it no longer than liveTimeout.
func TestLiveDropsAStalledMember(t *testing.T) {
	inBubble(t, broker.Options{Partitions: 4}, func(t *testing.T, b testLog) {
		var stalled sync.Mutex // held while partition 0 takes nothing
		latest := make([]time.Duration, 4)
		f := newFlow(t, b, 4, func(p int, batch []inputs.Input) {
			if p == 0 {
				stalled.Lock()
				defer stalled.Unlock()
			}
			for _, in := range batch {
				latest[p] = max(latest[p], time.Since(in.At))
			}
		})
		f.pace(2*sharedRate, 3*time.Second)
		if got := f.following(); got != 4 {
			t.Fatalf("%d partitions follow the shared reader, want all", got)
		}
		release := make(chan struct{})
		stalled.Lock()
		go func() {
			<-release
			stalled.Unlock()
		}()
		for range 200 { // 2 s, with several times as many inputs as an inbox can have
			f.publish(80)
			time.Sleep(10 * time.Millisecond)
		}
		if got := f.following(); got != 3 {
			t.Errorf("%d partitions follow the shared reader, want all but the stalled one", got)
		}
		f.mu.Lock()
		if n := len(f.got[0]); n == 0 || f.next[1] <= f.next[0]+inboxInputs {
			t.Errorf("%d inputs of the stalled partition up to %d, others up to %d", n, f.next[0], f.next[1])
		}
		f.mu.Unlock()
		close(release)
		f.pace(2*sharedRate, pauseLate+2*time.Second)
		if got := f.following(); got != 4 {
			t.Errorf("%d partitions follow the shared reader later, want all", got)
		}
		f.close()
		for p, took := range latest[1:] {
			if took > 2*liveTimeout {
				t.Errorf("partition %d: an input was delivered after %v, want at most %v", p+1, took, liveTimeout)
			}
		}
		if latest[0] < time.Second {
			t.Errorf("partition 0 stalled for %v only", latest[0])
		}
	})
}

// A member that is always a little too slow is dropped too: it may hold up the others for
// liveTimeout in a second.
func TestLiveDropsASlowMember(t *testing.T) {
	inBubble(t, broker.Options{}, func(t *testing.T, _ testLog) {
		s, members := joined(2, 1)
		held := time.Duration(0)
		taken := make(chan struct{})
		defer close(taken)
		go func() { // takes what waits every 30 ms
			for {
				select {
				case <-taken:
					return
				case <-time.After(30 * time.Millisecond):
					members[0].in.take()
				}
			}
		}()
		for seq := uint64(1); s.members[0] != nil; seq += inboxInputs {
			batch := messages(seq, seq+inboxInputs-1, 0)
			for i := range batch {
				batch[i].Subject = "_llm.0.s.delta"
			}
			began := time.Now()
			s.sendAll(move{members: s.members, next: seq + inboxInputs, live: true}, batch)
			if held += time.Since(began); held > time.Second {
				t.Fatalf("the others waited for %v", held)
			}
		}
		if held != liveTimeout {
			t.Errorf("the others waited for %v, want %v", held, liveTimeout)
		}
	})
}

// A member that has no inputs learns the position while many of other partitions arrive.
func TestLiveReportsProgress(t *testing.T) {
	b := start(t, broker.Options{Partitions: 4})
	setRate(b, 2*sharedRate)
	f := newFlow(t, b, 4, nil)
	f.publishUntil(4)
	quiet := b.Partition("s0")
	token := ""
	for i := 0; token == "" || b.Partition(token) == quiet; i++ {
		token = fmt.Sprint("other", i)
	}
	for range 20 {
		f.publishTo(1000, func(int) string { return token }, nil)
		f.await("positions", func() bool { return f.next[quiet]+progressEvery+1000 > uint64(f.published) })
	}
	setRate(b, 0)
	f.publishTo(1, func(int) string { return token }, nil)
	f.await("the last position", func() bool { return f.next[quiet] > uint64(f.published) && f.caughtUp[quiet] })
	if n := f.following(); n != 0 {
		t.Errorf("%d partitions follow the shared reader, want none", n)
	}
	f.close()
}

// Restarts of the server during a live run cause no gap and no duplicate.
func TestLiveThroughRestarts(t *testing.T) {
	s := brokertest.NewServer(t)
	b := start(t, broker.Options{URL: s.URL(), Partitions: 4})
	setRate(b, 2*sharedRate)
	f := newFlow(t, b, 4, nil)
	for range 3 {
		f.publishUntil(4)
		f.publish(500) // some are not delivered yet
		s.Stop()
		s.Start()
		f.publish(500)
		f.awaitAll()
	}
	f.close()
}

// Every partition notices a log that was rewound during a live run, before another input is
// delivered in place of one that it has read.
func TestLiveOfARewoundLog(t *testing.T) {
	s := brokertest.NewServer(t)
	b := start(t, broker.Options{URL: s.URL(), Partitions: 4})
	setRate(b, 2*sharedRate)
	f := newFlow(t, b, 4, func(_ int, batch []inputs.Input) {
		for _, in := range batch {
			if string(in.Data) == "other" {
				t.Errorf("input %d of the rewound log is delivered", in.Seq)
			}
		}
	})
	f.publishUntil(4)
	s.Stop()
	before := t.TempDir()
	if err := os.CopyFS(before, os.DirFS(s.Options.StoreDir)); err != nil {
		t.Fatal(err)
	}
	s.Start()
	f.publish(200)
	f.awaitAll()
	f.publishUntil(4)
	s.Stop()
	if err := errors.Join(os.RemoveAll(s.Options.StoreDir), os.CopyFS(s.Options.StoreDir, os.DirFS(before))); err != nil {
		t.Fatal(err)
	}
	s.Start()
	other := brokertest.Start(t, broker.Options{URL: s.URL(), Partitions: 4})
	acks := make(chan broker.Ack, 1000)
	for i := range cap(acks) {
		other.Publish(b.InputPub("s"+strconv.Itoa(i%97), inputs.Delta, "other"+strconv.Itoa(i), nil, []byte("other")), acks)
	}
	f.reads.Wait()
	for p, err := range f.errs {
		_, ahead := errors.AsType[*AheadError](err)
		_, rewound := errors.AsType[*RewoundError](err)
		if !ahead && !rewound {
			t.Errorf("partition %d: got %v, want that the log was rewound", p, err)
		}
	}
}
