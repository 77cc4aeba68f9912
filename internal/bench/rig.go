package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"streamer/internal/broker"
	"streamer/internal/client"
	"streamer/internal/events"
	"streamer/internal/lifecycle"
	"streamer/internal/worker"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nuid"
	"github.com/rs/zerolog"
)

// Rig is the server and the connections of a measurement. Everything that is
// compared uses the same kind of connection.
type Rig struct {
	*feed
	Options broker.Options // of all connections
	NC      *nats.Conn     // of subscribers, and of what is compared
	Nonce   string         // in the names of sessions

	log      zerolog.Logger
	rules    *lifecycle.Rules
	prefixes int
	undo     []func()
}

// openRig connects to the given server, or starts one on loopback. The caller closes
// the rig also after an error.
func openRig(ctx context.Context, log zerolog.Logger, o broker.Options) (r *Rig, err error) {
	o.OnNotice = func(msg string, err error) { log.Warn().Err(err).Msg(msg) }
	r = &Rig{Options: o, Nonce: nuid.Next(), log: log}
	if o.URL == "" {
		if r.Options.URL, err = r.startServer(); err != nil {
			return r, fmt.Errorf("bench: server: %w", err)
		}
	}
	b, err := client.OpenBroker(ctx, r.Options)
	if err != nil {
		return r, err
	}
	r.undo = append(r.undo, func() { _ = b.Close() })
	r.feed = newFeed(b)
	r.NC, err = r.Connect(ctx)
	return r, err
}

// startServer starts a server that allows every connection to write internal
// subjects. The embedded server of serve allows only its own process, so that
// nothing could be compared with it over the same kind of connection.
func (r *Rig) startServer() (url string, err error) {
	dir, err := os.MkdirTemp("", "streamer-bench-")
	if err != nil {
		return "", err
	}
	r.undo = append(r.undo, func() { _ = os.RemoveAll(dir) })
	s, err := server.NewServer(&server.Options{
		ServerName: "bench", Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true,
		JetStream: true, StoreDir: dir, SyncInterval: time.Second,
	})
	if err != nil {
		return "", err
	}
	s.Start()
	r.undo = append(r.undo, func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(2*time.Minute) || !s.JetStreamEnabled() {
		return "", errors.New("it did not start")
	}
	return s.ClientURL(), nil
}

func (r *Rig) close() {
	for i := len(r.undo) - 1; i >= 0; i-- {
		r.undo[i]()
	}
}

// Connect returns a further connection to the server, until the end of the
// measurement.
func (r *Rig) Connect(ctx context.Context) (*nats.Conn, error) {
	b, err := broker.OpenBare(ctx, r.Options)
	if err != nil {
		return nil, err
	}
	r.undo = append(r.undo, func() { _ = b.Close() })
	return b.Conn(), nil
}

// Prefix returns a prefix of session names that was not used before. All have the
// same length.
func (r *Rig) Prefix() string {
	r.prefixes++
	return fmt.Sprintf("bench-%s-%03d-", r.Nonce, r.prefixes)
}

// SetRules puts rules into force for inputs that are stored from now on.
// Throughput is measured without events about streaming args: how many deltas
// share an event by default depends on how fast they were stored.
func (r *Rig) SetRules(ctx context.Context, deltas lifecycle.Deltas) error {
	rules := lifecycle.DefaultRules()
	rules.Deltas = deltas
	data, err := json.Marshal(rules)
	for p := range r.Broker.Partitions() {
		if err == nil {
			err = r.Broker.PublishWait(ctx, r.Broker.RulesPub(p, "rules:"+nuid.Next(), data)).Err
		}
	}
	if err != nil {
		return fmt.Errorf("rules: %w", err)
	}
	r.rules = &rules
	return nil
}

// Count counts the events of a type that a subscriber receives of sessions whose
// names have the prefix. stop ends the subscription.
func (r *Rig) Count(prefix string, of events.Type) (count *atomic.Int64, stop func(), err error) {
	count = new(atomic.Int64)
	sub, err := r.NC.Subscribe("toolcalls.*.event."+string(of), func(m *nats.Msg) {
		if strings.HasPrefix(m.Subject[len("toolcalls."):], prefix) {
			count.Add(1)
		}
	})
	if err != nil {
		return nil, nil, fmt.Errorf("subscribing: %w", err)
	}
	_ = sub.SetPendingLimits(-1, -1) // bounded by the number of calls
	return count, func() { _ = sub.Unsubscribe() }, r.NC.Flush()
}

// Worker is a worker that runs until Stop returns.
type Worker struct {
	*worker.Worker
	Stop func()
}

// Work starts a worker that carries all partitions.
func (r *Rig) Work(ctx context.Context, o worker.Options) Worker {
	return r.workOn(ctx, r.Broker, r.log, o)
}

func (r *Rig) workOn(ctx context.Context, log worker.Log, logger zerolog.Logger, o worker.Options) Worker {
	o.Nonce, o.Rules = nuid.Next(), r.rules
	all := make([]int, r.Broker.Partitions())
	for i := range all {
		all[i] = i
	}
	w := &worker.Worker{Log: log, Logger: logger, Options: o}
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { _ = w.Run(ctx, all) })
	return Worker{w, sync.OnceFunc(func() { cancel(); wg.Wait() })}
}

// Until waits until done returns true. Its error names what stopped the worker.
func (w Worker) Until(ctx context.Context, done func() bool) error {
	return Until(ctx, done, w.Problem)
}

// Until waits until done returns true or ctx ends. Its error includes that of why.
func Until(ctx context.Context, done func() bool, why func() error) error {
	for !done() {
		if time.Sleep(2 * time.Millisecond); ctx.Err() != nil {
			return errors.Join(ctx.Err(), why())
		}
	}
	return nil
}
