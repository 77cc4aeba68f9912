package worker

import (
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

// askStored is the maximum time until the first clock input for a timer is stored.
const askStored = broker.SilentAfter

// askLook is the time between two checks whether a clock input that is not read yet
// was lost. Reading it sets the session's timer again.
const askLook = 2 * time.Second

// askBehind is how far the log must have been read past a timer that is asked
// for before the log's end is reached. The clock input is stored at that end, and
// the session's own inputs before it make most clock inputs needless.
const askBehind = time.Second

// clock appends clock inputs for the timers of a partition that are due. The fold
// decides what they change, so a needless one does no harm.
//
// Wall clocks are set, of servers and of this process, so a session's time is measured:
// it is that of its state and what has elapsed since.
type clock struct {
	timers
	reports
	out     *publisher
	log     clockLog
	grace   time.Duration // Options.Grace
	rules   *session.RulesLog
	reading *inputPosition
	began   time.Time   // where local begins, in whole milliseconds
	server  events.Time // how far the server's clock is ahead of local, by the last input that was read at the log's end
}

// clockLog is what a clock needs of the log.
type clockLog interface {
	Epoch() uint64
	Outage() (from, until time.Time)
	ClockPub(token, msgID string, data []byte) *broker.Pub
}

// wholeMillis returns a time without the part below a millisecond. It keeps the reading
// of the monotonic clock, which Truncate does not.
func wholeMillis(t time.Time) time.Time {
	return t.Add(-time.Duration(t.Nanosecond()) % time.Millisecond)
}

// local returns a time on a clock that is never set, which showed the wall clock's time
// when the partition was taken over.
func (c *clock) local(t time.Time) events.Time {
	return events.At(c.began) + events.Time(t.Sub(c.began).Milliseconds())
}

// passed returns when local a time passed that a server's clock showed.
func (c *clock) passed(at events.Time, now time.Time) events.Time {
	return c.local(now) - max(0, events.At(now)-at)
}

func (c *clock) schedule(s *resident) {
	if d, ok := c.due(s); ok {
		c.sooner(s.token, d.next)
	}
}

// leave keeps the timer of a session that leaves memory.
func (c *clock) leave(s *resident) {
	if d, ok := c.due(s); ok {
		c.set(s.token, d.next)
		c.evicted[s.token] = evictedTime{s.state.N, s.known}
	}
}

// enter sets the timer of a session that is in memory from now on.
func (c *clock) enter(s *resident) {
	if l, ok := c.evicted[s.token]; ok && l.n == s.state.N {
		s.known = l.known
	}
	delete(c.evicted, s.token)
	c.schedule(s)
}

// due is when a session needs a clock input.
type due struct {
	timer session.Timer
	at    events.Time // when it is due by the wall clock as it was when the session's time was known
	sure  events.Time // when its time has elapsed
	next  events.Time // when it is asked for, perhaps again
}

// due returns when a session is due for a clock input. If it is not, its timer is
// removed.
func (c *clock) due(s *resident) (d due, ok bool) {
	d.timer, ok = s.state.Timer(c.rules.InForce())
	if !ok {
		c.clear(s.token)
		return d, false
	}
	life, known := s.state.Life.Time, c.local(s.known)
	d.sure = known + d.timer.At - life
	d.at = known + d.timer.At - max(life, events.At(s.known))
	d.next = max(d.at, c.again(s.token, d.timer))
	return d, true
}

// rulesChanged moves the timers of all sessions where the rules in force since a
// time allow less silence than those before. No session had an input since. Each is
// loaded when it can be due at the latest, and its timer is set exactly then.
func (c *clock) rulesChanged(was *session.Rules, since events.Time, now time.Time) {
	rules := c.rules.InForce()
	for _, silence := range [...][2]events.Time{
		{events.Time(was.RunIdle), events.Time(rules.RunIdle)},
		{events.Time(was.FlushAfter), events.Time(rules.FlushAfter)},
	} {
		if silence[1] >= silence[0] {
			continue
		}
		for token := range c.at {
			c.sooner(token, c.passed(since, now)+silence[1])
		}
	}
}

// scheduleStored sets the timer of a session with a snapshot that is not in memory. A
// snapshot can be from before the rules in force, which may allow less silence. What
// has elapsed since it was written is known by the wall clock only, and by that not if
// it was set back.
func (c *clock) scheduleStored(l *listedSession, now time.Time) {
	at := l.Timer
	if l.Open == 0 && at != 0 && !l.At.IsZero() {
		at = min(at, l.Time+events.Time(c.rules.InForce().RunIdle))
	}
	if c.evicted[l.token].n != l.Input {
		c.evicted[l.token] = evictedTime{l.Input, now}
	}
	c.sooner(l.token, c.local(now)+at-max(l.Time, events.At(now))) // a listing can be stale
}

// graceEnd returns when a timer may be asked for that became due while inputs
// could not be stored, 0 if now. A result could not have arrived meanwhile. The outage
// can have begun before the first publish that was not answered.
func (c *clock) graceEnd(d due, now time.Time) events.Time {
	from, until := c.log.Outage()
	if from.IsZero() || d.timer.Kind == session.Flush || d.at < c.local(from.Add(-askBehind)) {
		return 0
	}
	end := until.Add(min(until.Sub(from), max(0, c.grace)))
	if !now.Before(end) {
		return 0
	}
	return c.local(end) + 1
}

// latest returns the latest timer that may be asked for now. While inputs cannot
// be stored there is none.
func (c *clock) latest(now time.Time) events.Time {
	if from, until := c.log.Outage(); !from.IsZero() && until.IsZero() {
		return 0
	}
	if c.reading.caughtUp {
		return c.local(now)
	}
	return c.passed(c.reading.at, now) - events.Time(askBehind.Milliseconds())
}

func (c *clock) wait(now time.Time) time.Duration {
	next, ok := c.next()
	if !ok {
		return time.Hour
	}
	d := max(0, time.Duration(next.at-c.local(now))*time.Millisecond)
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
	Kind    session.TimerKind `json:"kind"`
	Call    string            `json:"call,omitempty"`
	At      events.Time       `json:"at"`
	Elapsed bool              `json:"elapsed,omitempty"`
	Until   events.Time       `json:"until,omitempty"`
}

func (c *clock) ask(token string, d due, now time.Time) error {
	due, at := d.timer, c.local(now)
	c.again(token, due) // forgets what was asked for another timer
	asked := c.requests[token]
	in := clockInput{due.Kind, due.Call, due.At, at >= d.sure, 0}
	if due.Kind != session.Flush {
		// The first inputs that are stored after an outage may be older than it. A log
		// that is slow without an outage gets more time with each try.
		in.Until = (c.server + at).Add(askStored << min(2*asked.tries, 16))
	}
	data, err := json.Marshal(in)
	if err != nil {
		return fmt.Errorf("worker: clock input: %w", err)
	}
	id := fmt.Sprintf("%s:clock:%s:%s:%d:%d", token, due.Kind, due.Call, int64(due.At), asked.tries)
	if asked.tries > 0 {
		// The first try of two owners is one input. Another one has an id that
		// cannot be guessed: message ids are one space for all publishers, and
		// another publisher may have used the first.
		id += ":" + rand.Text()
	}
	asked.timer, asked.epoch, asked.seq = due, c.log.Epoch(), 0
	asked.tries++
	// The wait doubles up to a minute, so that a clock that is far off does
	// not fill the log.
	asked.again = c.local(now.Add(min(time.Minute, askAgain<<min(asked.tries-1, 8))))
	if d.sure > at {
		asked.again = min(asked.again, d.sure)
	}
	c.requests[token] = asked
	c.set(token, asked.again)
	c.status.asked.Add(1)
	p := c.log.ClockPub(token, id, data)
	// What is under way when the connection is lost would be the first input
	// after an outage, before the results that were kept from being stored.
	p.Key, p.Epoch = clockAsk{token, due, asked.tries}, asked.epoch
	c.out.publish(p)
	return nil
}

// acknowledge takes the outcome of appending a clock input. Where the connection was lost
// before it was stored, it is asked for again.
func (c *clock) acknowledge(key clockAsk, a broker.Ack) error {
	if a.Err != nil && !errors.Is(a.Err, broker.ErrConflict) {
		return fmt.Errorf("worker: clock input for session %q: %w", key.token, a.Err)
	}
	if c.timers.acknowledge(key.token, key.timer, key.try, a.Seq) && a.Err != nil {
		c.sooner(key.token, c.requests[key.token].again)
	}
	return nil
}

// unread reports whether the last clock input for a session is still to be read.
func (c *clock) unread(token string) bool {
	return c.timers.unread(token, c.log.Epoch(), c.reading.pos)
}

// lookAgain sets a session's timer to when it is checked whether its clock input was
// lost.
func (c *clock) lookAgain(token string, now time.Time) { c.set(token, c.local(now.Add(askLook))) }

// askDue appends clock inputs for the sessions that are due. Those that are not in
// memory are loaded, and looked at again then.
func (q *partition) askDue(now time.Time) error {
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
		if q.table.live(next.token) == nil && q.clock.unread(next.token) {
			q.clock.lookAgain(next.token, now)
			continue
		}
		s, _ := q.load(next.token)
		if s == nil {
			q.clock.suspend(next.token)
			continue
		}
		if err := q.clock.askIfDue(s, latest, now); err != nil {
			return err
		}
	}
}

func (c *clock) askIfDue(s *resident, latest events.Time, now time.Time) error {
	d, ok := c.due(s)
	if !ok {
		return nil
	}
	if d.next > latest {
		c.set(s.token, d.next)
		return nil
	}
	if c.unread(s.token) {
		c.lookAgain(s.token, now)
		return nil
	}
	if until := c.graceEnd(d, now); until > 0 {
		c.set(s.token, until)
		return nil
	}
	return c.ask(s.token, d, now)
}
