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

// Stats is what a worker has done since its start, and what it holds now.
// What is counted of events and calls is what this worker stored itself: over
// all workers of the same logs it adds up, but for the few whose
// acknowledgement was lost, which are among Adopted.
type Stats struct {
	Folded   uint64 // inputs, those folded again after a restart too
	Skipped  uint64 // inputs on subjects that are not theirs
	Rejected uint64 // inputs that became a rejected event
	Asked    uint64 // clock inputs
	Appended uint64 // events stored
	Adopted  uint64 // events found stored when ours was refused
	Refused  uint64 // appends the server refused for good
	Forged   uint64 // messages found at a chain's end that no worker wrote
	Diverged uint64 // events found stored that are not what their inputs give
	Started  uint64 // calls
	Closed   [len(Ends)]uint64
	Saves    uint64 // of sessions, acknowledged
	Resaves  uint64 // saves that found another worker's
	Restarts uint64 // of partitions, after an error
	Damaged  uint64 // checkpoints and snapshots found missing, unreadable or outdated
	Refolded uint64 // sessions whose inputs were folded again because of that
	Rewinds  uint64 // of the input log, recorded by this worker

	Sessions int // in memory
	Stuck    int // of these, such whose next event was refused
	Open     int // calls
	Queued   int // bytes of events that are not stored yet

	Carried []Carried // by partition
}

// Ends are the states a call is closed in, in the order of Stats.Closed.
var Ends = [...]events.Status{events.Completed, events.Error, events.Denied, events.Cancelled, events.TimedOut}

// Carried is how far a partition is that the worker carries.
type Carried struct {
	Partition int
	Mark      uint64        // every input below it is folded and saved
	Next      uint64        // every input below it is folded
	Behind    time.Duration // age of what is folded now; 0 where the log is read to its end
	Stopped   bool          // it cannot go on
}

// status is the state of a partition as other goroutines see it. One goroutine
// writes it, without waiting for readers. It outlives the partition's restarts.
type status struct {
	folded, skipped, rejected, asked    atomic.Uint64
	appended, adopted, refused, started atomic.Uint64
	forged, diverged                    atomic.Uint64
	saves, resaves, restarts            atomic.Uint64
	damaged, refolded, rewinds          atomic.Uint64
	closed                              [len(Ends)]atomic.Uint64

	carried                       atomic.Bool
	settled                       atomic.Bool // taken over, and the settings of its instance are in force
	sessions, stuck, open, queued atomic.Int64
	checkpoint, next              atomic.Uint64
	// since is the timestamp of the oldest input that is not folded, or when
	// reading stopped, in Unix milliseconds; 0 where the log is folded to its
	// end. beat is when the owner last updated the status.
	since, beat atomic.Int64

	stopped atomic.Pointer[problem] // why it cannot go on
	held    atomic.Pointer[problem] // why sessions of it are held
	failing atomic.Pointer[failing] // its failures in a row
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

// hold sets why sessions of the partition are held, nil if none is.
func (s *status) hold(err error) {
	if err == nil {
		s.held.Store(nil)
		return
	}
	s.held.Store(&problem{err})
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

// all returns the statuses in the order of their partitions.
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
func (m *status) begin(now time.Time) {
	m.carried.Store(true)
	m.since.CompareAndSwap(0, now.UnixMilli())
}

// retire notes that somebody else carries the partition.
func (m *status) retire() {
	m.carried.Store(false)
	m.settled.Store(false)
	for _, g := range []*atomic.Int64{&m.sessions, &m.stuck, &m.open, &m.queued, &m.since, &m.beat} {
		g.Store(0)
	}
}

// behind is how old what the partition folds now is: the time since the stamp
// of its last input where more is waiting, else since its owner came round.
func (m *status) behind(now time.Time) time.Duration {
	at := m.since.Load()
	if at == 0 {
		at = m.beat.Load()
	}
	if at == 0 {
		return 0
	}
	return max(0, now.Sub(time.UnixMilli(at)))
}

// stored counts an event that this worker stored.
func (m *status) stored(o *outgoing) {
	m.appended.Add(1)
	switch o.Type {
	case events.ToolCallStart:
		m.started.Add(1)
	case events.Rejected:
		m.rejected.Add(1)
	case events.ToolCallResult:
		if i := slices.Index(Ends[:], o.Status); i >= 0 {
			m.closed[i].Add(1)
		}
	}
}

// Stats returns what the worker has done and what it holds. It may be called from
// any goroutine and never waits.
func (w *Worker) Stats() Stats {
	var s Stats
	now := time.Now()
	for p, st := range w.statuses.all() {
		s.add(st)
		if st.carried.Load() {
			s.Carried = append(s.Carried, Carried{
				Partition: p, Mark: st.checkpoint.Load(), Next: st.next.Load(),
				Behind: st.behind(now), Stopped: st.stopped.Load() != nil,
			})
		}
	}
	return s
}

func (s *Stats) add(m *status) {
	s.Folded += m.folded.Load()
	s.Skipped += m.skipped.Load()
	s.Rejected += m.rejected.Load()
	s.Asked += m.asked.Load()
	s.Appended += m.appended.Load()
	s.Adopted += m.adopted.Load()
	s.Refused += m.refused.Load()
	s.Forged += m.forged.Load()
	s.Diverged += m.diverged.Load()
	s.Started += m.started.Load()
	s.Saves += m.saves.Load()
	s.Resaves += m.resaves.Load()
	s.Restarts += m.restarts.Load()
	s.Damaged += m.damaged.Load()
	s.Refolded += m.refolded.Load()
	s.Rewinds += m.rewinds.Load()
	for i := range m.closed {
		s.Closed[i] += m.closed[i].Load()
	}
	s.Sessions += int(m.sessions.Load())
	s.Stuck += int(m.stuck.Load())
	s.Open += int(m.open.Load())
	s.Queued += int(m.queued.Load())
}

// Warnings says what somebody should look at although all goes on.
func (w *Worker) Warnings() (list []string) {
	s := w.Stats()
	if s.Forged > 0 {
		list = append(list, fmt.Sprintf("%d times a forged message was stepped over in the event log: somebody else may publish on _toolcalls.>; `streamer verify` shows them", s.Forged))
	}
	if s.Diverged > 0 {
		list = append(list, fmt.Sprintf("%d stored events are not what their inputs give; `streamer verify` shows the first of each session", s.Diverged))
	}
	if s.Stuck > 0 {
		list = append(list, fmt.Sprintf("%d sessions stand still: NATS refuses their next event; the log says why", s.Stuck))
	}
	return list
}

// farBehind is the age of what a partition folds from which it is a problem.
const farBehind = time.Minute

// late returns which partition is furthest behind, or nil if none is far behind.
func (w *Worker) late(now time.Time) error {
	limit := max(farBehind, 3*w.Options.SaveEvery) // an owner updates its status with each snapshot
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
