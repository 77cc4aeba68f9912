package broker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
)

// Service answers requests on a subject, beside all other instances of it: a
// request goes to one of them. NATS tools find it as they find those of the
// library's micro package (NATS ADR-32).
type Service struct {
	Name        string // letters, digits, _ and -
	Version     string // as of semver.org
	Description string
	Endpoint    string // as Name
	Subject     string

	AtOnce int           // requests under way at the most, others are refused; if zero, 64
	Grace  time.Duration // in which requests are finished at the end; if zero, 5 s

	// Answer answers a request in at most limit bytes, from many goroutines.
	// Where it cannot, Status tells why.
	Answer func(ctx context.Context, request []byte, limit int) ([]byte, error)
	// Status gives what the requester is told of an error of Answer's: a
	// status as HTTP's, and words.
	Status func(err error) (code int, text string)
}

const (
	replyMargin = 4 << 10 // what the headers of a reply take at most
	statusBusy  = 503     // tells a requester to ask again
)

// Serve answers requests until ctx ends. Then it takes no more of them,
// finishes those it has, and returns nil.
//
// The library's own services send their answers wherever the requester says,
// with the rights of this connection, and so would let anybody who may ask
// write into the logs; this one does not.
func (b *Broker) Serve(ctx context.Context, s Service) error {
	if s.AtOnce == 0 {
		s.AtOnce = 64
	}
	if s.Grace == 0 {
		s.Grace = 5 * time.Second
	}
	// Requests outlive ctx, by the grace period.
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	l := newListening(b, s)
	defer l.unsubscribe()
	if err := l.subscribe(work); err != nil {
		return fmt.Errorf("broker: service %s: %w", s.Name, err)
	}
	<-ctx.Done()
	last, done := context.WithTimeout(work, s.Grace)
	defer done()
	l.unsubscribe()
	if b.Connected() {
		if err := l.drain(last); err != nil && !errors.Is(err, nats.ErrConnectionClosed) {
			b.notice("requests may have been left without an answer", err)
		}
	}
	l.close()
	context.AfterFunc(last, cancel)
	l.running.Wait()
	return nil
}

// listening is a service that is running.
type listening struct {
	Service
	b     *Broker
	card  card
	slots chan struct{}

	mu      sync.Mutex
	subs    []*nats.Subscription
	closed  bool
	stats   micro.EndpointStats
	running sync.WaitGroup
}

func newListening(b *Broker, s Service) *listening {
	l := &listening{Service: s, b: b, card: newCard(s), slots: make(chan struct{}, s.AtOnce)}
	l.stats = micro.EndpointStats{Name: s.Endpoint, Subject: s.Subject, QueueGroup: s.Name}
	return l
}

func (l *listening) subscribe(work context.Context) error {
	sub, err := l.b.nc.QueueSubscribe(l.Subject, l.Name, func(m *nats.Msg) { l.take(work, m) })
	if err != nil {
		return err
	}
	l.subs = append(l.subs, sub)
	for subject, tell := range l.verbs() {
		sub, err := l.b.nc.Subscribe(subject, func(m *nats.Msg) { l.tell(m, tell()) })
		if err != nil {
			return err
		}
		l.subs = append(l.subs, sub)
	}
	return nil
}

// unsubscribe lets the server send no more. What it has sent is still taken.
func (l *listening) unsubscribe() {
	for _, sub := range l.subs {
		_ = sub.Drain() // fails where the connection is closed, and then there is nothing to do
	}
	l.subs = nil
}

// drain waits until all requests that the server had sent are taken.
func (l *listening) drain(ctx context.Context) error {
	if err := l.b.nc.FlushWithContext(ctx); err != nil {
		return err
	}
	taken := make(chan struct{})
	if err := l.b.nc.Barrier(func() { close(taken) }); err != nil {
		return err
	}
	select {
	case <-taken:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (l *listening) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
}

// take starts to answer a request. It is called by one goroutine and must not
// block: what waits behind it would be dropped one day, without a word.
func (l *listening) take(work context.Context, m *nats.Msg) {
	if !repliesTo(m.Reply) {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		l.refuse(m.Reply, statusBusy, "the service is shutting down; ask again")
		return
	}
	select {
	case l.slots <- struct{}{}:
		l.running.Go(func() {
			defer func() { <-l.slots }()
			l.serve(work, m)
		})
	default:
		l.refuse(m.Reply, statusBusy, fmt.Sprintf("%d requests are under way, and more are not taken; ask again", l.AtOnce))
	}
}

// serve answers a request.
func (l *listening) serve(work context.Context, m *nats.Msg) {
	start := time.Now()
	answer, err := l.Answer(work, m.Data, l.b.MaxPayload()-replyMargin)
	if err != nil {
		code, text := l.Status(err)
		l.refuse(m.Reply, code, text)
	} else {
		l.send(&nats.Msg{Subject: m.Reply, Data: answer})
	}
	l.count(time.Since(start), err)
}

func (l *listening) count(took time.Duration, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stats.NumRequests++
	l.stats.ProcessingTime += took
	l.stats.AverageProcessingTime = l.stats.ProcessingTime / time.Duration(l.stats.NumRequests)
	if err != nil {
		l.stats.NumErrors++
		l.stats.LastError = err.Error()
	}
}

// refuse tells a requester why there is no answer, in headers as the rules
// have it and, for those who only look at the body, as the gateway would.
func (l *listening) refuse(reply string, code int, text string) {
	body, _ := json.Marshal(map[string]string{"error": text}) // cannot fail
	l.send(&nats.Msg{Subject: reply, Data: body, Header: nats.Header{
		micro.ErrorCodeHeader: {strconv.Itoa(code)},
		micro.ErrorHeader:     {strings.Join(strings.Fields(text), " ")},
	}})
}

func (l *listening) send(m *nats.Msg) {
	if err := l.b.nc.PublishMsg(m); err != nil {
		l.b.notice("an answer of service "+l.Name+" was not sent", err)
	}
}

// repliesTo tells whether an answer may be sent to a subject: not to none, nor
// to where only streamer, the server or a publisher of inputs may speak. A
// requester names it, and may have fewer rights than this connection.
func repliesTo(subject string) bool {
	if subject == "" || subject[0] == '$' {
		return false
	}
	root, _, _ := strings.Cut(subject, ".")
	switch root + "." {
	case "llm.", "_llm.", "toolcalls.", "_toolcalls.", rootBlobs:
		return false
	}
	return true
}
