// Package audit checks the logs against the fold, and closes what lost inputs left
// open.
package audit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"slices"
	"time"

	"streamer/internal/broker"
	"streamer/internal/broker/eventlog"
	"streamer/internal/events"
	"streamer/internal/inputs"
	"streamer/internal/rewind"
)

// Log is the part of the broker that this package uses.
type Log interface {
	rewind.RepairLog
	Partitions() int
	Partition(token string) int
	AllInputs(ctx context.Context, from uint64, deliver func(batch []inputs.Input, next uint64) error) error
	EventBounds(ctx context.Context) (first, last uint64, err error)
	Entries(ctx context.Context, token string, after uint64, fn func(eventlog.Entry) error) error
	Events(ctx context.Context, token string, after uint64, fn func(events.Record) error) error
	Head(ctx context.Context, token string) (seq uint64, last events.Record, err error)
	SessionInputs(ctx context.Context, token string, from uint64, fn func(*inputs.Input) error) error
	RecentEvents(ctx context.Context, t time.Time) (map[int]eventlog.Recent, error)
	Blob(ctx context.Context, ref events.Ref) ([]byte, error)
	LoadCheckpoint(ctx context.Context, p int) (m broker.Checkpoint, rev uint64, err error)
	WriteCheckpoint(ctx context.Context, p int, m broker.Checkpoint, rev uint64) (newRev uint64, err error)
	LoadSnapshot(ctx context.Context, p int, token string) (s broker.Snapshot, ok bool, err error)
	AllSnapshots(ctx context.Context, fn func(token string, s broker.Snapshot, wrong error) error) error
	ListSnapshots(ctx context.Context, p int, fn func(token string, rev uint64, header map[string]string, at time.Time) error) (complete bool, err error)
	SnapshotAge() time.Duration
	EventPub(token string, e *events.Event, body []byte, trace map[string]string, prev uint64) *broker.Pub
	SnapshotPub(p int, token string, rev uint64, header map[string]string, data []byte) (pub *broker.Pub, blobs []*broker.Pub)
	PublishWait(ctx context.Context, p *broker.Pub) broker.Ack
}

// Report is the result of a Verification.
type Report struct {
	Sessions int // that were compared
	Older    int // sessions not compared: they began before the first input of the log
	Inputs   int
	Events   int
	Unknown  []string // requested tokens that are in neither log
	// Lost are the tokens of sessions that were not compared: the input log lost inputs of them.
	Lost []string
	// Differences has the first difference of each session that differs.
	Differences []Difference
	// Unreadable are the sessions that have events and no snapshot that can be
	// read, though the checkpoint of their partition relies on one.
	Unreadable []Unreadable
	// Half are the tokens of sessions of which something from before their erasure is stored.
	// A running streamer completes the erasure.
	Half []string
}

// Faultless reports whether no session differs and no snapshot is unreadable.
func (r *Report) Faultless() bool { return len(r.Differences) == 0 && len(r.Unreadable) == 0 }

// Difference is the first event of a session that differs between the fold of its
// inputs and the event log.
type Difference struct {
	Token string
	Place int    // of the event in the session, from 0
	Want  string // the event of the fold; "" where the log has one event too many
	Got   string // the event of the log; "" where it is missing
}

// String returns the difference as text of three lines.
func (d Difference) String() string {
	return fmt.Sprintf("session %s, event %d:\n  expected    %s\n  the log has %s", d.Token, d.Place, cmp.Or(d.Want, "(nothing)"), cmp.Or(d.Got, "(nothing)"))
}

// Unreadable is a session without a usable snapshot.
type Unreadable struct {
	Token string
	Why   string
}

// String returns the session and the reason in one line.
func (u Unreadable) String() string { return fmt.Sprintf("session %s: snapshot: %s", u.Token, u.Why) }

// lagTime is how long a Verification waits for events that a worker may append.
const lagTime = 5 * time.Second

// Progress is the progress of one step of a long operation.
type Progress struct {
	What        string // is counted, such as inputs or events
	Done, Total uint64 // Total is 0 where it is unknown
	Note        string // other counts; may be empty
}

// Verification folds the input log again, without any snapshot, and compares the
// result with the event log: subjects, ids, bodies, links and blobs. It also
// reads every snapshot that a checkpoint relies on. Log is required.
type Verification struct {
	Log Log
	// Progress, if not nil, is called repeatedly in each step, from one goroutine
	// at a time.
	Progress func(Progress)
}

// Run verifies the sessions of the given tokens, or all. It compares the inputs
// that were in the log when it began: workers may be running. It returns the first
// error of reading the logs; a difference is no error.
func (v Verification) Run(ctx context.Context, tokens ...string) (Report, error) {
	_, stored, err := v.Log.EventBounds(ctx)
	if err != nil {
		return Report{}, err
	}
	first, last, err := v.Log.InputBounds(ctx)
	if err != nil {
		return Report{}, err
	}
	c := newComparison(v, first, last, tokens)
	c.stored = stored
	if err := c.fold(ctx); err != nil {
		return Report{}, err
	}
	if err := c.loadCheckpoints(ctx); err != nil {
		return Report{}, err
	}
	wrong, err := c.settled(ctx)
	if err == nil {
		wrong, err = c.unexplained(ctx, wrong)
	}
	if err != nil {
		return Report{}, err
	}
	r := c.report(tokens)
	if r.Unreadable, err = c.unreadable(ctx); err != nil {
		return Report{}, err
	}
	if r.Half, err = c.half(ctx); err != nil {
		return Report{}, err
	}
	r.Differences, err = c.differences(ctx, wrong)
	return r, err
}

// comparison is a running Verification: the content of both logs by partition and
// session.
type comparison struct {
	Verification
	seed        maphash.Seed
	only        map[string]bool // requested tokens; empty for all
	first       uint64          // sequence of the first input that is folded
	last        uint64          // sequence of the last input that is folded
	stored      uint64          // sequence of an event: up to it, the input log had the inputs of all
	checkpoints []uint64        // by partition: snapshots cover every input below it
	parts       []*part
	seen        uint64          // the last input that was read
	lost        map[uint64]bool // sequences whose inputs the log lost: probes took their place, or inputs that were moved

	begin   uint64 // sequence of the first event in the log; earlier ones have expired
	read    uint64 // sequence of the last event that was read
	events  int
	spelled map[string]*spelling // the sessions whose events are kept as text, by token
}

type part struct {
	fold     *folding
	sessions map[string]*sessionDigest
}

// sessionDigest is one session. It keeps a digest of the events of each log, because
// there can be many.
type sessionDigest struct {
	want, got digest
	folded    bool      // it has inputs
	older     bool      // it began before the first input of the log
	lost      bool      // it has events of inputs that the log lost
	erased    events.ID // of its last erasure: earlier events are not compared
	half      bool      // something was stored from before that
	prev      uint64    // sequence of its last message in the event log
	covered   events.ID // id of its last event that a snapshot must cover, by the checkpoint
	at        time.Time // when that event was stored
}

type digest struct {
	n   int
	sum uint64
}

func (d *digest) add(hash uint64) {
	d.n++
	d.sum = d.sum*0x9E3779B97F4A7C15 + hash // the factor makes the sum depend on the order
}

func newComparison(v Verification, first, last uint64, tokens []string) *comparison {
	c := &comparison{Verification: v, seed: maphash.MakeSeed(), only: map[string]bool{}, first: first, last: last}
	for _, t := range tokens {
		c.only[t] = true
	}
	return c
}

func (c *comparison) includes(token string) bool { return len(c.only) == 0 || c.only[token] }

func (c *comparison) session(token string) *sessionDigest {
	sessions := c.parts[c.Log.Partition(token)].sessions
	s := sessions[token]
	if s == nil {
		s = &sessionDigest{}
		sessions[token] = s
	}
	return s
}

// each calls f with every session, in no order.
func (c *comparison) each(f func(token string, s *sessionDigest)) {
	for _, p := range c.parts {
		for token, s := range p.sessions {
			f(token, s)
		}
	}
}

func (c *comparison) progress(what string, done, total uint64) {
	if c.Progress != nil {
		c.Progress(Progress{What: what, Done: done, Total: total})
	}
}

// settled reads the event log and returns the sessions that differ, in order. If a
// session has too few events, it waits up to lagTime for more.
func (c *comparison) settled(ctx context.Context) (wrong []string, err error) {
	for deadline := time.Now().Add(lagTime); ; {
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
		case <-time.After(lagTime / 20):
		}
	}
}

// compare returns the sessions that differ, in order. lag reports whether one of
// them has too few events.
func (c *comparison) compare() (wrong []string, lag bool) {
	c.each(func(token string, s *sessionDigest) {
		if !s.older && !s.lost && s.want != s.got {
			wrong = append(wrong, token)
			lag = lag || s.got.n < s.want.n
		}
	})
	slices.Sort(wrong)
	return wrong, lag
}

// unexplained returns those of the sessions that differ for another reason than an erasure
// that began meanwhile, or a lost input: an event is older than the input of another session
// in the place of its own.
func (c *comparison) unexplained(ctx context.Context, wrong []string) (kept []string, err error) {
	for _, token := range wrong {
		s, last, erased := c.session(token), uint64(0), false
		err := c.Log.Entries(ctx, token, 0, func(e eventlog.Entry) error {
			seq := e.ID.Seq
			erased = erased || e.Type == events.SessionErased && seq > c.last && e.Forged == ""
			if s.lost || seq == last || seq < c.first || seq > c.last || e.Forged != "" {
				return nil
			}
			last = seq
			in, ok, err := c.Log.Input(ctx, seq)
			s.lost = ok && in.Token != token && in.At.After(e.At)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("audit: reading the event log: %w", err)
		}
		if !s.lost && !erased {
			kept = append(kept, token)
		}
	}
	return kept, nil
}

// half returns the sessions of which something from before their erasure is still stored, in
// order: it may have been deleted since it was read.
func (c *comparison) half(ctx context.Context) (list []string, err error) {
	c.each(func(token string, s *sessionDigest) {
		if s.half {
			list = append(list, token)
		}
	})
	slices.Sort(list)
	gone := func(token string) bool {
		s, before := c.session(token), false
		failed := c.Log.Events(ctx, token, 0, func(e events.Record) error {
			before = s.erased.After(e.ID)
			return broker.ErrStop
		})
		if !before && (failed == nil || errors.Is(failed, broker.ErrStop)) {
			failed = c.Log.SessionInputs(ctx, token, 0, func(in *inputs.Input) error {
				before = in.Seq < s.erased.Seq
				return broker.ErrStop
			})
		}
		if failed != nil && !errors.Is(failed, broker.ErrStop) {
			err = failed
		}
		return !before
	}
	return slices.DeleteFunc(list, gone), err
}

func (c *comparison) report(tokens []string) Report {
	r := Report{Events: c.events}
	for _, p := range c.parts {
		r.Inputs += p.fold.inputs
	}
	known := map[string]bool{}
	c.each(func(token string, s *sessionDigest) {
		known[token] = s.folded || s.older || s.got.n > 0
		switch {
		case s.lost:
			r.Lost = append(r.Lost, token)
		case s.older:
			r.Older++
		default:
			r.Sessions++
		}
	})
	slices.Sort(r.Lost)
	for _, t := range tokens {
		if !known[t] {
			r.Unknown = append(r.Unknown, t)
		}
	}
	return r
}

// namedAtMost is the maximum number of sessions of a kind that Print names.
const namedAtMost = 20

// Print writes the report as text.
func (r *Report) Print(w io.Writer) {
	for _, d := range r.Differences {
		fmt.Fprintln(w, d)
	}
	for _, u := range r.Unreadable[:min(namedAtMost, len(r.Unreadable))] {
		fmt.Fprintln(w, u)
	}
	if n := len(r.Unreadable); n > namedAtMost {
		fmt.Fprintf(w, "... and %d more sessions whose snapshots cannot be read\n", n-namedAtMost)
	}
	for _, token := range r.Half[:min(namedAtMost, len(r.Half))] {
		fmt.Fprintf(w, "session %s: half erased; a running streamer completes that within minutes, or erase it again\n", token)
	}
	for _, token := range r.Lost[:min(namedAtMost, len(r.Lost))] {
		fmt.Fprintf(w, "session %s: the input log lost inputs of its events\n", token)
	}
	fmt.Fprintf(w, "%d inputs folded again: %d sessions with %d events compared, %d differ", r.Inputs, r.Sessions, r.Events, len(r.Differences))
	if n := len(r.Unreadable); n > 0 {
		fmt.Fprintf(w, "; %d sessions have events and no snapshot that can be read", n)
	}
	if n := len(r.Half); n > 0 {
		fmt.Fprintf(w, "; %d sessions are half erased", n)
	}
	if r.Older > 0 {
		fmt.Fprintf(w, "; %d sessions began before the input log does and were not compared", r.Older)
	}
	if n := len(r.Lost); n > 0 {
		fmt.Fprintf(w, "; %d sessions have events of inputs that the input log lost and were not compared", n)
	}
	fmt.Fprintln(w)
	for _, token := range r.Unknown {
		fmt.Fprintf(w, "neither log has session %s\n", token)
	}
}
