package worker

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"streamer/internal/broker"
	"streamer/internal/events"
	"streamer/internal/session"
)

// askAgain is the minimum time between two clock inputs for the same timer. Another
// one is appended only when the one before was read and changed nothing: a server's
// clock may be behind this process's.
const askAgain = 250 * time.Millisecond

// askLook is the time between two checks whether a clock input that is not read yet
// was lost. Reading it sets the session's timer again.
const askLook = 2 * time.Second

// askBehind is how far the log must have been read past a timer that is asked
// for before the log's end is reached. The clock input is stored at that end, and
// the session's own inputs before it make most clock inputs needless.
const askBehind = time.Second

// clock appends clock inputs for the timers of a partition that are due. The fold
// decides what they change, so a needless one does no harm.
type clock struct {
	timers
	reports
	out      *publisher
	messages Messages
	grace    time.Duration // Options.Grace
	rules    *rulesLog
	reading  *inputPosition
}

// schedule sets the timer of a session after its state changed.
func (c *clock) schedule(s *resident) {
	if at, ok := c.due(s); ok {
		c.sooner(s.token, at)
	}
}

// rearm sets a session's timer to exactly when it is due.
func (c *clock) rearm(s *resident) {
	if at, ok := c.due(s); ok {
		c.set(s.token, at)
	}
}

// due returns when a session is due for a clock input. If it is not, its timer is
// removed.
func (c *clock) due(s *resident) (at events.Time, ok bool) {
	a, ok := s.state.Timer(c.rules.inForce())
	if !ok {
		c.clear(s.token)
		return 0, false
	}
	return max(a.At, c.again(s.token, a)), true
}

// rulesChanged moves the timers of all sessions where the rules in force since a
// time allow less silence than those before. No session had an input since. Each is
// loaded when it can be due at the latest, and its timer is set exactly then.
func (c *clock) rulesChanged(was *session.Rules, since events.Time) {
	now := c.rules.inForce()
	for _, silence := range [...][2]events.Time{
		{events.Time(was.RunIdle), events.Time(now.RunIdle)},
		{events.Time(was.FlushAfter), events.Time(now.FlushAfter)},
	} {
		if silence[1] >= silence[0] {
			continue
		}
		for token := range c.at {
			c.sooner(token, since+silence[1])
		}
	}
}

// listed sets the timer of a session with a snapshot that is not in memory. A
// snapshot can be from before the rules in force, which may allow less silence.
func (c *clock) listed(l *listed) {
	at := l.timer
	if l.open == 0 && at != 0 && !l.at.IsZero() {
		at = min(at, events.At(l.at)+events.Time(c.rules.inForce().RunIdle))
	}
	c.sooner(l.token, at) // a listing can be stale
}

// graceEnd returns when a timer may be asked for that became due while inputs
// could not be stored, 0 if now. A result could not have arrived meanwhile.
func (c *clock) graceEnd(due session.Timer, now time.Time) events.Time {
	from, until := c.out.out.Outage()
	if from.IsZero() || due.Kind == session.Flush || due.At < events.At(from) {
		return 0
	}
	end := until.Add(min(until.Sub(from), max(0, c.grace)))
	if !now.Before(end) {
		return 0
	}
	return events.At(end) + 1
}

// latest returns the latest timer that may be asked for now. While inputs cannot
// be stored there is none.
func (c *clock) latest(now time.Time) events.Time {
	if from, until := c.out.out.Outage(); !from.IsZero() && until.IsZero() {
		return 0
	}
	if c.reading.caughtUp {
		return events.At(now)
	}
	return min(events.At(now), c.reading.at-events.Time(askBehind.Milliseconds()))
}

// wait returns the time until the next timer is due.
func (c *clock) wait(now time.Time) time.Duration {
	next, ok := c.next()
	if !ok {
		return time.Hour
	}
	d := max(0, next.at.Std().Sub(now))
	if d == 0 && next.at > c.latest(now) {
		return askAgain // wait until the log is read that far
	}
	return d
}

// clockAsk is the Key of a clock input's publish.
type clockAsk struct {
	token string
	timer session.Timer
	try   int
}

// clockInput is the body of a clock input.
type clockInput struct {
	Kind session.TimerKind `json:"kind"`
	Call string            `json:"call,omitempty"`
	At   events.Time       `json:"at"`
}

// ask appends a clock input for a session.
func (c *clock) ask(token string, due session.Timer, now time.Time) error {
	data, err := json.Marshal(clockInput{due.Kind, due.Call, due.At})
	if err != nil {
		return fmt.Errorf("worker: clock input: %w", err)
	}
	c.again(token, due) // forgets what was asked for another timer
	asked := c.asked[token]
	id := fmt.Sprintf("%s:clock:%s:%s:%d:%d", token, due.Kind, due.Call, int64(due.At), asked.tries)
	if asked.tries > 0 {
		// The first try of two owners is one input. Another one has an id that
		// cannot be guessed: message ids are one space for all publishers, and
		// another publisher may have used the first.
		id += ":" + rand.Text()
	}
	asked.timer, asked.epoch, asked.seq = due, c.out.out.Epoch(), 0
	asked.tries++
	// The wait doubles up to a minute, so that a clock that is far off does
	// not fill the log.
	asked.again = events.At(now.Add(min(time.Minute, askAgain<<min(asked.tries-1, 8))))
	c.asked[token] = asked
	c.set(token, asked.again)
	c.status.asked.Add(1)
	p := c.messages.ClockPub(token, id, data)
	// What is under way when the connection is lost would be the first input
	// after an outage, before the results that were kept from being stored.
	p.Key, p.Epoch = clockAsk{token, due, asked.tries}, asked.epoch
	c.out.publish(p)
	return nil
}

// stored takes the outcome of appending a clock input. Where the connection was lost
// before it was stored, it is asked for again.
func (c *clock) stored(key clockAsk, a broker.Ack) error {
	if a.Err != nil && !errors.Is(a.Err, broker.ErrConflict) {
		return fmt.Errorf("worker: clock input for session %q: %w", key.token, a.Err)
	}
	if c.timers.stored(key.token, key.timer, key.try, a.Seq) && a.Err != nil {
		c.sooner(key.token, c.asked[key.token].again)
	}
	return nil
}

// unread reports whether the last clock input for a session is still to be read.
func (c *clock) unread(token string) bool {
	return c.timers.unread(token, c.out.out.Epoch(), c.reading.pos)
}

// lookAgain sets a session's timer to when it is checked whether its clock input was
// lost.
func (c *clock) lookAgain(token string, now time.Time) { c.set(token, events.At(now.Add(askLook))) }

// ring appends clock inputs for the sessions that are due. Those that are not in
// memory are loaded, and looked at again then.
func (q *partition) ring(ctx context.Context, now time.Time) error {
	latest := q.clock.latest(now)
	for {
		next, ok := q.clock.next()
		if !ok || next.at > latest {
			return nil
		}
		if q.held.has(next.token) {
			q.clock.clear(next.token)
			continue
		}
		if q.sessions.resident[next.token] == nil && q.clock.unread(next.token) {
			q.clock.lookAgain(next.token, now)
			continue
		}
		s, _ := q.load(ctx, next.token)
		if s == nil {
			q.clock.suspend(next.token)
			continue
		}
		if err := q.clock.ring(s, latest, now); err != nil {
			return err
		}
	}
}

// ring appends a clock input for a session if it is due.
func (c *clock) ring(s *resident, latest events.Time, now time.Time) error {
	due, ok := s.state.Timer(c.rules.inForce())
	if !ok {
		c.clear(s.token)
		return nil
	}
	if max(due.At, c.again(s.token, due)) > latest {
		c.rearm(s)
		return nil
	}
	if c.unread(s.token) {
		c.lookAgain(s.token, now)
		return nil
	}
	if until := c.graceEnd(due, now); until > 0 {
		c.set(s.token, until)
		return nil
	}
	return c.ask(s.token, due, now)
}
