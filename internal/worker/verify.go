package worker

import (
	"context"
	"fmt"
	"hash/maphash"
	"slices"
	"time"

	"streamer/internal/broker"
	"streamer/internal/broker/eventlog"
	"streamer/internal/events"
	"streamer/internal/inputs"
)

// Logs is what a Verification reads.
type Logs interface {
	Partitions() int
	Partition(token string) int
	InputBounds(ctx context.Context) (first, last uint64, err error)
	AllInputs(ctx context.Context, from uint64, deliver func(batch []inputs.Input, next uint64) error) error
	EventBounds(ctx context.Context) (first, last uint64, err error)
	Entries(ctx context.Context, token string, after uint64, fn func(eventlog.Entry) error) error
	Blob(ctx context.Context, ref events.Ref) ([]byte, error)
	LoadCheckpoint(ctx context.Context, p int) (m broker.Checkpoint, rev uint64, err error)
	LoadSnapshot(ctx context.Context, p int, token string) (s broker.Snapshot, ok bool, err error)
	AllSnapshots(ctx context.Context, fn func(token string, s broker.Snapshot, wrong error) error) error
	SnapshotAge() time.Duration
}

// Report is what a Verification found.
type Report struct {
	Sessions int // compared
	Older    int // not compared: they began before the input log does
	Lost     int // not compared: inputs of them were lost when the input log was rewound
	Inputs   int
	Events   int
	Unknown  []string // tokens that were asked for, and stand in neither log
	// Differences are the first of each session where there is one.
	Differences []Difference
	// Unreadable are the sessions that have events and no snapshot that can be
	// read, though the checkpoint of their partition relies on one.
	Unreadable []Unreadable
}

// Faultless reports whether the logs and the snapshots are as they should be.
func (r *Report) Faultless() bool { return len(r.Differences) == 0 && len(r.Unreadable) == 0 }

// Difference is the first place where a session's events are not what its
// inputs give.
type Difference struct {
	Token string
	Place int    // counts the events of the session
	Want  string // "" where there is an event too many
	Got   string // "" where one is missing
}

func (d Difference) String() string {
	or := func(s string) string {
		if s == "" {
			return "(nothing)"
		}
		return s
	}
	return fmt.Sprintf("session %s, event %d:\n  the inputs give %s\n  the log has     %s", d.Token, d.Place, or(d.Want), or(d.Got))
}

// Unreadable is a session without a usable snapshot.
type Unreadable struct {
	Token string
	Why   string
}

func (u Unreadable) String() string { return fmt.Sprintf("session %s: snapshot: %s", u.Token, u.Why) }

// patience is how long a Verification waits for events that a live worker may
// still be storing.
const patience = 5 * time.Second

// Progress is how far a Verification is in one of its steps.
type Progress struct {
	What        string // is read: inputs, events or snapshots
	Done, Total uint64 // Total is 0 where it is not known
}

// Verification folds the input log again, apart from any snapshot, and compares
// the result with the event log: subjects, ids, bodies, links and blobs. It also
// reads every snapshot that a checkpoint relies on. The zero value needs Log.
type Verification struct {
	Log Logs
	// Progress, where set, is called now and then, from one goroutine at a time.
	Progress func(Progress)
}

// Verify runs a Verification without progress.
func Verify(ctx context.Context, log Logs, tokens ...string) (Report, error) {
	return Verification{Log: log}.Run(ctx, tokens...)
}

// Run verifies the sessions of the given tokens, or all. On a live log it
// compares what stood in the input log when it began.
func (v Verification) Run(ctx context.Context, tokens ...string) (Report, error) {
	first, last, err := v.Log.InputBounds(ctx)
	if err != nil {
		return Report{}, err
	}
	c := newComparison(v, first, last, tokens)
	if err := c.loadCheckpoints(ctx); err != nil { // for the rewinds
		return Report{}, err
	}
	if err := c.fold(ctx); err != nil {
		return Report{}, err
	}
	if err := c.loadCheckpoints(ctx); err != nil {
		return Report{}, err
	}
	wrong, err := c.settled(ctx)
	if err != nil {
		return Report{}, err
	}
	r := c.report(tokens)
	if r.Unreadable, err = c.unreadable(ctx); err != nil {
		return Report{}, err
	}
	r.Differences, err = c.differences(ctx, wrong)
	return r, err
}

// comparison is a Verification under way: what both logs have of each session,
// by partition.
type comparison struct {
	Verification
	seed        maphash.Seed
	only        map[string]bool // empty: all
	first       uint64          // input that is folded
	last        uint64          // of the input log
	checkpoints []uint64        // by partition: every input below it is covered by snapshots
	parts       []*part
	// rewinds of the input log that each partition recorded.
	rewinds []broker.Rewinds

	begin   uint64 // of the event log: what stood before it has expired
	read    uint64 // up to it the event log is read
	events  int
	spelled map[string]*spelling // of the sessions whose events are kept as text
}

// part is what a comparison has of one partition.
type part struct {
	fold     *folding
	sessions map[string]*compared
}

// compared is one session. The events of each log are known by a digest, since
// there can be many.
type compared struct {
	want, got digest
	folded    bool      // it has inputs
	older     bool      // it began before the input log does
	lost      bool      // it has events of inputs that a rewind lost
	prev      uint64    // sequence of its last message in the event log
	covered   events.ID // of its last event that the checkpoint relies on a snapshot for
	at        time.Time // when that was stored
}

// digest stands for a list of events.
type digest struct {
	n   int
	sum uint64
}

// add appends the event with the given hash.
func (d *digest) add(hash uint64) {
	d.n++
	d.sum = d.sum*0x9E3779B97F4A7C15 + hash // an odd factor: the order counts
}

func newComparison(v Verification, first, last uint64, tokens []string) *comparison {
	c := &comparison{Verification: v, seed: maphash.MakeSeed(), only: map[string]bool{}, first: first, last: last}
	for _, t := range tokens {
		c.only[t] = true
	}
	return c
}

func (c *comparison) takes(token string) bool { return len(c.only) == 0 || c.only[token] }

// session returns a session, and makes it where it is not known.
func (c *comparison) session(token string) *compared {
	sessions := c.parts[c.Log.Partition(token)].sessions
	s := sessions[token]
	if s == nil {
		s = &compared{}
		sessions[token] = s
	}
	return s
}

// each calls f with every session.
func (c *comparison) each(f func(token string, s *compared)) {
	for _, p := range c.parts {
		for token, s := range p.sessions {
			f(token, s)
		}
	}
}

func (c *comparison) progress(what string, done, total uint64) {
	if c.Progress != nil {
		c.Progress(Progress{what, done, total})
	}
}

// settled reads the event log and returns the sessions that differ, in order.
// Where one only lacks events it waits for them.
func (c *comparison) settled(ctx context.Context) (wrong []string, err error) {
	for deadline := time.Now().Add(patience); ; {
		if err := c.readEvents(ctx); err != nil {
			return nil, err
		}
		wrong, lag := c.compare()
		if !lag || time.Now().After(deadline) {
			return wrong, nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(patience / 20):
		}
	}
}

// compare returns the sessions that differ, in order, and whether some have
// fewer events than they should.
func (c *comparison) compare() (wrong []string, lag bool) {
	c.each(func(token string, s *compared) {
		if !s.older && !s.lost && s.want != s.got {
			wrong = append(wrong, token)
			lag = lag || s.got.n < s.want.n
		}
	})
	slices.Sort(wrong)
	return wrong, lag
}

func (c *comparison) report(tokens []string) Report {
	r := Report{Events: c.events}
	for _, p := range c.parts {
		r.Inputs += p.fold.inputs
	}
	known := map[string]bool{}
	c.each(func(token string, s *compared) {
		known[token] = s.folded || s.older || s.got.n > 0
		switch {
		case s.lost:
			r.Lost++
		case s.older:
			r.Older++
		default:
			r.Sessions++
		}
	})
	for _, t := range tokens {
		if !known[t] {
			r.Unknown = append(r.Unknown, t)
		}
	}
	return r
}
