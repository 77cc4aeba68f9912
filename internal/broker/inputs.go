package broker

import (
	"cmp"
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
	alone := reading{
		stream:   streamInputs,
		filter:   r.filter(),
		position: r.position,
		deliver:  func(batch []stored, pending uint64) error { return r.alone(ctx, batch, pending) },
		idle:     r.idle,
	}
	for {
		err := b.read(ctx, alone, r.next)
		if on, ok := errors.AsType[*boarded](err); ok {
			err = r.ride(ctx, on.rider)
		} else if errors.Is(err, errMissed) {
			err = b.again.pause(ctx, missedPause)
		}
		if err != nil {
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
	fresh     time.Time // the next input was stored later than this; zero if not known
	caughtUp  bool      // as it was delivered last
	looked    look
	batch     []Input
	deliver   func([]Input, uint64, bool) error
}

// errMissed ends a consumer whose replica lacks what the stream has.
var errMissed = errors.New("broker: a replica lacks inputs")

// missedPause is how long it is waited before another is made, which may live
// elsewhere. Until then the inputs are there, or gone everywhere.
const missedPause = 250 * time.Millisecond

// boarded ends a consumer of a partition that a sweep takes along.
type boarded struct{ rider *rider }

// Error is never seen.
func (*boarded) Error() string { return "broker: far behind" }

// InputPosition gives where a partition stands of which every input below next
// has been delivered: further on, where only other partitions have anything
// there. It returns an *InputLostError as Inputs does.
func (b *Broker) InputPosition(ctx context.Context, partition int, next uint64) (uint64, error) {
	r := &inputReader{b: b, partition: partition, last: next - 1, next: next}
	_, err := r.advance(ctx)
	return r.next, err
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
		_, err := r.advance(ctx)
		ahead := (*InputAheadError)(nil)
		if !errors.As(err, &ahead) || try == 5 {
			return err
		}
		if err := r.b.again.pause(ctx, backoff(try)); err != nil {
			return err
		}
	}
}

// alone takes what the partition's own consumer brings.
func (r *inputReader) alone(ctx context.Context, batch []stored, pending uint64) error {
	if len(batch) > 0 {
		if err := r.intact(ctx, batch); err != nil {
			return err
		}
	}
	if len(batch) > 0 || pending == 0 {
		if err := r.take(batch, r.next, pending == 0); err != nil {
			return err
		}
	}
	if rider := r.b.sweep.board(r.partition, r.next, pending); rider != nil {
		return &boarded{rider}
	}
	return nil
}

// What expires is asked for before it is that old, since clocks differ; and an
// input that is nearly that old may be the first that a consumer's replica still
// has, though the stream's leader has more.
const (
	expiryMargin = 10 * time.Minute
	expiryEdge   = 10 * time.Second
)

// old tells whether what was stored at a moment has expired, or will within a
// margin.
func (b *Broker) old(at time.Time, margin time.Duration) bool {
	return b.inputAge > 0 && time.Since(at) > b.inputAge-min(b.inputAge/2, margin)
}

// intact tells whether none has expired of the inputs between those that were
// delivered and those that came: a consumer passes over them in silence. It
// gives errMissed where only the consumer's replica lacks some.
func (r *inputReader) intact(ctx context.Context, batch []stored) error {
	if !r.b.old(r.fresh, expiryMargin) {
		return nil
	}
	next := r.next
	for len(batch) > 0 && batch[0].seq == next {
		next, batch = next+1, batch[1:]
	}
	if len(batch) == 0 {
		return nil
	}
	m, err := r.b.message(ctx, streamInputs, map[string]any{"seq": next, "next_by_subj": cmp.Or(r.filter(), ">")})
	if err != nil {
		return err
	}
	first, _, err := r.b.bounds(ctx, streamInputs)
	switch {
	case err != nil:
		return err
	case next < first:
		return &InputLostError{From: next, First: first}
	case m != nil && m.Sequence < batch[0].seq:
		return errMissed
	}
	return nil
}

// take delivers what is new of a batch, behind which the partition has nothing
// below next.
func (r *inputReader) take(batch []stored, next uint64, caughtUp bool) error {
	r.batch = r.batch[:0]
	for _, m := range batch {
		if m.seq >= r.next {
			r.batch = append(r.batch, r.b.input(m, r.partition))
		}
	}
	if n := len(r.batch); n > 0 {
		r.last, r.fresh = r.batch[n-1].Seq, r.batch[n-1].At
	}
	r.next, r.caughtUp = max(r.next, r.last+1, next), caughtUp
	return r.deliver(r.batch, r.next, caughtUp)
}

// ride takes what a sweep brings, until it is over.
func (r *inputReader) ride(ctx context.Context, on *rider) error {
	defer r.b.sweep.leave(on)
	for {
		select {
		case p, ok := <-on.in:
			if !ok {
				return nil
			}
			if p.next <= r.next { // boarded further on
				continue
			}
			if err := r.take(p.batch, p.next, false); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// idle tells where the position is, where other partitions have moved it, and
// that nothing is waiting, where what was waiting has been deleted.
func (r *inputReader) idle(ctx context.Context) error {
	before := r.next
	clear, err := r.advance(ctx)
	if ahead := (*InputAheadError)(nil); errors.As(err, &ahead) {
		return nil // a stale answer; else the consumer is lost as well
	}
	if err != nil || !clear || r.next == before && r.caughtUp {
		return err
	}
	return r.take(nil, r.next, true)
}

// look is where the stream ended at a moment, when the partition had been read
// up to an input.
type look struct {
	at         time.Time
	read, last uint64
}

// staleLeader is longer than a server that was cut off from the others answers
// as if it still led them.
const staleLeader = 5 * time.Second

// advance moves the position behind the stream's end where nothing of this
// partition is waiting before it; then it is clear. All is asked of the stream's
// leader: the consumer may live with a replica that lags behind. Where there are
// replicas, one who led them earlier may say that nothing is waiting: so the
// position moves only to where the stream ended so long before that he led it
// then.
func (r *inputReader) advance(ctx context.Context) (clear bool, err error) {
	now := look{at: time.Now(), read: r.last}
	first, last, err := r.b.bounds(ctx, streamInputs)
	switch {
	case err != nil:
		return false, err
	case r.next < first:
		return false, &InputLostError{From: r.next, First: first}
	case r.next > last+1:
		return false, &InputAheadError{From: r.next, Last: last}
	case r.next == last+1:
		r.fresh = now.at
		return true, nil
	}
	m, err := r.b.lastMessage(ctx, streamInputs, cmp.Or(r.filter(), ">"))
	if err != nil || m != nil && m.Sequence > r.last {
		return false, err
	}
	now.last = last
	to := now
	if r.b.replicated {
		if r.looked.read == r.last && now.at.Sub(r.looked.at) < staleLeader {
			return false, nil
		}
		to, r.looked = r.looked, now
		if to.at.IsZero() || to.read != r.last {
			return false, nil
		}
	}
	r.next, r.fresh = max(r.next, to.last+1), to.at
	return true, nil
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
