package worker

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"streamer/internal/events"
)

// Stats is what a worker has done since its start, and what it holds now. Events
// and calls count in the worker that stored them. The sum over all workers of the
// same logs is right except for the few events whose acknowledgement was lost;
// these count as Adopted.
type Stats struct {
	Folded    uint64 // inputs; those folded again after a restart count again
	Skipped   uint64 // inputs on subjects that are not theirs
	Rejected  uint64 // inputs that became a rejected event
	Asked     uint64 // clock inputs
	Appended  uint64 // events stored
	Adopted   uint64 // events found stored when the worker's own was refused
	Refused   uint64 // appends that the server refused for good
	Forged    uint64 // messages at the end of an event log that no worker wrote
	Diverged  uint64 // events found stored that differ from those that their inputs give
	Started   uint64 // calls
	Closed    [len(Ends)]uint64
	Snapshots uint64 // acknowledged
	// SnapshotConflicts are snapshots that were refused because another was stored.
	SnapshotConflicts uint64
	Restarts          uint64 // of partitions, after an error
	Damaged           uint64 // checkpoints and snapshots found missing, unreadable or outdated
	Refolded          uint64 // sessions whose inputs were folded again because of that
	Rewinds           uint64 // of the input log, found by this worker

	Sessions int   // resident
	Stuck    int   // of these, those whose next event was refused
	Held     int   // sessions whose snapshot was lost and whose open calls only an operator can close
	Open     int   // calls
	Queued   int   // bytes of events that are not stored yet
	Memory   int64 // bytes of the sessions in memory, which Options.MaxMemory bounds

	Carried []Carried // by partition
}

// Ends are the statuses of closed calls, in the order of Stats.Closed.
var Ends = [...]events.Status{events.Completed, events.Error, events.Denied, events.Cancelled, events.TimedOut}

// Carried is the progress of a partition that the worker carries.
type Carried struct {
	Partition  int
	Checkpoint uint64        // every input below it is in a snapshot
	Next       uint64        // every input below it is folded
	CaughtUp   bool          // every input is folded
	Behind     time.Duration // age of the oldest input that is not folded, or of this report where all are
	Stopped    bool          // it cannot go on
}

// status is the state of a partition as other goroutines see it. One goroutine
// writes it, without waiting for readers. It outlives the partition's restarts.
type status struct {
	folded, skipped, rejected, asked       atomic.Uint64
	appended, adopted, refused, started    atomic.Uint64
	forged, diverged                       atomic.Uint64
	snapshots, snapshotConflicts, restarts atomic.Uint64
	damaged, refolded                      atomic.Uint64
	closed                                 [len(Ends)]atomic.Uint64

	carried                       atomic.Bool
	settled                       atomic.Bool // taken over, and the settings of its instance are in force
	sessions, stuck, open, queued atomic.Int64
	checkpoint, next, stored      atomic.Uint64
	// taken is when the partition was taken over, in Unix milliseconds; 0 if it is not carried.
	taken atomic.Int64
	// since is the timestamp of the oldest input that is not folded, or when
	// reading stopped, in Unix milliseconds; 0 where the log is folded to its
	// end. beat is when the owner last updated the status.
	since, beat atomic.Int64

	stopped atomic.Pointer[problem]    // why it cannot go on
	held    atomic.Pointer[heldReason] // nil if no session of it is held
	failing atomic.Pointer[failureRun] // its failures in a row
	losses  losses
}

// problem is the reason of a status.
type problem struct{ err error }

// stop sets why the partition stopped, nil if it runs, and reports whether it
// ran before, or had stopped before.
func (s *status) stop(err error) (changed bool) {
	if err == nil {
		return s.stopped.Load() != nil && s.stopped.Swap(nil) != nil
	}
	return s.stopped.Swap(&problem{err}) == nil
}

// heldReason states how many sessions of a partition are held, and why one of them is.
type heldReason struct {
	sessions int
	text     string
}

// statuses are the statuses of partitions. The map is replaced, never changed,
// so that it can be read at any time. The zero value is empty.
type statuses struct {
	current atomic.Pointer[map[int]*status]
}

// of returns the status of a partition and adds it where it is missing.
func (s *statuses) of(p int) *status {
	for {
		old := s.current.Load()
		next := map[int]*status{}
		if old != nil {
			if st := (*old)[p]; st != nil {
				return st
			}
			maps.Copy(next, *old)
		}
		next[p] = new(status)
		if s.current.CompareAndSwap(old, &next) {
			return next[p]
		}
	}
}

func (s *statuses) all() iter.Seq2[int, *status] {
	return func(yield func(int, *status) bool) {
		current := s.current.Load()
		if current == nil {
			return
		}
		for _, p := range slices.Sorted(maps.Keys(*current)) {
			if !yield(p, (*current)[p]) {
				return
			}
		}
	}
}

// begin notes that the partition is taken over: until its log is read, it is
// behind.
func (s *status) begin(now time.Time) {
	s.carried.Store(true)
	s.taken.CompareAndSwap(0, now.UnixMilli())
	s.since.CompareAndSwap(0, now.UnixMilli())
}

// retire notes that the worker no longer carries the partition.
func (s *status) retire() {
	s.carried.Store(false)
	s.settled.Store(false)
	s.held.Store(nil)
	s.stored.Store(0)
	for _, g := range []*atomic.Int64{&s.sessions, &s.stuck, &s.open, &s.queued, &s.since, &s.beat, &s.taken} {
		g.Store(0)
	}
}

// behind returns the time since the timestamp of the oldest input that is not
// folded. Where all are, it returns the time since the owner updated the status.
func (s *status) behind(now time.Time) time.Duration {
	at := s.since.Load()
	if at == 0 {
		at = s.beat.Load()
	}
	if at == 0 {
		return 0
	}
	return max(0, now.Sub(time.UnixMilli(at)))
}

func (s *status) count(o *outgoing) {
	s.appended.Add(1)
	switch o.Type {
	case events.ToolCallStart:
		s.started.Add(1)
	case events.Rejected:
		s.rejected.Add(1)
	case events.ToolCallResult:
		if i := slices.Index(Ends[:], o.Status); i >= 0 {
			s.closed[i].Add(1)
		}
	}
}

// Stats returns what the worker has done and what it holds. It may be called from
// any goroutine and never waits.
func (w *Worker) Stats() Stats {
	s := Stats{Memory: w.memory.Load()}
	now := time.Now()
	for p, st := range w.statuses.all() {
		s.add(st)
		if st.carried.Load() {
			s.Carried = append(s.Carried, Carried{
				Partition: p, Checkpoint: st.checkpoint.Load(), Next: st.next.Load(), CaughtUp: st.since.Load() == 0,
				Behind: st.behind(now), Stopped: st.stopped.Load() != nil,
			})
		}
	}
	return s
}

func (s *Stats) add(p *status) {
	s.Folded += p.folded.Load()
	s.Skipped += p.skipped.Load()
	s.Rejected += p.rejected.Load()
	s.Asked += p.asked.Load()
	s.Appended += p.appended.Load()
	s.Adopted += p.adopted.Load()
	s.Refused += p.refused.Load()
	s.Forged += p.forged.Load()
	s.Diverged += p.diverged.Load()
	s.Started += p.started.Load()
	s.Snapshots += p.snapshots.Load()
	s.SnapshotConflicts += p.snapshotConflicts.Load()
	s.Restarts += p.restarts.Load()
	s.Damaged += p.damaged.Load()
	s.Refolded += p.refolded.Load()
	s.Rewinds += p.losses.count.Load()
	for i := range p.closed {
		s.Closed[i] += p.closed[i].Load()
	}
	s.Sessions += int(p.sessions.Load())
	s.Stuck += int(p.stuck.Load())
	if h := p.held.Load(); h != nil {
		s.Held += h.sessions
	}
	s.Open += int(p.open.Load())
	s.Queued += int(p.queued.Load())
}

// Warnings returns what an operator should look at although all partitions run.
func (w *Worker) Warnings() (list []string) {
	s := w.Stats()
	if s.Forged > 0 {
		list = append(list, fmt.Sprintf("%d times a forged message was skipped in the event log: another client may publish on _toolcalls.>; `streamer verify` shows them", s.Forged))
	}
	if s.Diverged > 0 {
		list = append(list, fmt.Sprintf("%d stored events differ from what their inputs give; `streamer verify` shows the first of each session", s.Diverged))
	}
	if s.Stuck > 0 {
		list = append(list, fmt.Sprintf("%d sessions are stopped: NATS refuses their next event; the log has the reasons", s.Stuck))
	}
	for _, st := range w.statuses.all() {
		if h := st.held.Load(); h != nil {
			list = append(list, h.text)
		}
	}
	return list
}

// farBehind is the age of what a partition folds from which it is a problem.
const farBehind = time.Minute

// Overload returns how far a partition is behind, if it will be far behind soon, and a minute
// has not sufficed to work its backlog off. Otherwise it returns 0.
func (w *Worker) Overload(partition int) time.Duration {
	return w.statuses.of(partition).overload(time.Now())
}

func (s *status) overload(now time.Time) time.Duration {
	d := s.behind(now)
	if s.since.Load() == 0 || d <= farBehind/2 || now.Sub(time.UnixMilli(s.taken.Load())) <= farBehind {
		return 0
	}
	return d
}

// StoredTo returns the sequence before which each input of a partition is folded and its
// events are stored, as of at most SnapshotEvery ago; 0 if the worker does not carry the partition.
func (w *Worker) StoredTo(partition int) uint64 { return w.statuses.of(partition).stored.Load() }

// late returns which partition is furthest behind, or nil if none is far behind.
func (w *Worker) late(now time.Time) error {
	limit := max(farBehind, 3*w.Options.SnapshotEvery) // an owner updates its status with each snapshot
	worst, most := -1, limit
	for p, st := range w.statuses.all() {
		if d := st.behind(now); st.carried.Load() && d > most {
			worst, most = p, d
		}
	}
	if worst < 0 {
		return nil
	}
	return fmt.Errorf("partition %d is %s behind the input log", worst, most.Round(time.Second))
}
