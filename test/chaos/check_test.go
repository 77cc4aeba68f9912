package chaos

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"streamer/internal/audit"
	"streamer/internal/broker"
	"streamer/internal/broker/eventlog"
	"streamer/internal/client"
	"streamer/internal/events"
	"streamer/internal/inputs"
	"streamer/internal/worker"
	"streamer/test/local"
	"streamer/test/testkit"
)

// settleTime is the maximum time until all inputs are folded and all calls are
// closed, after the last fault: partitions that others repair begin late, and a checkpoint
// moves past the inputs of other partitions when an outdated leader would have been noticed.
const settleTime = 2*time.Minute + 3*broker.StaleTime

// settleTimeOf is settleTime for the logs of a run, which take longer to compare if it is long.
func settleTimeOf(t *testing.T) time.Duration {
	d, _ := settings(t)
	return settleTime + d/4
}

// awaitSettled waits until every call is closed, every run has ended and every
// input is read. Meanwhile op repairs the log of partitions that stopped, closes the
// sessions that are held and, if inputs were lost, the calls that wait for them. Then awaitSettled waits until the event log is
// the fold of the inputs.
func awaitSettled(t *testing.T, f *faultInjector, b *client.Broker, op *operator) audit.Report {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), settleTimeOf(t))
	defer cancel()
	for _, wrong := range []func(context.Context, *client.Broker) ([]string, error){open, local.Unread} {
		waitFor(t, ctx, b, func() ([]string, error) {
			list, err := wrong(ctx, b)
			if len(list) > 0 {
				op.attend(ctx)
			}
			if len(f.lost) > 0 && err == nil {
				err = op.closeWaiting(ctx, b)
			}
			return list, err
		})
	}
	return awaitEqual(ctx, t, f, b, op)
}

// awaitEqual waits until the event log is the fold of the inputs, except for the
// sessions that lost inputs or were closed by op. Snapshots that no fault damaged
// must be readable.
func awaitEqual(ctx context.Context, t *testing.T, f *faultInjector, b *client.Broker, op *operator) (r audit.Report) {
	t.Helper()
	logs := &genuine{Broker: b, forged: f.forged}
	waitFor(t, ctx, b, func() (list []string, err error) {
		r, err = audit.Verification{Log: logs}.Run(ctx)
		for _, d := range r.Differences {
			if !op.closed[d.Token] && !f.bits {
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
		t.Logf("large values that an acknowledgement replaced were read %d times", n)
	}
	return r
}

// unnamed returns those of the texts that name no session which the report of a
// verification names.
func unnamed(list []string, r audit.Report) []string {
	tokens := slices.Clone(r.Lost)
	for _, d := range r.Differences {
		tokens = append(tokens, d.Token)
	}
	if len(tokens) == 0 {
		return list
	}
	named := regexp.MustCompile(`\b(` + strings.Join(tokens, "|") + `)\b`)
	return slices.DeleteFunc(slices.Clone(list), named.MatchString)
}

// awaitReaders waits until every reader and browser has received each event of its
// session once.
func awaitReaders(t *testing.T, c *conversations, r audit.Report) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), settleTimeOf(t))
	defer cancel()
	for _, behind := range []func(context.Context) ([]string, error){c.readers.behind, c.browsers.behind} {
		waitFor(t, ctx, c.b, func() ([]string, error) {
			list, err := behind(ctx)
			return unnamed(list, r), err
		})
	}
	sessions, resumed := c.browsers.end()
	t.Logf("%d sessions were read live, and %d by browsers with %d resumptions, without gaps", c.readers.end(), sessions, resumed)
}

// waitFor waits until wrong returns nothing.
func waitFor(t *testing.T, ctx context.Context, b *client.Broker, wrong func() ([]string, error)) {
	t.Helper()
	var last []string
	err := testkit.Poll(ctx, func() error {
		list, err := wrong()
		if err == nil {
			last = list
		}
		return testkit.Check(list, err)
	})
	if err == nil {
		return
	}
	if len(last) > 0 {
		logSession(t, b, last[0])
	}
	t.Fatalf("%d conditions are not met in time (%v):\n%s", len(last), err, strings.Join(last[:min(5, len(last))], "\n"))
}

// logSession logs the inputs and events of the session that a text begins with.
func logSession(t *testing.T, b *client.Broker, text string) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	token, _, _ := strings.Cut(strings.TrimPrefix(text, "session "), " ")
	token = strings.TrimSuffix(token, ",")
	err := b.Inputs(ctx, b.Partition(token), 1, func(batch []inputs.Input, _ uint64, caughtUp bool) error {
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
	err = b.Events(ctx, token, 0, func(s events.Record) error {
		t.Logf("event %d %s after %d: %.300s", s.Seq, s.ID, s.Prev, s.Data)
		return nil
	})
	if err != nil {
		t.Log(err)
	}
}

// open lists the open calls and runs.
func open(ctx context.Context, b *client.Broker) (list []string, err error) {
	items, err := openItems(ctx, b)
	for i := range items {
		list = append(list, i.token+" "+i.name+" is open")
	}
	return list, err
}

// item is a call or a run of a session.
type item struct{ token, name string }

// openItems returns the open calls with their deadlines, and the open runs.
func openItems(ctx context.Context, b *client.Broker) (map[item]events.Time, error) {
	items := map[item]events.Time{}
	err := eachEvent(ctx, b, func(s events.Record, e *events.Event) {
		call, run := item{s.Token, "call " + e.Call}, item{s.Token, "run " + e.Run}
		switch e.Type {
		case events.ToolCallStart:
			items[call] = 0
		case events.ToolCallResult:
			delete(items, call)
		case events.RunStarted:
			items[run] = 0
		case events.RunFinished:
			delete(items, run)
		case events.SessionErased: // what is before it may be there in part
			maps.DeleteFunc(items, func(i item, _ events.Time) bool { return i.token == s.Token })
		}
		if _, isOpen := items[call]; isOpen && e.Deadline != nil {
			items[call] = *e.Deadline
		}
	})
	return items, err
}

// eachEvent calls fn for each message of the event log. e is empty for a synthetic
// message and for an acknowledgement.
func eachEvent(ctx context.Context, b *client.Broker, fn func(s events.Record, e *events.Event)) error {
	return b.Entries(ctx, "", 0, func(entry eventlog.Entry) error {
		s, e := entry.Record, new(events.Event)
		if s.Type != events.Synthetic && !isAck(s.Data) {
			if err := json.Unmarshal(s.Data, e); err != nil {
				return fmt.Errorf("%s: %w", s.Data, err)
			}
		}
		fn(s, e)
		return nil
	})
}

// tally is the result of count.
type tally struct {
	events, sessions           int
	calls, timeouts, cancelled int
	forged                     int // acknowledgements in the event log
	repeated                   int // events whose id is not after the previous one
	wrong                      []string
}

// count checks the event log without the fold. The ids of a session's events
// increase. Each event refers to the previous event, or to an acknowledgement
// between both. Each call has one start and one result.
func count(t *testing.T, b *client.Broker) tally {
	t.Helper()
	var n tally
	type head struct {
		seq, event uint64 // of the last message, and of the last event
		id         events.ID
	}
	heads := map[string]head{}
	started, closed := map[string]int{}, map[string]int{}
	note := func(format string, args ...any) { n.wrong = append(n.wrong, fmt.Sprintf(format, args...)) }
	err := eachEvent(t.Context(), b, func(s events.Record, e *events.Event) {
		last := heads[s.Token]
		if isAck(s.Data) {
			n.forged++
			heads[s.Token] = head{s.Seq, last.event, last.id}
			return
		}
		// When the server checks a condition, it ignores an acknowledgement that is
		// still being replicated.
		if s.Prev != last.seq && s.Prev != last.event && e.Type != events.SessionErased {
			note("event %d of session %s is after %d and refers to %d", s.Seq, s.Token, last.seq, s.Prev)
		}
		n.events++
		if !s.ID.After(last.id) {
			n.repeated++
			note("event %d of session %s has id %s after %s", s.Seq, s.Token, s.ID, last.id)
		}
		heads[s.Token] = head{s.Seq, s.Seq, s.ID}
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
	n.sessions = len(heads)
	for call, k := range started {
		if k != 1 || closed[call] != 1 {
			note("call %s was started %d times and closed %d times", call, k, closed[call])
		}
	}
	for call := range closed {
		if started[call] == 0 {
			note("call %s was closed without a start", call)
		}
	}
	return n
}

// errEnd ends the reading of a log.
var errEnd = errors.New("end of the log")

// again is how the message id of an input begins that recover appended again: with the
// place of the first one. Its message id follows.
var again = regexp.MustCompile(`^(again:\d+:\d+:)+`)

// stored counts the inputs in the log by the message id under which they were published.
func stored(t *testing.T, b *client.Broker) map[string]int {
	t.Helper()
	inLog := map[string]int{}
	for p := range b.Partitions() {
		err := b.Inputs(t.Context(), p, 1, func(batch []inputs.Input, _ uint64, caughtUp bool) error {
			for _, in := range batch {
				inLog[again.ReplaceAllString(in.Header.Get("Nats-Msg-Id"), "")]++
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
	return inLog
}

// missing lists the acknowledged inputs that are not in the log exactly once.
func missing(inLog map[string]int, acked []string) (list []string) {
	for _, id := range acked {
		if inLog[id] != 1 {
			list = append(list, fmt.Sprintf("input %s was acknowledged and is in the log %d times", id, inLog[id]))
		}
	}
	return list
}

// report is the content of the log of a process.
type report struct {
	wrong   []string       // lines that must not occur
	again   map[string]int // partitions that started again, by reason
	excused map[string]int // expected errors, by message
	ignored int            // lines about messages that streamer did not write
}

// logged reads the log of a process. Errors with one of the messages in excuses
// are expected.
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
		case line.Level == "error" && slices.Contains(excuses, line.Message),
			line.Level == "error" && strings.Contains(line.Error, worker.ErrRewound.Error()) && slices.Contains(excuses, worker.ErrRewound.Error()):
			r.excused[strings.TrimSuffix(line.Message+": "+kind(line.Error), ": ")]++
		case line.Level == "error":
			r.wrong = append(r.wrong, p.name+": "+lines.Text())
		case line.Message == "partition failed; starting it again":
			r.again[line.Error]++
		case line.Message == "message that streamer did not write ignored":
			r.ignored++
		}
	}
	return r
}
