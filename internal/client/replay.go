package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"streamer/internal/audit"
	"streamer/internal/events"
	"streamer/internal/inputs"

	"github.com/nats-io/nuid"
)

// perEvent is the time between two deltas of a recording without times at speed 1:
// models stream about 30 tokens a second.
const perEvent = 30 * time.Millisecond

// Replayer publishes recorded inputs to a session. The message ids of each
// Replayer are different: the same recording can be published again, but an
// input that is sent again after a lost acknowledgement is stored once.
type Replayer struct {
	Broker *Broker
	Token  string        // of the session
	Format string        // of the deltas; if "", it is recognised
	Speed  time.Duration // factor by which inputs are faster than recorded; 0 for no pauses

	tracking *Tracking // nil for none
	nonce    string
	count    int
	due      time.Time     // when the last input was to be published
	at       time.Duration // of the last recorded input with a time
}

// ReplayResult is the result of publishing a recorded stream.
type ReplayResult struct {
	Inputs     int               // that were published
	Rejected   int               // inputs that were rejected, at least in part
	Rejections events.Rejections // the reasons
	// Waited is how long no event came before the fold had read all inputs, 0 if it
	// has.
	Waited time.Duration
}

// Print writes to out how many inputs were published, and to errs which were
// rejected.
func (r *ReplayResult) Print(out, errs io.Writer, session string) {
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
func (r *Replayer) Run(ctx context.Context, in Source, limit time.Duration, errs io.Writer) (ReplayResult, error) {
	t, err := r.Broker.Track(ctx, r.Token)
	if err != nil {
		return ReplayResult{}, err
	}
	r.tracking = t
	showing, stop := context.WithCancel(context.WithoutCancel(ctx)) // what was published has an outcome
	defer stop()
	var line sync.WaitGroup
	line.Go(func() { NewProgressLine(errs).Follow(showing, func() audit.Progress { return t.progress(in.Lines) }) })
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
	rejected, why, complete := t.Outcome(showing, limit)
	stop()
	line.Wait()
	t.Close()
	if err == nil && !errors.Is(t.failed, context.Canceled) {
		err = fmt.Errorf("reading the events: %w", t.failed)
	}
	if complete {
		limit = 0
	}
	return ReplayResult{t.inputs, rejected, why, limit}, err
}

// storeTime bounds the wait for the acknowledgement of an input after an interrupt.
const storeTime = 2 * time.Second

func outlive(ctx context.Context, by time.Duration) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(by, cancel) })
	return longer, func() {
		stop()
		cancel()
	}
}

// Stream publishes a recorded stream as it arrives. A line of JSON, or an event of
// raw SSE text, is one delta; a line of a recorded session is the input that it
// states. Streams that are not text are published in the pieces that were read.
func (r *Replayer) Stream(ctx context.Context, in io.Reader) error {
	split := inputs.NewSplitter(in, inputs.MaxLine)
	for {
		p, err := split.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := r.piece(ctx, p, split.Binary()); err != nil {
			return fmt.Errorf("line %d: %w", p.Line, err)
		}
	}
}

func (r *Replayer) piece(ctx context.Context, p inputs.Piece, binary bool) error {
	if in, ok := ParseRecorded(p.Data); ok && !binary {
		return r.Recorded(ctx, in, p.Line)
	}
	if err := misrecorded(p.Data); err != nil {
		return err
	}
	return r.delta(ctx, p.Data, p.Line)
}

func (r *Replayer) delta(ctx context.Context, data []byte, line int) error {
	if r.Speed > 0 {
		if r.count > 0 {
			r.due = time.Now().Add(perEvent / r.Speed)
		}
		if err := Sleep(ctx, time.Until(r.due)); err != nil {
			return err
		}
	}
	return r.input(ctx, inputs.Delta, data, line)
}

// Recorded publishes an input of a recorded session, in line n, as long after the
// input before it as recorded.
func (r *Replayer) Recorded(ctx context.Context, in Recorded, n int) error {
	if r.Speed > 0 {
		if r.count == 0 {
			r.due = time.Now()
		} else {
			r.due = r.due.Add(max(in.At-r.at, 0) / r.Speed)
		}
		if err := Sleep(ctx, time.Until(r.due)); err != nil {
			return err
		}
	}
	r.at = in.At
	return r.input(ctx, in.Kind, in.Data, n)
}

func (r *Replayer) input(ctx context.Context, kind inputs.Kind, data []byte, line int) error {
	if r.nonce == "" {
		r.nonce = nuid.Next()
	}
	r.count++
	var header inputs.Header
	if r.Format != "" {
		header = inputs.Header{inputs.HeaderFormat: {r.Format}}
	}
	id := fmt.Sprintf("%s:%s:replay-%s-%d", r.Token, kind, r.nonce, r.count)
	a := r.Broker.PublishWait(ctx, r.Broker.InputPub(r.Token, kind, id, header, data))
	if a.Err != nil {
		return fmt.Errorf("input %d: %w", r.count, a.Err)
	}
	r.tracking.Stored(a.Seq, line)
	return nil
}

// end publishes that nothing continues an event that the last inputs cut, so that it
// is rejected before later inputs come.
func (r *Replayer) end(ctx context.Context) error {
	if r.count == 0 {
		return nil
	}
	id := fmt.Sprintf("%s:%s:replay-%s", r.Token, inputs.Clock, r.nonce)
	a := r.Broker.PublishWait(ctx, r.Broker.ClockPub(r.Token, id, []byte(`{"kind":"flush","cut":true}`)))
	if a.Err != nil {
		return fmt.Errorf("end of the stream: %w", a.Err)
	}
	r.tracking.end(a.Seq)
	return nil
}

// Sleep waits for d, or until ctx ends, and returns ctx's error then.
func Sleep(ctx context.Context, d time.Duration) error {
	wait := time.NewTimer(d)
	defer wait.Stop()
	select {
	case <-wait.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
