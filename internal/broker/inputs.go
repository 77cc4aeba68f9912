package broker

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
)

// Input is one message of the input log.
type Input struct {
	Seq       uint64
	At        time.Time // when the server stored it
	Token     string    // of the session, as it came; "" for KindRules
	Kind      string    // "" if the subject is none of the contract's
	Partition int
	// Foreign tells that the message is in a partition its token does not
	// belong to, or on no subject of the contract: skip and count it.
	Foreign bool
	Subject string
	Header  nats.Header
	Data    []byte
}

// InputLostError says that inputs from From on are no longer in the stream,
// whose first is First.
type InputLostError struct {
	From, First uint64
}

// Error says what is lost.
func (e *InputLostError) Error() string {
	return fmt.Sprintf("broker: inputs from %d on are wanted, but the stream begins at %d", e.From, e.First)
}

// InputAheadError says that From is beyond the stream's end, Last: the stream
// has lost its end, as a power failure can do.
type InputAheadError struct {
	From, Last uint64
}

// Error says what is missing.
func (e *InputAheadError) Error() string {
	return fmt.Sprintf("broker: inputs from %d on are wanted, but the stream ends at %d: its end was lost", e.From, e.Last)
}

// Inputs reads the inputs of a partition in stream order, without gap or
// duplicate, from sequence from (at least 1) on and then for ever, through
// restarts of the server.
//
// deliver gets what is waiting, at most 500 inputs, without delay; the slice
// is reused after it returns, the messages are not. next is a position:
// every input of this partition below it has been delivered. It can be ahead
// of the last input, because other partitions share the stream, and moves on
// now and then (with an empty batch) where the partition is idle. caughtUp
// tells that nothing more was waiting at the server after this batch; a
// stream that is read to its end at the start is told with an empty batch.
//
// Inputs returns ctx's error, deliver's, an *InputLostError where the position
// is below the stream's first message, or an *InputAheadError where it is
// above its last.
func (b *Broker) Inputs(ctx context.Context, partition int, from uint64, deliver func(batch []Input, next uint64, caughtUp bool) error) error {
	b.sweep.count(1)
	defer b.sweep.count(-1)
	r := &inputReader{b: b, partition: partition, last: max(from, 1) - 1, next: max(from, 1), deliver: deliver}
	for {
		err := b.read(ctx, reading{
			stream:   streamInputs,
			filter:   r.filter(),
			position: r.position,
			deliver:  func(batch []stored, caughtUp bool) error { return r.take(ctx, batch, caughtUp) },
			idle:     r.idle,
		}, r.next)
		if !errors.Is(err, errBehind) {
			return err
		}
		if err := r.ride(ctx); err != nil {
			return err
		}
	}
}

// inputReader keeps the position of a partition in the stream all share.
type inputReader struct {
	b         *Broker
	partition int
	last      uint64    // every input of the partition up to it is delivered
	next      uint64    // the position; at least last + 1
	looked    time.Time // when the stream's bounds were asked for
	seen      uint64    // the position then
	pace      time.Duration
	rider     *rider // in a sweep; nil where it reads alone
	batch     []Input
	deliver   func([]Input, uint64, bool) error
}

// filter is none where there is one partition: a filter that lets everything
// through is ten times slower than none.
func (r *inputReader) filter() string {
	if r.b.partitions == 1 {
		return ""
	}
	return partitionRoot(r.partition) + ">"
}

// position checks that the stream still has what is to be read next. A stale
// answer that the stream ends earlier is given some time.
func (r *inputReader) position(ctx context.Context, _ uint64) error {
	for try := 0; ; try++ {
		first, last, err := r.b.bounds(ctx, streamInputs)
		switch {
		case err != nil:
			return err
		case r.next < first:
			return &InputLostError{From: r.next, First: first}
		case r.next <= last+1:
			r.looked, r.seen, r.pace = time.Now(), r.next, lookFirst
			if err := r.board(last); err != nil {
				return err
			}
			return r.advance(ctx, last)
		case try == 5:
			return &InputAheadError{From: r.next, Last: last}
		}
		if err := r.b.again.pause(ctx, backoff(try)); err != nil {
			return err
		}
	}
}

func (r *inputReader) take(ctx context.Context, batch []stored, caughtUp bool) error {
	if len(batch) == 0 { // read to the end at a consumer's start
		return r.deliver(nil, r.next, caughtUp)
	}
	r.batch = r.batch[:0]
	for _, m := range batch {
		r.batch = append(r.batch, r.b.input(m, r.partition))
	}
	// What is that old may have expired before the consumer came to it.
	old := r.b.inputAge > 0 && time.Since(batch[0].at) > r.b.inputAge/2
	look := old || !caughtUp && time.Since(r.looked) >= r.pace
	var end uint64
	if look {
		var err error
		if end, err = r.look(ctx); err != nil {
			return err
		}
	}
	r.last = batch[len(batch)-1].seq
	r.next = max(r.next, r.last+1)
	if err := r.deliver(r.batch, r.next, caughtUp); err != nil || !look {
		return err
	}
	r.seen = r.next
	if r.rider == nil && !caughtUp {
		return r.board(end)
	}
	return nil
}

// How often a reader that is behind looks where the stream begins and ends:
// soon after it began, when others may have come that could share a sweep, and
// then less and less often.
const (
	lookFirst = 10 * time.Millisecond
	lookEvery = 200 * time.Millisecond
)

// look tells whether inputs are lost since the last look: a consumer passes
// over what has expired. It gives the stream's last sequence.
func (r *inputReader) look(ctx context.Context) (last uint64, err error) {
	first, last, err := r.b.bounds(ctx, streamInputs)
	if err == nil && r.seen < first {
		err = &InputLostError{From: r.seen, First: first}
	}
	r.looked, r.pace = time.Now(), min(2*r.pace, lookEvery)
	return last, err
}

// board ends a reader that a sweep takes along.
func (r *inputReader) board(last uint64) error {
	if r.rider = r.b.sweep.board(r.partition, r.next, last); r.rider != nil {
		return errBehind
	}
	return nil
}

// ride takes what a sweep brings, until it is over.
func (r *inputReader) ride(ctx context.Context) error {
	rider := r.rider
	defer func() {
		r.rider = nil
		r.b.sweep.leave(rider)
	}()
	for {
		select {
		case p, ok := <-rider.in:
			if !ok {
				r.next = max(r.next, rider.end)
				_, err := r.look(ctx)
				return err
			}
			for len(p.batch) > 0 && p.batch[0].seq < r.next {
				p.batch = p.batch[1:] // boarded further on
			}
			if len(p.batch) == 0 {
				continue
			}
			if err := r.take(ctx, p.batch, false); err != nil {
				return err
			}
			r.next = max(r.next, p.next)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// idle tells where the position is, where other partitions have moved it.
func (r *inputReader) idle(ctx context.Context) error {
	before := r.next
	_, last, err := r.b.bounds(ctx, streamInputs)
	if err == nil {
		err = r.advance(ctx, last)
	}
	if err != nil || r.next == before {
		return err
	}
	return r.deliver(nil, r.next, true)
}

// advance moves the position behind last, the stream's end a moment ago, where
// nothing of this partition is waiting before it. Both are asked of the
// stream's leader: the consumer may live with a replica that lags behind.
func (r *inputReader) advance(ctx context.Context, last uint64) error {
	if last < r.next {
		return nil
	}
	filter := r.filter()
	if filter == "" {
		filter = ">"
	}
	m, err := r.b.lastMessage(ctx, streamInputs, filter)
	if err != nil {
		return err
	}
	if m == nil || m.Sequence <= r.last {
		r.next = last + 1
	}
	return nil
}

// longestToken bounds a token that can be answered, even to refuse it: a line
// of the protocol holds 4 KiB, and a condition names the token twice.
const longestToken = 1 << 10

// answerable tells whether events can be published under a token as it came: a
// server lets tokens such as *x pass, which are no subject to publish on.
func answerable(token string) bool {
	return len(token) <= longestToken && publishable(token)
}

// input reads what the subject tells: _llm.<p>.<token>.<kind> or _llm.<p>.rules.
func (b *Broker) input(m stored, partition int) Input {
	in := Input{Seq: m.seq, At: m.at, Subject: m.subject, Header: m.header, Data: m.data, Partition: partition, Foreign: true}
	p, rest, _ := strings.Cut(strings.TrimPrefix(m.subject, "_llm."), ".")
	if p != strconv.Itoa(partition) {
		return in
	}
	token, kind, more := strings.Cut(rest, ".")
	switch {
	case !more && token == KindRules:
		in.Kind, in.Foreign = KindRules, false
	case more && knownKind(kind):
		in.Token, in.Kind = token, kind
		in.Foreign = b.Partition(token) != partition || !answerable(token)
	}
	return in
}

func knownKind(kind string) bool {
	switch kind {
	case KindDelta, KindResult, KindProgress, KindInterrupt, KindEnd, KindClock:
		return true
	}
	return false
}

// InputBounds gives the sequences of the first and the last input. In an
// empty stream first is last + 1.
func (b *Broker) InputBounds(ctx context.Context) (first, last uint64, err error) {
	return b.bounds(ctx, streamInputs)
}
