// Package turns reads from the event log which runs and turns a session has.
package turns

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"streamer/internal/events"
)

// maxRuns is the maximum number of runs in a turn.
const maxRuns = 100

// Log is the event log. Its methods are those of the gateway's store.
type Log interface {
	Tail(ctx context.Context, token string, after uint64, fn func(e events.Record, live bool) error, flush func() error) error
	EventsOf(ctx context.Context, token string, typ events.Type, after uint64, fn func(events.Record) error) error
	LastOf(ctx context.Context, token string, typ events.Type) (events.Record, error)
}

// Turn is the last run of a session with the runs that it continues. A run continues
// the run before it if that ended with calls that waited for a person or a client, and
// one of them was answered. Clients show both as one message.
type Turn struct {
	From uint64 // the first run starts after this sequence
	Run  string // the last run, whose end is the end of the turn
	End  uint64 // its last event, 0 if a run or a call of it is open; List does not set it

	Start uint64 // of the last run; Last does not set it
}

// Last returns the last turn of a session. found is false if there is no run, or if all
// ended before input after: then From is where the next run starts.
func Last(ctx context.Context, log Log, token string, after uint64) (t Turn, found bool, err error) {
	start, err := log.LastOf(ctx, token, events.RunStarted)
	if err != nil || start.Seq == 0 {
		return t, false, err
	}
	ends, err := eventsOf(ctx, log, token, events.RunFinished)
	if err != nil {
		return t, false, err
	}
	if n := len(ends); n > 0 && ends[n-1].seq > start.Seq {
		if end := ends[n-1]; end.EventID.Seq < after {
			return Turn{From: end.seq}, false, nil
		}
		if t.End, err = over(ctx, log, token, &ends[n-1]); err != nil {
			return t, false, err
		}
		ends = ends[:n-1]
	}
	first, err := parse(start)
	if err != nil {
		return t, false, err
	}
	t.Run = first.Run
	t.From, err = begin(ctx, log, token, ends)
	return t, true, err
}

// begin returns the sequence after which a turn starts. ends are the ends of the runs
// before its last one.
func begin(ctx context.Context, log Log, token string, ends []event) (uint64, error) {
	for i := len(ends) - 1; i >= 0; i-- {
		more, err := continued(ctx, log, token, &ends[i])
		if err != nil || !more || len(ends)-i >= maxRuns {
			return ends[i].seq, err
		}
	}
	return 0, nil
}

// continued reports whether the run after an end continues the run: one of the calls
// that were open got a real result or was denied, or all wait for a person still.
func continued(ctx context.Context, log Log, token string, end *event) (bool, error) {
	if len(end.Pending) == 0 {
		return false, nil
	}
	answered, closed := false, false
	err := log.EventsOf(ctx, token, events.ToolCallResult, end.seq, func(r events.Record) error {
		if !slices.Contains(end.Pending, r.Call) {
			return nil
		}
		e, err := parse(r)
		answered, closed = answered || !e.Synthetic || e.Status == events.Denied, true
		return err
	})
	return answered || !closed && end.Status == events.Interrupted, err
}

// errRunStarted ends a tail at the start of a run.
var errRunStarted = errors.New("gateway: a run started")

// Next waits for the next start of a run after a sequence and returns its sequence.
func Next(ctx context.Context, log Log, token string, from uint64) (uint64, error) {
	err := log.Tail(ctx, token, from, func(r events.Record, _ bool) error {
		if r.Type != events.RunStarted {
			return nil
		}
		from = r.Seq
		return errRunStarted
	}, nil)
	if errors.Is(err, errRunStarted) {
		err = nil
	}
	return from, err
}

// Run is a run of a session.
type Run struct {
	ID             string
	Before         uint64        // sequence of the end of the run before it, 0 if it is the first
	Start          uint64        // of its start
	End            uint64        // of its end, 0 if it is open
	Status         events.Status // of its end
	Started, Ended events.Time   // Ended is Started if it is open
	Waits          bool          // one of its calls waits for a person; only the last run can
}

// Runs returns the runs of a session, in order.
func Runs(ctx context.Context, log Log, token string) ([]Run, error) {
	starts, err := eventsOf(ctx, log, token, events.RunStarted)
	if err != nil {
		return nil, err
	}
	ends, err := eventsOf(ctx, log, token, events.RunFinished)
	if err != nil {
		return nil, err
	}
	var runs []Run
	for _, e := range starts {
		runs = append(runs, Run{ID: e.Run, Start: e.seq, Started: e.Timestamp, Ended: e.Timestamp})
	}
	for _, end := range ends {
		i := slices.IndexFunc(runs, func(r Run) bool { return r.ID == end.Run && r.End == 0 && r.Start < end.seq })
		if i >= 0 {
			runs[i].End, runs[i].Status, runs[i].Ended = end.seq, end.Status, end.Timestamp
		}
	}
	for i := range runs[min(1, len(runs)):] {
		runs[i+1].Before = max(runs[i].Start, runs[i].End) // what was asked between them belongs to the later one
	}
	if n := len(runs); n > 0 && runs[n-1].Status == events.Interrupted {
		runs[n-1].Waits, err = waits(ctx, log, token, &ends[len(ends)-1])
	}
	return runs, err
}

// waits reports whether a call that a run left open waits for a person.
func waits(ctx context.Context, log Log, token string, end *event) (bool, error) {
	asked := map[string]uint64{} // sequences of the last questions
	for _, typ := range []events.Type{events.ToolCallAwaiting, events.ToolCallAnswered, events.ToolCallResult} {
		err := log.EventsOf(ctx, token, typ, 0, func(r events.Record) error {
			switch {
			case !slices.Contains(end.Pending, r.Call):
			case typ == events.ToolCallAwaiting:
				asked[r.Call] = r.Seq
			case r.Seq > asked[r.Call]:
				delete(asked, r.Call)
			}
			return nil
		})
		if err != nil {
			return false, err
		}
	}
	return len(asked) > 0, nil
}

type event struct {
	events.Event
	seq uint64
}

func eventsOf(ctx context.Context, log Log, token string, typ events.Type) (list []event, err error) {
	err = log.EventsOf(ctx, token, typ, 0, func(r events.Record) error {
		e, err := parse(r)
		list = append(list, e)
		return err
	})
	return list, err
}

func parse(r events.Record) (event, error) {
	e := event{seq: r.Seq}
	if err := json.Unmarshal(r.Data, &e.Event); err != nil {
		return e, fmt.Errorf("event %d: %w", r.Seq, err)
	}
	return e, nil
}
