package worker

import (
	"fmt"
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

// meters are what one partition counts. Its owner alone writes them, without
// waiting for those who read.
type meters struct {
	folded, skipped, rejected, asked    atomic.Uint64
	appended, adopted, refused, started atomic.Uint64
	forged, diverged                    atomic.Uint64
	saves, resaves, restarts            atomic.Uint64
	damaged, refolded, rewinds          atomic.Uint64
	closed                              [len(Ends)]atomic.Uint64

	carried                       atomic.Bool
	settled                       atomic.Bool // taken over, with the settings in force that its instance wants
	sessions, stuck, open, queued atomic.Int64
	mark, next                    atomic.Uint64
	// since is the stamp of the input read last, or when reading was held up,
	// in Unix milliseconds; 0 where the log is read to its end. beat is when
	// the owner last came round.
	since, beat atomic.Int64
}

// metersOf gives a partition's meters, which outlive its restarts.
func (w *Worker) metersOf(p int) *meters {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.meters == nil {
		w.meters = map[int]*meters{}
	}
	if w.meters[p] == nil {
		w.meters[p] = &meters{}
	}
	return w.meters[p]
}

// begin notes that the partition is taken over: until its log is read, it is
// behind.
func (m *meters) begin(now time.Time) {
	m.carried.Store(true)
	m.since.CompareAndSwap(0, now.UnixMilli())
}

// retire notes that somebody else carries the partition.
func (m *meters) retire() {
	m.carried.Store(false)
	m.settled.Store(false)
	for _, g := range []*atomic.Int64{&m.sessions, &m.stuck, &m.open, &m.queued, &m.since, &m.beat} {
		g.Store(0)
	}
}

// behind is how old what the partition folds now is: the time since the stamp
// of its last input where more is waiting, else since its owner came round.
func (m *meters) behind(now time.Time) time.Duration {
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
func (m *meters) stored(o *outgoing) {
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

// readUpTo notes how far the log is read.
func (q *partition) readUpTo() {
	q.m.next.Store(q.pos)
	at := int64(q.read)
	if q.caughtUp {
		at = 0
	}
	q.m.since.Store(at)
}

// measure reads off what is too dear to count with each input.
func (q *partition) measure(now time.Time) {
	open, stuck := 0, 0
	for _, n := range q.asleep {
		open += n
	}
	for _, l := range q.live {
		open += l.state.Life.Open()
		if l.stuck || l.futile >= futileTold {
			stuck++
		}
	}
	m := q.m
	m.sessions.Store(int64(len(q.live)))
	m.stuck.Store(int64(stuck))
	m.open.Store(int64(open))
	m.queued.Store(int64(q.queued))
	m.mark.Store(q.mark.Seq)
	m.next.Store(q.pos)
	m.beat.Store(now.UnixMilli())
	switch full := q.queued > q.opts.MaxQueued; {
	case full:
		m.since.CompareAndSwap(0, now.UnixMilli())
	case q.caughtUp:
		m.since.Store(0)
	}
}

// Stats tells what the worker has done and holds. It may be called from
// anywhere, and waits for nobody.
func (w *Worker) Stats() Stats {
	w.mu.Lock()
	defer w.mu.Unlock()
	var s Stats
	now := time.Now()
	for p, m := range w.meters {
		s.add(m)
		if m.carried.Load() {
			s.Carried = append(s.Carried, Carried{
				Partition: p, Mark: m.mark.Load(), Next: m.next.Load(),
				Behind: m.behind(now), Stopped: w.stopped[p] != nil,
			})
		}
	}
	slices.SortFunc(s.Carried, func(a, b Carried) int { return a.Partition - b.Partition })
	return s
}

func (s *Stats) add(m *meters) {
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

// farBehind is how old what a partition folds may be before Problem tells.
const farBehind = time.Minute

// late says which partition is far behind, or is nil. w.mu is held.
func (w *Worker) late(now time.Time) error {
	limit := max(farBehind, 3*w.Options.SaveEvery) // an owner comes round with each save
	worst, most := -1, limit
	for p, m := range w.meters {
		if d := m.behind(now); m.carried.Load() && d > most {
			worst, most = p, d
		}
	}
	if worst < 0 {
		return nil
	}
	return fmt.Errorf("partition %d is %s behind the input log", worst, most.Round(time.Second))
}
