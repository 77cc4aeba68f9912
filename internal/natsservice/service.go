// Package natsservice answers requests on NATS, as the services of the library's package
// micro do (NATS ADR-32). Those send an answer to any subject that the requester names,
// with the rights of this connection, so every client that may send a request could write
// into the logs. This package restricts those subjects.
//
// It promises:
//   - Each request is answered once, by one of all instances, or refused.
//   - When a service ends, the requests that it has taken are answered first.
//   - It keeps no order between requests, and after a crash their answers are missing.
package natsservice

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"streamer/internal/broker"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
)

// Service answers requests on the subjects of its endpoints.
type Service struct {
	Name        string // letters, digits, _ and -
	Version     string // a semantic version
	Description string
	Endpoints   []Endpoint

	AtOnce int           // maximum number of requests in progress, others are refused; if zero, 64
	Grace  time.Duration // time for requests in progress when Serve ends; if zero, 5 s

	// Status returns the status, as in HTTP, and the text that a requester receives for
	// an error of an endpoint.
	Status func(err error) (code int, text string)
}

// Endpoint is one kind of request.
type Endpoint struct {
	Name    string // as that of the service
	Subject string
	// Answer returns the answer to a request, of at most limit bytes. It is called from
	// several goroutines.
	Answer func(ctx context.Context, request []byte, limit int) ([]byte, error)
	// Data returns what the statistics of the endpoint have besides; if nil, nothing.
	Data func() any
}

const (
	replyMargin = 4 << 10 // maximum size of the headers of a reply
	statusBusy  = 503     // the requester can try again
)

// Broker is a connection to NATS.
type Broker interface {
	Conn() *nats.Conn
	Notice(msg string, err error)
}

// Serve answers requests until ctx ends. Then it accepts no more requests, completes
// those in progress, and returns nil.
func Serve(ctx context.Context, b Broker, s Service) error {
	if s.AtOnce == 0 {
		s.AtOnce = 64
	}
	if s.Grace == 0 {
		s.Grace = 5 * time.Second
	}
	// Requests continue after ctx ends, for the grace period.
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	l := newListener(b.Conn(), b.Notice, s)
	defer l.unsubscribe()
	if err := l.subscribe(work); err != nil {
		return fmt.Errorf("service %s: %w", s.Name, err)
	}
	<-ctx.Done()
	last, done := context.WithTimeout(work, s.Grace)
	defer done()
	l.unsubscribe()
	if l.nc.IsConnected() {
		if err := l.drain(last); err != nil && !errors.Is(err, nats.ErrConnectionClosed) {
			l.notice("requests may have been left without an answer", err)
		}
	}
	l.close()
	context.AfterFunc(last, cancel)
	l.running.Wait()
	return nil
}

// listener is a service that is running.
type listener struct {
	Service
	nc     *nats.Conn
	notice func(msg string, err error)
	slots  chan struct{}

	mu      sync.Mutex
	subs    []*nats.Subscription
	closed  bool
	stats   micro.Stats
	running sync.WaitGroup
}

func newListener(nc *nats.Conn, notice func(string, error), s Service) *listener {
	l := &listener{Service: s, nc: nc, notice: notice, slots: make(chan struct{}, s.AtOnce)}
	l.stats = micro.Stats{Type: micro.StatsResponseType, Started: time.Now().UTC(), ServiceIdentity: micro.ServiceIdentity{
		Name: s.Name, ID: strings.ToLower(rand.Text()), Version: s.Version, Metadata: map[string]string{},
	}}
	for _, e := range s.Endpoints {
		l.stats.Endpoints = append(l.stats.Endpoints, &micro.EndpointStats{Name: e.Name, Subject: e.Subject, QueueGroup: s.Name})
	}
	return l
}

func (l *listener) subscribe(work context.Context) error {
	for i, e := range l.Endpoints {
		sub, err := l.nc.QueueSubscribe(e.Subject, l.Name, func(m *nats.Msg) { l.take(work, i, m) })
		if err != nil {
			return err
		}
		l.subs = append(l.subs, sub)
	}
	// Requests for information are to all services, to all of this name, or to this
	// instance.
	for verb, answer := range map[string]func() any{"PING": l.ping, "INFO": l.info, "STATS": l.statistics} {
		for _, to := range []string{"", "." + l.Name, "." + l.Name + "." + l.stats.ID} {
			sub, err := l.nc.Subscribe(micro.APIPrefix+"."+verb+to, func(m *nats.Msg) { l.describe(m, answer) })
			if err != nil {
				return err
			}
			l.subs = append(l.subs, sub)
		}
	}
	return nil
}

func (l *listener) ping() any {
	return micro.Ping{ServiceIdentity: l.stats.ServiceIdentity, Type: micro.PingResponseType}
}

func (l *listener) info() any {
	info := micro.Info{ServiceIdentity: l.stats.ServiceIdentity, Type: micro.InfoResponseType, Description: l.Description}
	for _, e := range l.Endpoints {
		info.Endpoints = append(info.Endpoints, micro.EndpointInfo{Name: e.Name, Subject: e.Subject, QueueGroup: l.Name, Metadata: map[string]string{}})
	}
	return info
}

func (l *listener) statistics() any {
	for i, e := range l.Endpoints {
		if e.Data != nil {
			l.stats.Endpoints[i].Data, _ = json.Marshal(e.Data()) // without it if it cannot be marshalled
		}
	}
	return l.stats
}

func (l *listener) describe(m *nats.Msg, what func() any) {
	if !broker.RepliesTo(m.Reply) {
		return
	}
	l.mu.Lock()
	body, err := json.Marshal(what())
	l.mu.Unlock()
	if err == nil { // these structs always marshal
		l.send(&nats.Msg{Subject: m.Reply, Data: body})
	}
}

// unsubscribe makes the server send no more requests. Those that it has sent are still
// answered.
func (l *listener) unsubscribe() {
	for _, sub := range l.subs {
		_ = sub.Drain() // fails only where the connection is closed
	}
	l.subs = nil
}

// drain waits until all requests that the server had sent are in progress.
func (l *listener) drain(ctx context.Context) error {
	if err := l.nc.FlushWithContext(ctx); err != nil {
		return err
	}
	taken := make(chan struct{})
	if err := l.nc.Barrier(func() { close(taken) }); err != nil {
		return err
	}
	select {
	case <-taken:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// close makes take refuse requests.
func (l *listener) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
}

// take starts to answer a request of an endpoint. One goroutine per endpoint calls it.
// It must not block: the library drops messages silently when too many wait.
func (l *listener) take(work context.Context, endpoint int, m *nats.Msg) {
	if !broker.RepliesTo(m.Reply) {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		l.refuse(m.Reply, statusBusy, "the service is shutting down; try again")
		return
	}
	select {
	case l.slots <- struct{}{}:
		l.running.Go(func() {
			defer func() { <-l.slots }()
			l.serve(work, endpoint, m)
		})
	default:
		l.refuse(m.Reply, statusBusy, fmt.Sprintf("%d requests are in progress, which is the limit; try again", l.AtOnce))
	}
}

func (l *listener) serve(work context.Context, endpoint int, m *nats.Msg) {
	start := time.Now()
	answer, err := l.Endpoints[endpoint].Answer(work, m.Data, int(l.nc.MaxPayload())-replyMargin)
	if err != nil {
		code, text := l.Status(err)
		l.refuse(m.Reply, code, text)
	} else {
		l.send(&nats.Msg{Subject: m.Reply, Data: answer})
	}
	l.count(endpoint, time.Since(start), err)
}

func (l *listener) count(endpoint int, took time.Duration, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	stats := l.stats.Endpoints[endpoint]
	stats.NumRequests++
	stats.ProcessingTime += took
	stats.AverageProcessingTime = stats.ProcessingTime / time.Duration(stats.NumRequests)
	if err != nil {
		stats.NumErrors++
		stats.LastError = err.Error()
	}
}

// refuse sends the reason why there is no answer: in the headers that ADR-32 defines
// and, as the gateway does, in the body.
func (l *listener) refuse(reply string, code int, text string) {
	body, _ := json.Marshal(map[string]string{"error": text}) // cannot fail
	l.send(&nats.Msg{Subject: reply, Data: body, Header: nats.Header{
		micro.ErrorCodeHeader: {strconv.Itoa(code)},
		micro.ErrorHeader:     {strings.Join(strings.Fields(text), " ")},
	}})
}

func (l *listener) send(m *nats.Msg) {
	if err := l.nc.PublishMsg(m); err != nil {
		l.notice("an answer of service "+l.Name+" was not sent", err)
	}
}
