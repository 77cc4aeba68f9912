package chaos

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"streamer/internal/app"
	"streamer/internal/broker"
	"streamer/internal/events"
	"streamer/internal/inputs"
	"streamer/internal/worker"
)

// patience is how long all may take to become quiet after everything is
// healed.
const patience = 2 * time.Minute

// settled waits until every call is closed, every run over and every input read,
// where op closes the sessions that are held, and then until the event log is the
// fold of the inputs.
func settled(t *testing.T, f *fate, b *app.Broker, op *operator) worker.Report {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for _, wrong := range []func(context.Context, *app.Broker) ([]string, error){open, unread} {
		waitFor(t, ctx, b, func() ([]string, error) {
			list, err := wrong(ctx, b)
			if len(list) > 0 {
				op.attend(ctx)
			}
			return list, err
		})
	}
	return compared(ctx, t, f, b, op)
}

// compared waits until the event log is the fold of the inputs, but for the
// sessions that lost inputs or were closed by op. Where snapshots were not
// damaged they have to be usable.
func compared(ctx context.Context, t *testing.T, f *fate, b *app.Broker, op *operator) (r worker.Report) {
	t.Helper()
	logs := &honest{Broker: b, forged: f.forged}
	waitFor(t, ctx, b, func() (list []string, err error) {
		r, err = worker.Verify(ctx, logs)
		for _, d := range r.Differences {
			if !op.closed[d.Token] {
				list = append(list, d.String())
			}
		}
		for _, u := range r.Unreadable {
			if !f.damaged && !f.forged && len(f.lost) == 0 {
				list = append(list, u.String())
			}
		}
		return list, err
	})
	if n := logs.blobs.Load(); n > 0 {
		t.Logf("large values that acknowledgements replaced were read %d times", n)
	}
	return r
}

// heard waits until every reader and browser has heard its session, each event
// once.
func heard(t *testing.T, c *crowd) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	waitFor(t, ctx, c.b, func() ([]string, error) { return c.readers.behind(ctx) })
	waitFor(t, ctx, c.b, func() ([]string, error) { return c.browsers.behind(ctx) })
	sessions, resumed := c.browsers.end()
	t.Logf("%d sessions were read live, and %d by browsers with %d resumptions, without a gap", c.readers.end(), sessions, resumed)
}

func waitFor(t *testing.T, ctx context.Context, b *app.Broker, wrong func() ([]string, error)) {
	t.Helper()
	var last []string
	for {
		list, err := wrong()
		switch {
		case err == nil && len(list) == 0:
			return
		case err == nil:
			last = list
		}
		select {
		case <-ctx.Done():
			if len(last) > 0 {
				tell(t, b, last[0])
			}
			t.Fatalf("%d things are wrong after %v (%v):\n%s", len(last), patience, err, strings.Join(last[:min(5, len(last))], "\n"))
		case <-time.After(200 * time.Millisecond): // between looks
		}
	}
}

// tell logs the inputs and events of the session a text begins with.
func tell(t *testing.T, b *app.Broker, text string) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	token, _, _ := strings.Cut(strings.TrimPrefix(text, "session "), " ")
	token = strings.TrimSuffix(token, ",")
	err := b.Inputs(ctx, b.Partition(token), 1, func(batch []broker.Input, _ uint64, caughtUp bool) error {
		for _, in := range batch {
			if in.Token == token || in.Kind == inputs.Rules {
				t.Logf("input %d %s %s %.300s", in.Seq, in.At.Format(time.StampMilli), in.Kind, in.Data)
			}
		}
		if caughtUp {
			return errEnd
		}
		return nil
	})
	if !errors.Is(err, errEnd) {
		t.Log(err)
	}
	err = b.Events(ctx, token, 0, func(s broker.Stored) error {
		t.Logf("event %d %s behind %d: %.300s", s.Seq, s.ID, s.Prev, s.Data)
		return nil
	})
	if err != nil {
		t.Log(err)
	}
}

// open lists the calls and runs that have no end.
func open(ctx context.Context, b *app.Broker) (list []string, err error) {
	things := map[string]bool{}
	err = eachEvent(ctx, b, func(s broker.Stored, e *events.Event) {
		call, run := s.Token+" call "+e.Call, s.Token+" run "+e.Run
		switch e.Type {
		case events.ToolCallStart:
			things[call] = true
		case events.ToolCallResult:
			delete(things, call)
		case events.RunStarted:
			things[run] = true
		case events.RunFinished:
			delete(things, run)
		}
	})
	for k := range things {
		list = append(list, k+" is open")
	}
	return list, err
}

// eachEvent reads the event log; e is empty for a synthetic message and for an
// acknowledgement.
func eachEvent(ctx context.Context, b *app.Broker, fn func(s broker.Stored, e *events.Event)) error {
	return b.Events(ctx, "", 0, func(s broker.Stored) error {
		e := new(events.Event)
		if s.Type != events.Synthetic && !isAck(s.Data) {
			if err := json.Unmarshal(s.Data, e); err != nil {
				return fmt.Errorf("%s: %w", s.Data, err)
			}
		}
		fn(s, e)
		return nil
	})
}

// unread lists the partitions whose mark is not past the last input.
func unread(ctx context.Context, b *app.Broker) (list []string, err error) {
	_, last, err := b.InputBounds(ctx)
	for p := range b.Partitions() {
		m, _, err := b.LoadMark(ctx, p)
		if err != nil {
			return nil, err
		}
		if m.Seq <= last {
			list = append(list, fmt.Sprintf("the mark of partition %d is at %d of %d", p, m.Seq, last))
		}
	}
	return list, err
}

// tally is what the logs hold.
type tally struct {
	events, sessions           int
	calls, timeouts, cancelled int
	forged                     int // acknowledgements
	repeated                   int // events whose id does not follow the one before
	wrong                      []string
}

// count checks the event log without the fold: ids rise along the log of each
// session, and each link names the event before it, or an acknowledgement between both; a call
// is opened once and closed once.
func count(t *testing.T, b *app.Broker) tally {
	t.Helper()
	var n tally
	type chain struct {
		seq, event uint64 // of the last message, and of the last event
		id         events.ID
	}
	chains := map[string]chain{}
	started, closed := map[string]int{}, map[string]int{}
	note := func(format string, args ...any) { n.wrong = append(n.wrong, fmt.Sprintf(format, args...)) }
	err := eachEvent(t.Context(), b, func(s broker.Stored, e *events.Event) {
		last := chains[s.Token]
		if isAck(s.Data) {
			n.forged++
			chains[s.Token] = chain{s.Seq, last.event, last.id}
			return
		}
		// The server does not see an acknowledgement that is being replicated when
		// it checks a condition.
		if s.Prev != last.seq && s.Prev != last.event {
			note("event %d of session %s stands behind %d and says %d", s.Seq, s.Token, last.seq, s.Prev)
		}
		n.events++
		if !s.ID.After(last.id) {
			n.repeated++
			note("event %d of session %s has id %s behind %s", s.Seq, s.Token, s.ID, last.id)
		}
		chains[s.Token] = chain{s.Seq, s.Seq, s.ID}
		switch call := s.Token + " " + e.Call; e.Type {
		case events.ToolCallStart:
			started[call]++
		case events.ToolCallResult:
			closed[call]++
			n.calls++
			switch e.Status {
			case events.TimedOut:
				n.timeouts++
			case events.Cancelled:
				n.cancelled++
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	n.sessions = len(chains)
	for call, k := range started {
		if k != 1 || closed[call] != 1 {
			note("call %s was started %d times and closed %d times", call, k, closed[call])
		}
	}
	for call := range closed {
		if started[call] == 0 {
			note("call %s was closed and never started", call)
		}
	}
	return n
}

var errEnd = errors.New("end of the log")

// stored counts the inputs in the log by their message id.
func stored(t *testing.T, b *app.Broker) map[string]int {
	t.Helper()
	there := map[string]int{}
	for p := range b.Partitions() {
		err := b.Inputs(t.Context(), p, 1, func(batch []broker.Input, _ uint64, caughtUp bool) error {
			for _, in := range batch {
				there[in.Header.Get("Nats-Msg-Id")]++
			}
			if caughtUp {
				return errEnd
			}
			return nil
		})
		if !errors.Is(err, errEnd) {
			t.Fatal(err)
		}
	}
	return there
}

// missing lists the acknowledged inputs that are not in the log exactly once.
func missing(there map[string]int, acked []string) (list []string) {
	for _, id := range acked {
		if there[id] != 1 {
			list = append(list, fmt.Sprintf("input %s was acknowledged and is there %d times", id, there[id]))
		}
	}
	return list
}

// report is what the log of a program says.
type report struct {
	wrong   []string       // what must not be in it
	again   map[string]int // partitions that started again, by reason
	excused map[string]int // errors that were to be expected, by message
	ignored int            // lines about messages that streamer did not write
}

// logged reads the log of a program. Errors with a message of excuses are to be
// expected.
func logged(t *testing.T, p *process, excuses []string) report {
	t.Helper()
	data, err := os.ReadFile(p.log)
	if err != nil {
		t.Fatal(err)
	}
	r := report{again: map[string]int{}, excused: map[string]int{}}
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, len(data)+1)
	for lines.Scan() {
		var line struct{ Level, Message, Error string }
		if json.Unmarshal(lines.Bytes(), &line) != nil {
			if text := lines.Text(); strings.HasPrefix(text, "panic:") || strings.HasPrefix(text, "fatal error:") || strings.HasPrefix(text, "goroutine ") {
				r.wrong = append(r.wrong, p.name+": "+text)
			}
			continue
		}
		switch {
		case line.Level == "error" && slices.Contains(excuses, line.Message):
			r.excused[line.Message]++
		case line.Level == "error":
			r.wrong = append(r.wrong, p.name+": "+lines.Text())
		case line.Message == "partition starts again":
			r.again[line.Error]++
		case line.Message == "message that streamer did not write ignored":
			r.ignored++
		}
	}
	return r
}
