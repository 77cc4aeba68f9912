package worker

import (
	"container/heap"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"time"

	"streamer/internal/events"
	"streamer/internal/lifecycle"
)

// alarms are when sessions want to hear from the clock, in memory or not.
type alarms struct {
	at    map[string]events.Time // by token: the one that holds
	queue alarmQueue             // may hold some that no longer do
	asked map[string]asked       // by token
}

func newAlarms() alarms {
	return alarms{at: map[string]events.Time{}, asked: map[string]asked{}}
}

type alarm struct {
	at    events.Time
	token string
}

func (a *alarms) set(token string, at events.Time) {
	if a.at[token] == at {
		return
	}
	a.at[token] = at
	heap.Push(&a.queue, alarm{at, token})
	if len(a.queue) > 2*len(a.at)+staleAlarms {
		a.compact()
	}
}

// sooner sets an alarm unless one is set already that rings before it. Most
// inputs put their session's alarm off: it is looked at again when it rings.
func (a *alarms) sooner(token string, at events.Time) {
	if was, ok := a.at[token]; !ok || at < was {
		a.set(token, at)
	}
}

// staleAlarms is how many alarms that no longer hold the queue may have for
// any number of sessions.
const staleAlarms = 64

// compact leaves in the queue the alarms that hold, each once, and gives up
// room that is not needed.
func (a *alarms) compact() {
	kept := make(alarmQueue, 0, len(a.at)+staleAlarms)
	seen := make(map[string]bool, len(a.at))
	for _, e := range a.queue {
		if a.at[e.token] == e.at && !seen[e.token] {
			seen[e.token] = true
			kept = append(kept, e)
		}
	}
	a.queue = kept
	heap.Init(&a.queue)
}

func (a *alarms) clear(token string) {
	delete(a.at, token)
	delete(a.asked, token)
}

// again gives when an alarm may be asked for again, 0 if it was not.
func (a *alarms) again(token string, due lifecycle.Timer) events.Time {
	was, ok := a.asked[token]
	if ok && was.alarm != due {
		delete(a.asked, token)
		return 0
	}
	return was.again
}

// due gives the sessions whose alarms are due. It looks at no more of the
// queue than is due and as much again: it is a heap.
func (a *alarms) due(now events.Time) iter.Seq[string] {
	return func(yield func(string) bool) { a.walk(0, now, yield) }
}

func (a *alarms) walk(i int, now events.Time, yield func(string) bool) bool {
	if i >= len(a.queue) || a.queue[i].at > now {
		return true
	}
	if top := a.queue[i]; a.at[top.token] == top.at && !yield(top.token) {
		return false
	}
	return a.walk(2*i+1, now, yield) && a.walk(2*i+2, now, yield)
}

// next gives the earliest alarm that holds, or false.
func (a *alarms) next() (alarm, bool) {
	for len(a.queue) > 0 {
		if top := a.queue[0]; a.at[top.token] == top.at {
			return top, true
		}
		heap.Pop(&a.queue)
	}
	return alarm{}, false
}

type alarmQueue []alarm

func (q alarmQueue) Len() int           { return len(q) }
func (q alarmQueue) Less(i, j int) bool { return q[i].at < q[j].at }
func (q alarmQueue) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }

// Push and Pop are heap.Interface's.
func (q *alarmQueue) Push(x any) { *q = append(*q, x.(alarm)) }

// Pop removes the last.
func (q *alarmQueue) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}

// asked is a clock input that was appended for an alarm, which still stands.
// It outlives the session's stay in memory: a second clock input needs another
// message id than the first, or the server takes it for a retry.
type asked struct {
	alarm lifecycle.Timer
	tries int
	again events.Time // when it may be asked for again
}

// ask is the Key of a clock input's publish.
type ask struct{ token string }

// askAgain is how long a clock input that changed nothing is waited for before
// another is appended: a server's clock may be behind ours.
const askAgain = 250 * time.Millisecond

// wake sees to it that the alarm of a session rings, after its state changed.
func (q *partition) wake(l *live) {
	if at, ok := q.alarmOf(l); ok {
		q.alarms.sooner(l.token, at)
	}
}

// rearm sets a session's alarm to just when it is due.
func (q *partition) rearm(l *live) {
	if at, ok := q.alarmOf(l); ok {
		q.alarms.set(l.token, at)
	}
}

// alarmOf gives when a session's alarm is due; if it wants none, none is left.
func (q *partition) alarmOf(l *live) (at events.Time, ok bool) {
	a, ok := l.state.Timer(q.rules.inForce())
	if !ok {
		q.alarms.clear(l.token)
		return 0, false
	}
	return max(a.At, q.alarms.again(l.token, a)), true
}

// setTimer makes t fire at the next alarm or end of a pause.
func (q *partition) setTimer(t *time.Timer) {
	d := time.Hour
	if !q.paused.first.IsZero() {
		d = max(0, time.Until(q.paused.first))
	}
	if a, ok := q.alarms.next(); ok {
		now := time.Now()
		alarm := max(0, a.at.Std().Sub(now))
		if alarm == 0 && a.at > q.mayAsk(now) {
			alarm = askAgain // wait until the log is read that far
		}
		d = min(d, alarm)
	}
	t.Reset(d)
}

// askBehind is how far the log must have been read past an alarm that is asked
// for before the log's end is reached. The clock input comes to stand at that
// end, and the session's own inputs on the way there make most of them
// needless.
const askBehind = time.Second

// grace returns when an alarm may be asked for that became due while inputs could
// not be stored, 0 if now. What the clock closes then could not help it.
func (q *partition) grace(due lifecycle.Timer, now time.Time) events.Time {
	from, until := q.log.Outage()
	if from.IsZero() || due.Kind == lifecycle.Flush || due.At < events.At(from) {
		return 0
	}
	end := until.Add(min(until.Sub(from), max(0, q.opts.Grace)))
	if !now.Before(end) {
		return 0
	}
	return events.At(end) + 1
}

// mayAsk gives the latest alarm that may be asked for now. While inputs cannot be
// stored that is none.
func (q *partition) mayAsk(now time.Time) events.Time {
	if from, until := q.log.Outage(); !from.IsZero() && until.IsZero() {
		return 0
	}
	if q.caughtUp {
		return events.At(now)
	}
	return min(events.At(now), q.read-events.Time(askBehind.Milliseconds()))
}

// ring appends clock inputs for the alarms that are due. The fold decides what
// comes of them; asking twice is harmless.
func (q *partition) ring(ctx context.Context, now time.Time) error {
	defer q.forgetCold()
	for {
		a, ok := q.alarms.next()
		if !ok || a.at > q.mayAsk(now) {
			return nil
		}
		q.prefetch(ctx, q.alarms.due(q.mayAsk(now)))
		l, err := q.load(ctx, a.token)
		if errors.Is(err, errHeld) {
			q.alarms.clear(a.token)
			continue
		}
		if err != nil {
			return err
		}
		due, ok := l.state.Timer(q.rules.inForce())
		switch {
		case !ok:
			q.alarms.clear(a.token)
			continue
		case max(due.At, q.alarms.again(a.token, due)) > q.mayAsk(now):
			q.rearm(l)
			continue
		}
		if until := q.grace(due, now); until > 0 {
			q.alarms.set(a.token, until)
			continue
		}
		if err := q.askClock(l, due, now); err != nil {
			return err
		}
	}
}

// tick is a clock input.
type tick struct {
	Kind lifecycle.TimerKind `json:"kind"`
	Call string              `json:"call,omitempty"`
	At   events.Time         `json:"at"`
}

func (q *partition) askClock(l *live, due lifecycle.Timer, now time.Time) error {
	data, err := json.Marshal(tick{due.Kind, due.Call, due.At})
	if err != nil {
		return fmt.Errorf("worker: clock input: %w", err)
	}
	q.alarms.again(l.token, due) // forgets what was asked for another alarm
	asked := q.alarms.asked[l.token]
	id := fmt.Sprintf("%s:clock:%s:%s:%d:%d", l.token, due.Kind, due.Call, int64(due.At), asked.tries)
	if asked.tries > 0 {
		// The first try of two owners is one input. Another one has an id that
		// cannot be guessed: message ids are one space for all publishers, and
		// the first may have been swallowed by another's message.
		id += ":" + rand.Text()
	}
	asked.alarm = due
	asked.tries++
	// The wait doubles up to a minute, so that a clock that is far off does
	// not fill the log.
	asked.again = events.At(now.Add(min(time.Minute, askAgain<<min(asked.tries-1, 8))))
	q.alarms.asked[l.token] = asked
	q.alarms.set(l.token, asked.again)
	q.m.asked.Add(1)
	p := q.log.ClockPub(l.token, id, data)
	// What is under way when the connection is lost would be the first input
	// after an outage, before the results that were kept from being stored.
	p.Key, p.Epoch = ask{l.token}, q.log.Epoch()
	q.publish(p)
	return nil
}
