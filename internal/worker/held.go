package worker

import (
	"context"
	"fmt"
	"time"

	"streamer/internal/inputs"
	"streamer/internal/snapshot"
)

// held is a session whose snapshot was lost, whose inputs do not reach back to
// its beginning, and that has open calls: an operator has to close it.
type held struct {
	reason string
	first  uint64 // its first input that is not folded, 0 if none arrived
}

// heldSessions are those of a partition.
type heldSessions struct {
	of        map[string]*held // by token
	partition int
	status    *status
	log       Snapshots
	checking  bool
}

func (h *heldSessions) has(token string) bool { return h.of[token] != nil }

func (h *heldSessions) add(token string, s *held) {
	h.of[token] = s
	h.report()
}

// skip notes an input that is not folded, and holds the checkpoint back.
func (h *heldSessions) skip(in *inputs.Input) {
	if s := h.of[in.Token]; s.first == 0 {
		s.first = in.Seq
	}
}

// uncovered returns the first input that is not folded if it is below seq.
func (h *heldSessions) uncovered(seq uint64) uint64 {
	for _, s := range h.of {
		if s.first != 0 {
			seq = min(seq, s.first)
		}
	}
	return seq
}

// report makes Warnings report that sessions are held. The other sessions go on.
func (h *heldSessions) report() {
	for token, s := range h.of {
		h.status.held.Store(&heldReason{len(h.of), fmt.Sprintf("%d sessions of partition %d are held, session %s: its snapshot was lost, %s; `streamer recover` shows what can be done", len(h.of), h.partition, token, s.reason)})
		return
	}
	h.status.held.Store(nil)
}

// check begins to look whether an operator has closed sessions that are held.
func (h *heldSessions) check(group *operations) {
	if len(h.of) == 0 || h.checking {
		return
	}
	h.checking = true
	var tokens []string
	for token := range h.of {
		tokens = append(tokens, token)
	}
	log, p := h.log, h.partition
	group.start(func(ctx context.Context) any {
		return &heldCheckResult{released(ctx, log, p, tokens)}
	})
}

// released returns a session that is no longer held, "" if there is none. An
// error is reported as none: the sessions are looked at again later.
func released(ctx context.Context, log Snapshots, p int, tokens []string) string {
	for _, token := range tokens {
		stored, ok, err := log.LoadSnapshot(ctx, p, token)
		if err != nil {
			return "" // a damaged snapshot is not a fresh one
		}
		if ok && snapshot.ParseHeader(stored.Header).Held == "" {
			return token
		}
	}
	return ""
}

// heldCheckResult is the result of heldSessions.check.
type heldCheckResult struct{ released string }

// heldCheckDone ends the run of the partition where a session was released. The next run
// reads its inputs again from the checkpoint.
func (q *partition) heldCheckDone(c *heldCheckResult) error {
	q.held.checking = false
	if c.released != "" && q.held.has(c.released) {
		return fmt.Errorf("worker: session %q is no longer held", c.released)
	}
	return nil
}

// hold notes that a session that was to be loaded is held.
func (q *partition) hold(l *loading, reason string) {
	h := &held{reason: reason}
	if len(l.inputs) > 0 {
		h.first = l.inputs[0].Seq
	}
	if s := l.memory; s != nil && s.snapshot.first != 0 { // what was folded in memory is lost with that
		h.first = s.snapshot.first
	}
	q.held.add(l.token, h)
	q.clock.clear(l.token)
	if e := q.table.of[l.token]; e != nil {
		q.table.move(e, known, time.Now()) // it may have been live, or have had a timer
	}
}
