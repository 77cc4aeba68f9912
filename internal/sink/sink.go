// Package sink delivers stored events to a URL as webhooks: signed as Standard Webhooks
// defines (https://www.standardwebhooks.com), or as a batch of CloudEvents 1.0.
//
// It promises:
//   - Each event that is stored after the sink was created, and that its filter selects, is
//     delivered at least once, or is a dead letter. Session and event id are its key.
//   - With one process the order is that of the event log. Processes with a sink of the same
//     name share its events.
//   - A server that does not answer, or is busy, gets the same batch again, after pauses
//     that grow, for as long as GiveUp. A crash begins with the last batch.
package sink

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"net/http"
	"sync/atomic"
	"time"

	"streamer/internal/broker"
	"streamer/internal/events"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
)

const (
	consumerPrefix = "SINK_"
	ackWait        = time.Minute      // after a crash, the batch is delivered again then
	fetchWait      = 20 * time.Second // of one request for the next event
	postTime       = 20 * time.Second
	stopTime       = 3 * time.Second // for the request in progress when the sink stops
	firstPause     = time.Second
	longestPause   = 5 * time.Minute
	defaultBatch   = 100
	maxBatch       = 1000
	maxBody        = 1 << 20 // of the events in one request, unless one alone has more
	defaultGiveUp  = time.Hour
)

// Options configure a sink.
type Options struct {
	Name    string // of letters, digits, - and _; if "", default
	URL     string // https, or http
	Secrets Secrets
	Types   []events.Type             // if nil, all but Synthetic
	Match   func(session string) bool // if nil, all sessions

	CloudEvents bool
	Batch       int           // maximum number of events in one request; if zero, 100
	GiveUp      time.Duration // time after which events that cannot be delivered are dead letters; if zero, 1 h
}

// Broker is a connection to NATS.
type Broker interface {
	Conn() *nats.Conn
	Retention() (inputs, events time.Duration)
}

// Sink delivers events. New checks its options.
type Sink struct {
	Options
	broker Broker
	log    zerolog.Logger
	client http.Client

	pause              time.Duration // before the first repetition
	ackWait, fetchWait time.Duration
	read               uint64 // sequence of the last event that was read

	delivered, failed, dead atomic.Uint64
	problem                 atomic.Pointer[string]
}

// New returns a sink.
func New(o Options, b Broker, log zerolog.Logger) (*Sink, error) {
	o.Name, o.Batch, o.GiveUp = cmp.Or(o.Name, "default"), cmp.Or(o.Batch, defaultBatch), cmp.Or(o.GiveUp, defaultGiveUp)
	if token, err := events.Token(o.Name); err != nil || token != o.Name {
		return nil, fmt.Errorf("the name %.50q of a sink has other characters than letters, digits, - and _", o.Name)
	}
	if o.URL == "" {
		return nil, errors.New("a sink needs a URL")
	}
	if r, err := http.NewRequestWithContext(context.Background(), http.MethodPost, o.URL, http.NoBody); err != nil || r.URL.Scheme != "https" && r.URL.Scheme != "http" || r.URL.Host == "" {
		return nil, errors.New("the URL of a sink is not one of https or http")
	}
	if o.Batch > maxBatch {
		return nil, fmt.Errorf("a batch of %d events is too large: at most %d", o.Batch, maxBatch)
	}
	return &Sink{
		Options: o, broker: b, log: log.With().Str("sink", o.Name).Logger(), pause: firstPause, ackWait: ackWait, fetchWait: fetchWait,
		client: http.Client{Timeout: postTime, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
	}, nil
}

// Counts returns how many events were delivered, how many requests failed, and how many
// events are dead letters, since New.
func (s *Sink) Counts() (delivered, failed, dead uint64) {
	return s.delivered.Load(), s.failed.Load(), s.dead.Load()
}

// Warnings returns why nothing is delivered at present.
func (s *Sink) Warnings() []string {
	if p := s.problem.Load(); p != nil {
		return []string{"sink " + s.Name + ": " + *p}
	}
	return nil
}

// Run delivers events until ctx ends.
func (s *Sink) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		_ = s.insist(ctx, func(connected context.Context, try *int) error { return s.consume(ctx, connected, try) })
	}
	return nil
}

// insist calls fn until it returns no error, or ctx ends. The pauses between the calls grow,
// until fn sets try to 0. connected ends with ctx, or when the connection to NATS comes back,
// which also ends a pause.
func (s *Sink) insist(ctx context.Context, fn func(connected context.Context, try *int) error) error {
	for try := 0; ; try++ {
		connected, stop := s.untilReconnected(ctx)
		err := fn(connected, &try)
		if err != nil && connected.Err() == nil {
			if !s.broker.Conn().IsConnected() {
				err = errors.New("not connected to NATS") // the text of the library is about its buffers
			}
			s.fail(err)
			s.wait(connected, s.backoff(try))
		}
		if connected.Err() != nil {
			try = -1
		}
		stop()
		if err == nil || ctx.Err() != nil {
			return err
		}
	}
}

func (s *Sink) untilReconnected(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	nc := s.broker.Conn()
	changed := nc.StatusChanged(nats.CONNECTED)
	go func() {
		defer nc.RemoveStatusListener(changed)
		defer cancel()
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

func (s *Sink) fail(err error) {
	s.note(err.Error())
	s.failed.Add(1)
	s.log.Warn().Err(err).Msg("events not delivered; trying again")
}

func (s *Sink) note(problem string) { s.problem.Store(&problem) }

// backoff returns the pause before try n+2, with jitter.
func (s *Sink) backoff(n int) time.Duration {
	d := min(s.pause<<min(n, 20), longestPause)
	return d/2 + rand.N(d/2+1)
}

func (s *Sink) wait(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

// consume delivers batches until connected ends, or a request to NATS fails.
func (s *Sink) consume(ctx, connected context.Context, try *int) error {
	js, err := jetstream.New(s.broker.Conn())
	if err != nil {
		return fmt.Errorf("sink: %w", err)
	}
	if err := s.makeDead(ctx, js); err != nil {
		return err
	}
	consumer, err := js.CreateOrUpdateConsumer(ctx, broker.StreamEvents, jetstream.ConsumerConfig{
		Durable: consumerPrefix + s.Name, DeliverPolicy: jetstream.DeliverNewPolicy,
		AckPolicy: jetstream.AckExplicitPolicy, AckWait: s.ackWait, MaxAckPending: -1,
	})
	if err != nil {
		return fmt.Errorf("sink: consumer %s%s: %w", consumerPrefix, s.Name, err)
	}
	// This process has acknowledged what it has read. What was read behind that, by a process
	// that ended, another one, or into a lost connection, is delivered again only after
	// ackWait: later events would overtake it.
	if i := consumer.CachedInfo(); i.NumAckPending > 0 && i.Delivered.Stream > s.read {
		again := s.ackWait + s.pause
		s.note(fmt.Sprintf("events that were read and not acknowledged are delivered again first, in at most %v", again))
		s.wait(connected, again)
	}
	for connected.Err() == nil {
		batch, err := s.fetch(connected, consumer)
		if err != nil {
			return fmt.Errorf("sink: reading events: %w", err)
		}
		s.problem.Store(nil)
		*try = 0
		if len(batch) > 0 {
			if err := s.take(ctx, js, batch); err != nil {
				return err
			}
		}
	}
	return nil
}

// fetch waits for an event and returns it with those that follow already. A request for
// several would wait until there are so many.
func (s *Sink) fetch(ctx context.Context, consumer jetstream.Consumer) (batch []jetstream.Msg, err error) {
	waiting, cancel := context.WithTimeout(ctx, s.fetchWait)
	defer cancel()
	first, err := consumer.Fetch(1, jetstream.FetchContext(waiting))
	if err != nil {
		return nil, err
	}
	for m := range first.Messages() {
		batch = append(batch, m)
	}
	if len(batch) == 0 || s.Batch == 1 {
		if err = first.Error(); waiting.Err() != nil || errors.Is(err, nats.ErrTimeout) {
			err = nil
		}
		return batch, err
	}
	if rest, err := consumer.FetchNoWait(s.Batch - 1); err == nil { // else the next request says why
		for m := range rest.Messages() {
			batch = append(batch, m)
		}
	}
	return batch, nil
}

// take delivers the selected events of a batch, and acknowledges all of it when each is
// delivered or a dead letter. It returns an error only where ctx ends before.
func (s *Sink) take(ctx context.Context, js jetstream.JetStream, batch []jetstream.Msg) error {
	working, stop := context.WithCancel(ctx)
	defer stop()
	go s.keep(working, batch)
	var list []event
	for _, m := range batch {
		e, ok := s.selected(m)
		if ok {
			list = append(list, e)
		}
		s.read = max(s.read, e.seq)
	}
	err := error(nil)
	for part := range parts(list) {
		if err = s.deliver(ctx, js, part); err != nil {
			break
		}
	}
	if err != nil {
		for _, m := range batch {
			_ = m.Nak() // else it is delivered again only after ackWait
		}
		return err
	}
	return s.insist(ctx, func(context.Context, *int) error {
		for len(batch) > 0 {
			if err := batch[0].Ack(); err != nil {
				return fmt.Errorf("sink: acknowledging event %s: %w", batch[0].Subject(), err)
			}
			batch = batch[1:]
		}
		return nil
	})
}

// parts returns the parts of a batch that are posted in one request.
func parts(list []event) iter.Seq[[]event] {
	return func(yield func([]event) bool) {
		for n, bytes := 0, 0; len(list) > 0; n, bytes = 0, 0 {
			for n < len(list) && (n == 0 || bytes+len(list[n].data) <= maxBody) {
				bytes += len(list[n].data)
				n++
			}
			if !yield(list[:n]) {
				return
			}
			list = list[n:]
		}
	}
}

// keep reports to the server that a batch is being worked on, until ctx ends.
func (s *Sink) keep(ctx context.Context, batch []jetstream.Msg) {
	t := time.NewTicker(s.ackWait / 3)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			for _, m := range batch {
				_ = m.InProgress() // else it is delivered again
			}
		}
	}
}

// deliver posts events until they are accepted. Where the server refuses several at once,
// they are posted one by one, so that one of them is the dead letter and not all.
func (s *Sink) deliver(ctx context.Context, js jetstream.JetStream, list []event) error {
	err := s.repeat(ctx, list)
	refused := errors.Is(err, errRefused)
	switch {
	case err == nil:
		s.delivered.Add(uint64(len(list)))
		s.problem.Store(nil)
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case refused && len(list) > 1:
		for i := range list {
			if err := s.deliver(ctx, js, list[i:i+1]); err != nil {
				return err
			}
		}
		return nil
	}
	return s.insist(ctx, func(context.Context, *int) error { return s.bury(ctx, js, list, err) })
}

// repeat posts events until they are accepted or refused, or GiveUp is over.
func (s *Sink) repeat(ctx context.Context, list []event) error {
	began := time.Now()
	for try := 0; ; try++ {
		after, err := s.post(ctx, list)
		if err == nil || errors.Is(err, errRefused) || ctx.Err() != nil || time.Since(began) > s.GiveUp {
			return err
		}
		s.fail(err)
		s.wait(ctx, max(s.backoff(try), min(after, longestPause)))
	}
}
