package worker

import (
	"container/heap"
	"time"

	"streamer/internal/events"
	"streamer/internal/session"
)

// timers are when sessions are due for a clock input, resident or not.
type timers struct {
	at       map[string]events.Time  // by token: the one that holds, as clock.local
	queue    timerQueue              // may have some that hold no more
	requests map[string]clockRequest // by token
	evicted  map[string]evictedTime  // by token
}

func newTimers() timers {
	return timers{at: map[string]events.Time{}, requests: map[string]clockRequest{}, evicted: map[string]evictedTime{}}
}

type timer struct {
	at    events.Time
	token string
}

func (t *timers) set(token string, at events.Time) {
	if t.at[token] == at {
		return
	}
	t.at[token] = at
	heap.Push(&t.queue, timer{at, token})
	if len(t.queue) > 2*len(t.at)+staleTimers {
		t.compact()
	}
}

// sooner sets a timer unless one is set already that is due before it. Most
// inputs put their session's timer off: that is noticed when it is due.
func (t *timers) sooner(token string, at events.Time) {
	if was, ok := t.at[token]; !ok || at < was {
		t.set(token, at)
	}
}

// staleTimers is how many timers that hold no more the queue may have for any
// number of sessions.
const staleTimers = 64

// compact leaves in the queue the timers that hold, each once, and releases
// memory that is not needed.
func (t *timers) compact() {
	kept := make(timerQueue, 0, len(t.at)+staleTimers)
	seen := make(map[string]bool, len(t.at))
	for _, e := range t.queue {
		if t.at[e.token] == e.at && !seen[e.token] {
			seen[e.token] = true
			kept = append(kept, e)
		}
	}
	t.queue = kept
	heap.Init(&t.queue)
}

// clear removes the timer of a session that is due for nothing.
func (t *timers) clear(token string) {
	delete(t.at, token)
	delete(t.requests, token)
	delete(t.evicted, token)
}

func (t *timers) has(token string) bool { _, ok := t.at[token]; return ok }

func (t *timers) suspend(token string) { delete(t.at, token) }

// again returns when a timer may be asked for again, 0 if it was not asked for.
func (t *timers) again(token string, due session.Timer) events.Time {
	was, ok := t.requests[token]
	if ok && was.timer != due {
		delete(t.requests, token)
		return 0
	}
	return was.again
}

// next returns the earliest timer that holds, or false.
func (t *timers) next() (timer, bool) {
	for len(t.queue) > 0 {
		if top := t.queue[0]; t.at[top.token] == top.at {
			return top, true
		}
		heap.Pop(&t.queue)
	}
	return timer{}, false
}

type timerQueue []timer

func (q timerQueue) Len() int           { return len(q) }
func (q timerQueue) Less(i, j int) bool { return q[i].at < q[j].at }
func (q timerQueue) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }

// Push and Pop are heap.Interface's.
func (q *timerQueue) Push(x any) { *q = append(*q, x.(timer)) }

// Pop removes the last.
func (q *timerQueue) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}

// clockRequest is a clock input that was appended for a timer that still holds. It
// outlives the session's stay in memory: a second clock input needs another
// message id than the first, or the server takes it for a retry.
type clockRequest struct {
	timer session.Timer
	tries int
	again events.Time // when it may be asked for again, as clock.local
	epoch uint64      // of the connection on which the last clock input was published, 0 if that was not stored
	seq   uint64      // of that clock input, 0 until it is acknowledged
}

// evictedTime is resident.known of a session that was evicted after input n, for as long as it
// has a timer.
type evictedTime struct {
	n     uint64
	known time.Time
}

// unread reports whether the last clock input for a session is still to be read: it
// is under way, or stored at or behind pos. What was stored in another epoch may be
// lost.
func (t *timers) unread(token string, epoch, pos uint64) bool {
	a, ok := t.requests[token]
	return ok && a.epoch == epoch && (a.seq == 0 || a.seq >= pos)
}

// acknowledge notes the outcome of publishing the clock input of a try: its sequence, or
// 0 where it was not stored. It reports whether that was the last try.
func (t *timers) acknowledge(token string, due session.Timer, try int, seq uint64) bool {
	a, ok := t.requests[token]
	if !ok || a.timer != due || a.tries != try {
		return false
	}
	if a.seq = seq; seq == 0 {
		a.epoch = 0
	}
	t.requests[token] = a
	return true
}
