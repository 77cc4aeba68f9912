package app

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"streamer/internal/audit"
	"streamer/internal/events"
)

// Replayed is what became of a recorded stream.
type Replayed struct {
	Inputs     int               // that were published
	Rejected   int               // inputs that were rejected, at least in part
	Rejections events.Rejections // the reasons
	// Waited is how long no event came before the fold had read all inputs, 0 if it
	// has.
	Waited time.Duration
}

// Print writes to out how many inputs were published, and to errs which were
// rejected.
func (r *Replayed) Print(out, errs io.Writer, session string) {
	what := "inputs"
	if r.Inputs == 1 {
		what = "input"
	}
	fmt.Fprintf(out, "%d %s published to session %s\n", r.Inputs, what, session)
	const head = "streamer replay: "
	if r.Waited > 0 {
		fmt.Fprintf(errs, head+"the inputs are stored, but not all were folded, and no event came for %s: is a streamer running on these logs? Whether the last inputs were rejected is not known\n", r.Waited)
	}
	if r.Rejected > 0 {
		fmt.Fprintf(errs, head+"%d of %d inputs rejected\n", r.Rejected, r.Inputs)
		PrintRejections(errs, &r.Rejections, head)
	}
}

// Run publishes a recorded stream, as Stream does, and waits until it is folded:
// until no event of the session has come for the time limit. It writes the progress
// to errs if that is a terminal. It returns what is known even if ctx ends.
func (r *Replayer) Run(ctx context.Context, in Source, limit time.Duration, errs io.Writer) (Replayed, error) {
	w, err := newWatch(ctx, r.Broker)
	if err != nil {
		return Replayed{}, err
	}
	r.watch = w
	watching, stop := context.WithCancel(context.WithoutCancel(ctx)) // what was published has an outcome
	defer stop()
	var wg sync.WaitGroup
	wg.Go(func() { w.failed = r.Broker.Tail(watching, r.Token, w.from, w.take) })
	wg.Go(func() { NewProgressLine(errs).Follow(watching, func() audit.Progress { return w.progress(in.Lines) }) })
	publishing := ctx
	if in.Live { // an interrupt ends the reading, and the input under way is still stored
		var cancel context.CancelFunc
		publishing, cancel = outlive(ctx, storeTime)
		defer cancel()
	}
	if err = r.Stream(publishing, in); err == nil {
		err = r.end(publishing)
	}
	if in.Live && ctx.Err() != nil && errors.Is(err, context.Canceled) {
		err = nil // the usual end of a live stream
	}
	waited := limit
	if w.await(watching, r.Broker, r.Token, limit) {
		waited = 0
	}
	stop()
	wg.Wait()
	if err == nil && !errors.Is(w.failed, context.Canceled) {
		err = fmt.Errorf("reading the events: %w", w.failed)
	}
	return Replayed{w.inputs, w.rejected, w.rejections, waited}, err
}

// storeTime bounds the wait for the acknowledgement of an input after an interrupt.
const storeTime = 2 * time.Second

// outlive returns a context that ends some time after ctx.
func outlive(ctx context.Context, by time.Duration) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		wait := time.NewTimer(by)
		defer wait.Stop()
		select {
		case <-wait.C:
			cancel()
		case <-longer.Done():
		}
	})
	return longer, func() {
		stop()
		cancel()
	}
}

// watch reads the events of a session while inputs are published to it.
type watch struct {
	from uint64 // sequence in the event log before the first input

	mu         sync.Mutex     // guards the fields below
	recent     []sent         // inputs that later events may name, oldest first
	early      []events.Event // rejected events of inputs that may be ours
	rejections events.Rejections
	replayStatus

	failed error // of the tail, once it has ended
}

// replayStatus is how far a replay has come.
type replayStatus struct {
	inputs, calls, rejected int
	line                    int       // of the last input
	lastInput               uint64    // sequence of the last input
	lastEvent               events.ID // that was read
}

// maxRecent is the number of inputs before the last event that later events may name.
// An input can be rejected after others, when it is known that they do not continue its
// text.
const maxRecent = 1000

// maxEarly bounds the number of rejected events that precede the acknowledgement of
// the input that may have caused them.
const maxEarly = 10_000

// sent is an input that was published.
type sent struct {
	seq      uint64
	line     int
	rejected bool
}

// newWatch returns a watch of the events after the end of the log.
func newWatch(ctx context.Context, b *Broker) (*watch, error) {
	_, from, err := b.EventBounds(ctx)
	if err != nil {
		return nil, err
	}
	return &watch{from: from}, nil
}

// sent records a published input.
func (w *watch) sent(seq uint64, line int) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.inputs++
	w.line = line
	w.lastInput = seq
	w.recent = append(w.recent, sent{seq: seq, line: line})
	early := w.early
	w.early = nil
	for i := range early {
		w.add(&early[i])
	}
}

// ended records the input that ends the stream, which has no line.
func (w *watch) ended(seq uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lastInput = seq
}

// take records an event of the session.
func (w *watch) take(s events.Record, _ bool) error {
	if s.Seq == 0 { // the end of the history
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lastEvent = s.ID
	if n, _ := w.find(s.ID.Seq); n > 2*maxRecent {
		w.recent = slices.Delete(w.recent, 0, n-maxRecent)
	}
	switch s.Type {
	case events.ToolCallStart:
		w.calls++
	case events.Rejected:
		var e events.Event
		if err := json.Unmarshal(s.Data, &e); err != nil {
			return fmt.Errorf("event %d: %w", s.Seq, err)
		}
		w.add(&e)
	}
	return nil
}

// add counts a rejected event that an input of the watch caused. An event can come
// before the acknowledgement of its input.
func (w *watch) add(e *events.Event) {
	if e.Input > w.lastInput {
		if len(w.early) < maxEarly {
			w.early = append(w.early, *e)
		}
		return
	}
	n, ours := w.find(e.Input)
	if !ours {
		return // another client published the input
	}
	in := &w.recent[n]
	if !in.rejected {
		in.rejected = true
		w.rejected++
	}
	w.rejections.Add(e.Reason, e.Offset.Bytes(), in.line)
}

// find returns the place of an input among the recent ones, and whether it is one.
func (w *watch) find(seq uint64) (int, bool) {
	return slices.BinarySearchFunc(w.recent, seq, func(a sent, seq uint64) int { return cmp.Compare(a.seq, seq) })
}

// betweenLooks is the time between two reads of a partition's checkpoint.
const betweenLooks = 200 * time.Millisecond

// await waits until the partition is folded past the last input and all events of the
// session are read. It returns false if no event comes for the time limit.
func (w *watch) await(ctx context.Context, b *Broker, token string, limit time.Duration) bool {
	tick := time.NewTicker(betweenLooks)
	defer tick.Stop()
	before := w.status()
	if before.lastInput == 0 {
		return true
	}
	for idle := time.Duration(0); idle < limit; idle += betweenLooks {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return false
		}
		now := w.status()
		if now.lastEvent != before.lastEvent {
			before, idle = now, 0
		}
		if now.lastEvent.Seq > now.lastInput {
			return true // of another input, which was folded later
		}
		looking, stop := context.WithTimeout(ctx, limit)
		complete := b.folded(looking, token, now, w.from)
		stop()
		if complete {
			return true
		}
	}
	return false
}

// folded reports whether the partition of a session is folded past the last input of a
// replay, which has read all events of the session after sequence from. A checkpoint
// covers only inputs whose events are stored. After an error a later look shows it.
func (b *Broker) folded(ctx context.Context, token string, s replayStatus, from uint64) bool {
	c, _, err := b.LoadCheckpoint(ctx, b.Partition(token))
	if err != nil || c.Seq <= s.lastInput {
		return false
	}
	_, head, err := b.Head(ctx, token)
	return err == nil && (head.Seq <= from || !head.ID.After(s.lastEvent))
}

// status returns how far the replay has come.
func (w *watch) status() replayStatus {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.replayStatus
}

// progress returns how far the replay of a file with that many lines has come; 0 if
// their number is not known.
func (w *watch) progress(lines uint64) audit.Progress {
	s := w.status()
	p := audit.Progress{What: "lines", Done: uint64(s.line), Total: lines, Note: fmt.Sprintf("calls: %d", s.calls)}
	if lines == 0 {
		p.What, p.Done = "inputs", uint64(s.inputs)
	}
	if s.rejected > 0 {
		p.Note += fmt.Sprintf(", rejected: %d", s.rejected)
	}
	return p
}
