package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"streamer/internal/broker"
	"streamer/internal/broker/eventlog"
	"streamer/internal/events"
	"streamer/internal/gateway"
	"streamer/internal/inputs"
	"streamer/internal/snapshot"

	"github.com/nats-io/nuid"
)

// unreferencedFor is how long a chunk of a large value must be stored before it counts as
// one that nothing refers to: an event or a snapshot is stored after its chunks.
const unreferencedFor = time.Minute

// forgetTime bounds an erasure by a command. Where large values are stored, it reads the
// whole event log.
const forgetTime = 10 * time.Minute

// erasure deletes all that is stored of a session. An input states its place: what is
// folded behind it is a new session with the same name. When the event that follows is
// stored, and the snapshot behind it, nothing needs what was before, and it is purged.
// A record says until then that it has begun: an erasure that ended in the middle is
// completed by Resume, or by the next one.
type erasure struct {
	*Broker
	token  string
	keep   time.Duration // unreferencedFor
	done   gateway.Erased
	record broker.Erasure

	seq   uint64    // of the input
	event uint64    // sequence of its event
	prev  uint64    // of the event before that
	saved time.Time // when the snapshot behind it was stored, by the clock of the server
	known time.Time // when that was known, by the local clock
}

// Erase deletes the inputs, events, snapshots and large values of a session, and waits
// until they are gone. A large value that another session has, too, stays. A running worker
// is needed. An error leaves the session as it was, or partly erased: Erase can be repeated.
func (b *Broker) Erase(ctx context.Context, token string) (gateway.Erased, error) {
	e := erasure{Broker: b, token: token, keep: unreferencedFor}
	err := e.run(ctx)
	return e.done, err
}

// Exists reports whether anything of a session is stored.
func (b *Broker) Exists(ctx context.Context, token string) (there bool, err error) {
	if seq, _, err := b.Head(ctx, token); err != nil || seq > 0 {
		return true, err
	}
	if s, ok, err := b.LoadSnapshot(ctx, b.Partition(token), token); ok || s.Rev > 0 {
		return true, nil
	} else if err != nil {
		return false, err
	}
	err = b.SessionInputs(ctx, token, 0, func(*inputs.Input) error {
		there = true
		return broker.ErrStop
	})
	if errors.Is(err, broker.ErrStop) {
		err = nil
	}
	return there, err
}

// Forget erases a session, which has the token, and writes what was deleted.
func (b *Broker) Forget(ctx context.Context, w io.Writer, session, token string) error {
	waiting, stop := context.WithTimeout(ctx, forgetTime)
	defer stop()
	done, err := b.Erase(waiting, token)
	if err != nil {
		return err
	}
	if done == (gateway.Erased{}) {
		return fmt.Errorf("nothing is stored of session %s", session)
	}
	fmt.Fprintf(w, "erased of session %s: %d inputs, %d events, %d chunks of large values\n", session, done.Inputs, done.Events, done.Chunks)
	return nil
}

func (e *erasure) run(ctx context.Context) error {
	if err := e.remove(ctx); err != nil || e.seq == 0 {
		return err
	}
	if err := e.eraseChunks(ctx); err != nil {
		return err
	}
	return e.EndErasure(ctx, e.record)
}

// remove deletes all but the large values.
func (e *erasure) remove(ctx context.Context) error {
	if there, err := e.Exists(ctx, e.token); err != nil || !there {
		return err
	}
	if s, ok, err := e.LoadSnapshot(ctx, e.Partition(e.token), e.token); err == nil && ok && snapshot.ParseHeader(s.Header).Held != "" {
		return gateway.ErrHeld
	}
	if err := e.begin(ctx); err != nil {
		return err
	}
	return e.purge(ctx)
}

// purge deletes what was stored before the erasure, when nothing needs it.
func (e *erasure) purge(ctx context.Context) (err error) {
	if err := e.awaitSnapshot(ctx); err != nil {
		return err
	}
	if err := e.awaitCheckpoints(ctx); err != nil {
		return err
	}
	if err := e.deleteLast(ctx); err != nil {
		return err
	}
	n, err := e.EraseEvents(ctx, e.token, e.event)
	if err != nil {
		return err
	}
	e.done.Events += n
	if n, err = e.EraseInputs(ctx, e.token, e.seq); err != nil {
		return err
	}
	e.done.Inputs += n
	_, err = e.Purge(ctx, broker.StreamDead, broker.RootDead+"*."+e.token, 0)
	return err
}

// singly is the number of events that are deleted one by one, with their inputs.
const singly = 200

// deleteLast deletes the session's last events before the erasure, and their inputs. A purge
// reads all messages, of all sessions, between the first and the last that it deletes, and
// what is published waits for it.
func (e *erasure) deleteLast(ctx context.Context) error {
	for input := e.seq; e.prev > 0 && e.done.Events < singly; e.done.Events++ {
		r, err := e.Event(ctx, e.token, e.prev)
		if errors.Is(err, events.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := e.DeleteMessage(ctx, broker.StreamEvents, r.Seq); err != nil {
			return err
		}
		if r.ID.Seq < input {
			input = r.ID.Seq
			if err := e.deleteInput(ctx, input); err != nil {
				return err
			}
		}
		e.prev = r.Prev
	}
	return nil
}

func (e *erasure) deleteInput(ctx context.Context, seq uint64) error {
	in, ok, err := e.Input(ctx, seq)
	if err != nil || !ok || in.Token != e.token {
		return err
	}
	e.done.Inputs++
	return e.DeleteInput(ctx, seq)
}

// begin records the erasure, stores its input and waits for its event.
func (e *erasure) begin(ctx context.Context) (err error) {
	if e.record, err = e.BeginErasure(ctx, e.token); err != nil {
		return err
	}
	if e.seq, err = e.publish(ctx); err != nil {
		return err
	}
	return e.await(ctx)
}

func (e *erasure) publish(ctx context.Context) (seq uint64, err error) {
	a := e.PublishWait(ctx, e.ErasePub(e.token, fmt.Sprintf("%s:%s:%s", e.token, inputs.Erase, nuid.Next())))
	if a.Err != nil {
		return 0, fmt.Errorf("the session is not erased: %w", a.Err)
	}
	return a.Seq, nil
}

// await waits for the event of the input.
func (e *erasure) await(ctx context.Context) error {
	for try := 0; ; try++ {
		r, err := e.LastOf(ctx, e.token, events.SessionErased)
		if err != nil && ctx.Err() == nil {
			return err
		}
		if err == nil && r.Seq > 0 && r.ID.Seq >= e.seq { // of a later erasure if that has deleted the event
			e.event, e.prev, e.seq = r.Seq, r.Prev, r.ID.Seq
			return nil
		}
		if err := e.Backoff(ctx, try); err != nil {
			return fmt.Errorf("nothing is erased yet: no worker has folded input %d: %w", e.seq, err)
		}
	}
}

// awaitSnapshot waits until the snapshot of the session is one of the new state.
func (e *erasure) awaitSnapshot(ctx context.Context) error {
	for try := 0; ; try++ {
		s, ok, err := e.LoadSnapshot(ctx, e.Partition(e.token), e.token)
		if err != nil && !errors.Is(err, broker.ErrDamaged) && ctx.Err() == nil { // a damaged one is replaced by the worker
			return err
		}
		if h := snapshot.ParseHeader(s.Header); ok && h.Input >= e.seq {
			e.saved, e.known = s.At, time.Now()
			return nil
		}
		if err := e.Backoff(ctx, try); err != nil {
			return fmt.Errorf("nothing is erased yet: the snapshot of the session does not cover input %d: %w", e.seq, err)
		}
	}
}

// awaitCheckpoints waits until no partition reads the input log from before the erasure, if
// the log begins with the session: a log that begins behind a checkpoint has lost inputs.
func (e *erasure) awaitCheckpoints(ctx context.Context) error {
	first, _, err := e.InputBounds(ctx)
	if err != nil {
		return err
	}
	if in, ok, err := e.Input(ctx, first); err != nil || ok && in.Token != e.token {
		return err
	}
	known := uint64(0)
	for p, try := 0, 0; p < e.Partitions(); try++ {
		c, _, err := e.LoadCheckpoint(ctx, p)
		if err != nil && ctx.Err() == nil {
			return err
		}
		if err == nil {
			known = c.Seq
		}
		if err == nil && (c.Seq == 0 || c.Seq >= e.seq) { // 0: the partition begins with what is there
			p, try = p+1, 0
			continue
		}
		if err := e.Backoff(ctx, try); err != nil {
			return fmt.Errorf("nothing is erased yet: the checkpoint of partition %d is %d, before input %d: %w", p, known, e.seq, err)
		}
	}
	return nil
}

// eraseChunks deletes the chunks of large values that were stored before the snapshot and
// to which no event and no snapshot refers, of whichever session they were.
func (e *erasure) eraseChunks(ctx context.Context) error {
	for {
		wait, err := e.eraseOldChunks(ctx)
		if err != nil || wait == 0 {
			return err
		}
		if err := e.Pause(ctx, wait); err != nil {
			return fmt.Errorf("inputs, events and snapshots are erased, but not all large values: %w", err)
		}
	}
}

// eraseOldChunks deletes those that are old enough, and returns how long to wait for others.
// One erasure at a time reads the event log.
func (e *erasure) eraseOldChunks(ctx context.Context) (wait time.Duration, err error) {
	e.references.Lock()
	defer e.references.Unlock()
	now := e.saved.Add(time.Since(e.known)) // before the reading, which can take long
	stored, err := e.Chunks(ctx)
	if err != nil || len(stored) == 0 {
		return 0, err
	}
	if err := e.referred(ctx, func(digest string) { delete(stored, digest) }); err != nil {
		return 0, err
	}
	for _, c := range stored {
		old, until := e.unreferenced(c, now)
		if wait = max(wait, until); !old {
			continue
		}
		if err := e.DeleteChunk(ctx, c); err != nil {
			return 0, err
		}
		e.done.Chunks++
	}
	return wait, nil
}

// unreferenced reports whether a chunk to which nothing refers can be deleted. now is when
// the reading of the references began. wait is the time until it may be old enough.
func (e *erasure) unreferenced(c broker.Chunk, now time.Time) (old bool, wait time.Duration) {
	if c.At.After(e.saved) {
		return false, 0
	}
	wait = max(0, e.keep-now.Sub(c.At))
	return wait == 0, wait
}

// referred calls fn with the digest of each chunk that an event or a snapshot refers to.
func (e *erasure) referred(ctx context.Context, fn func(digest string)) error {
	all := func(ref *events.Ref) {
		for _, digest := range ref.Chunks {
			fn(digest)
		}
	}
	err := e.Entries(ctx, "", 0, func(r eventlog.Entry) error {
		if r.Forged != "" || !bytes.Contains(r.Data, []byte(`_ref":{`)) {
			return nil
		}
		var event struct {
			Args   events.Ref `json:"args_ref"`
			Result events.Ref `json:"tool_result_ref"`
		}
		if err := json.Unmarshal(r.Data, &event); err != nil {
			return fmt.Errorf("event %d: %w", r.Seq, err)
		}
		all(&event.Args)
		all(&event.Result)
		return nil
	})
	if err != nil {
		return err
	}
	return e.SnapshotRefs(ctx, func(ref events.Ref) { all(&ref) })
}
