// Package server configures and wires what runs: a Server is broker, worker and gateway
// in one process.
//
// A Server accepts inputs only after its settings are in force. For the order of
// inputs and events, and for crashes, the promises of broker and worker apply
// unchanged.
//
// The garbage collector is paced (PaceGC), because with Go's defaults a server with 60,000
// open sessions still takes 512 MB ten seconds after a restart, instead of 256 MB, and
// streamer bench --parts throughput collects three times as often. The memory limit of a
// container is read (BoundMemory), because Go reads only its CPU limit.
package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"sync"
	"time"

	sseui "streamer/examples/sse-ui"
	"streamer/internal/client"
	"streamer/internal/events"
	"streamer/internal/gateway"
	"streamer/internal/natsservice"
	"streamer/internal/repair"
	"streamer/internal/session"
	"streamer/internal/sink"
	"streamer/internal/tap"
	"streamer/internal/telemetry"
	"streamer/internal/worker"

	"github.com/nats-io/nuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
)

// Server is a worker, a gateway and the repair service on one broker. A process can
// have the role of one of them only.
type Server struct {
	Broker *client.Broker
	Worker *worker.Worker
	// Services are more NATS services, which Run serves if the process has the role
	// gateway.
	Services []natsservice.Service
	// Announced are sessions that are listed although they have no events yet. They are set
	// before Run.
	Announced []gateway.SessionInfo

	config    Config
	log       zerolog.Logger
	gateway   *gateway.Gateway
	repairs   *repair.Service
	tap       *tap.Tap   // nil for none
	sink      *sink.Sink // nil for none
	listener  *net.TCPListener
	spans     *telemetry.Spans // nil if spans are not sent
	opened    chan struct{}    // closed when inputs are accepted
	pause     pause
	retention retention
}

const openTime = time.Minute

// Open connects to NATS, or starts the embedded server, and prepares the worker, the
// gateway and the repair service for Run. The caller closes the server.
func Open(ctx context.Context, c Config, log zerolog.Logger) (*Server, error) {
	s := &Server{config: c, log: log, opened: make(chan struct{})}
	if err := s.open(ctx); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

func (s *Server) open(ctx context.Context) (err error) {
	if err := s.config.check(); err != nil {
		return err
	}
	if _, err := s.config.Rules.read(); err != nil { // before streams are created
		return err
	}
	if _, err := s.config.Tap.TapOptions(); err != nil {
		return err
	}
	var options gateway.Options
	if s.config.HTTPListen != "" {
		if options, err = s.config.gateway(ctx, s.log); err != nil {
			return err
		}
		if s.listener, err = listen(s.config.HTTPListen); err != nil {
			return err
		}
	}
	if err := s.openBroker(ctx, &options); err != nil {
		return err
	}
	_, kept := s.Broker.Retention()
	if err := checkRetain(s.config.Retain, kept); err != nil {
		return err
	}
	rules, err := s.config.Rules.Fold(s.Broker.Retention())
	if err != nil {
		return err
	}
	workerOptions := s.config.Worker
	workerOptions.Rules, workerOptions.Nonce = rules, nuid.Next()
	calls := telemetry.NewCalls(s.config.MetricTools)
	options.Collectors = []prometheus.Collector{calls}
	if workerOptions.Observer, err = s.observer(ctx, calls); err != nil {
		return err
	}
	workerOptions.PadInputs = s.Embedded() // whose clients are admitted later
	s.Worker = &worker.Worker{Log: s.Broker, Logger: s.log, Options: workerOptions}
	if s.config.Roles.Worker {
		if err := s.Broker.ServeStored(s.Worker.StoredTo); err != nil {
			return err
		}
	}
	s.repairs = &repair.Service{Log: s.Broker, MaxBytes: s.config.RepairBytes}
	if s.sink, err = s.openSink(); err != nil || s.listener == nil {
		return err
	}
	options.OnlyHealth = !s.config.Roles.Gateway
	options.Check, options.Repairs = session.Check, s.repairs
	options.Trial = func() func(string, []byte) *events.Event { return new(session.Trial).Delta }
	options.Metrics, options.Warnings = s.metrics, s.Warnings
	if s.tap, err = s.openTap(); err != nil {
		return err
	}
	if s.tap != nil {
		options.Tap, options.Shared = s.tap, s.tap.Shared
	}
	s.gateway, err = gateway.New(options, s.store(), sseui.Files(), s.log)
	return err
}

// openBroker opens the broker. An embedded server keeps the passwords that are in its
// data directory. Meanwhile health is answered over HTTP.
func (s *Server) openBroker(ctx context.Context, options *gateway.Options) (err error) {
	o := s.config.Broker
	o.OwnPassword, o.AgentPassword = password(o.DataDir, client.URLFile), password(o.DataDir, agentURLFile)
	n := &notices{logger: s.log}
	o.OnNotice = n.log
	if s.listener != nil {
		defer answerStarting(s.listener, options, n.why)()
	}
	ctx, cancel := context.WithTimeout(ctx, openTime)
	defer cancel()
	s.Broker, err = client.OpenBroker(ctx, o.Embedding())
	if err != nil {
		if fix := client.CredentialsFix(err); fix != "" {
			return &client.ConnectionError{Err: err, Fix: fix}
		}
	}
	n.flush()
	if err != nil {
		return err
	}
	for _, w := range s.Broker.Warnings() {
		s.log.Warn().Str("why", w).Msg("configuration weakens durability")
	}
	return nil
}

// Run runs the roles of this process until ctx ends or one of them fails. The gateway
// stops first, so that the worker reads every input that was acknowledged.
func (s *Server) Run(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var wg sync.WaitGroup
	errs := make(chan error, 4+len(s.services()))
	if s.gateway != nil {
		wg.Go(func() { s.watchPause(ctx) })
		wg.Go(func() {
			defer stop()
			errs <- s.gateway.Run(ctx, s.listener)
			s.closeTap()
		})
	}
	if s.config.Roles.Worker {
		wg.Go(func() {
			defer stop()
			errs <- s.Worker.RunShared(ctx, s.Broker, s.Broker.Partitions())
		})
	}
	if s.config.Roles.Worker {
		wg.Go(func() { s.erase(ctx) })
	}
	if s.sink != nil {
		wg.Go(func() {
			defer stop()
			errs <- s.sink.Run(ctx)
		})
	}
	wg.Go(func() {
		if err := s.admit(ctx); err != nil {
			errs <- err
			stop()
		}
	})
	for _, service := range s.services() {
		wg.Go(func() {
			defer stop()
			errs <- natsservice.Serve(ctx, s.Broker, service)
		})
	}
	wg.Wait()
	close(errs)
	for err := range errs {
		if err != nil && !errors.Is(err, context.Canceled) {
			return err
		}
	}
	return nil
}

// Warnings returns what /readyz reports besides.
func (s *Server) Warnings() []string {
	list := s.Worker.Warnings()
	if s.tap != nil {
		list = append(list, s.tap.Warnings()...)
	}
	if s.sink != nil {
		list = append(list, s.sink.Warnings()...)
	}
	for _, w := range []string{s.pauseWarning(), s.retention.warning()} {
		if w != "" {
			list = append(list, w)
		}
	}
	return list
}

func (s *Server) services() (list []natsservice.Service) {
	if !s.config.Roles.Gateway {
		return nil
	}
	if s.config.RepairNATS {
		list = append(list, repairService(s.repairs))
	}
	return append(list, s.Services...)
}

// Ready returns why this process is not ready, as /readyz does.
func (s *Server) Ready(ctx context.Context) error {
	return s.store().Ready(ctx)
}

// admitAfter bounds how long inputs over HTTP wait for partitions that make no progress,
// where the server is not embedded.
const admitAfter = time.Minute

// admit accepts inputs when the settings of this process are in force: over
// HTTP and, where the server is embedded, over NATS. The embedded server accepts
// clients only after all partitions are taken over, however long that takes: until
// then the input log may be shorter than what was folded of it. The files with its
// URLs are written when it listens.
func (s *Server) admit(ctx context.Context) error {
	settling, all := ctx, s.Broker.Partitions()
	if !s.Embedded() {
		all = 0
		var cancel context.CancelFunc
		settling, cancel = context.WithTimeout(ctx, admitAfter)
		defer cancel()
	}
	if err := s.Worker.WaitSettled(settling, all); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		s.log.Warn().Err(s.Worker.Problem()).Msg("takeover of partitions incomplete; accepting inputs")
	}
	if err := s.Broker.Admit(); err != nil {
		return err
	}
	if s.Embedded() {
		if err := writeURLs(s.config.Broker.DataDir, s.Broker); err != nil {
			return err
		}
	}
	close(s.opened)
	return nil
}

// Problem returns why the worker of this process is not ready. A process without a
// worker has no such reason.
func (s *Server) Problem() error {
	if !s.config.Roles.Worker {
		return nil
	}
	return s.Worker.Problem()
}

// Close closes the listener and the broker.
func (s *Server) Close() {
	if s.listener != nil {
		s.listener.Close()
	}
	if s.Broker != nil {
		if err := s.Broker.Close(); err != nil {
			s.log.Warn().Err(err).Msg("closing failed")
		}
	}
	s.closeTelemetry()
}

// Opened returns a channel that is closed when inputs are accepted.
func (s *Server) Opened() <-chan struct{} { return s.opened }

// Watched reports whether an open event stream shows a session.
func (s *Server) Watched(session string) bool { return s.gateway.Watched(session) }

// Usage returns the limits of the clients that store inputs, and those that reach them. The
// server has a page.
func (s *Server) Usage() gateway.Usage { return s.gateway.Usage() }

// Embedded reports whether the NATS server runs in this process.
func (s *Server) Embedded() bool { return s.config.Broker.URL == "" }

// Page returns the URL of the page, "" if this process does not serve it.
func (s *Server) Page() string {
	if s.listener == nil || !s.config.Roles.Gateway {
		return ""
	}
	scheme := "http://"
	if s.config.CertFile != "" {
		scheme = "https://"
	}
	return scheme + s.listener.Addr().String() + "/"
}

// Serve runs the server and, when it is open, writes its addresses in a format of Logger.
func (s *Server) Serve(ctx context.Context, w io.Writer, format string) error {
	ctx, stop := s.drain(ctx)
	var wg sync.WaitGroup
	defer func() { stop(); wg.Wait() }()
	wg.Go(func() {
		select {
		case <-s.Opened():
			s.writeAddresses(w, format)
		case <-ctx.Done():
		}
	})
	return s.Run(ctx)
}

// writeAddresses writes where the server can be reached, in a format of Logger.
func (s *Server) writeAddresses(w io.Writer, format string) {
	data := ""
	if s.Embedded() {
		data = s.config.Broker.DataDir
	}
	addresses := [][2]string{
		{"page", s.Page()},
		{"nats", s.Broker.URL()},
		{"data", data},
		{"publish", "llm.<session>.delta"},
		{"subscribe", "toolcalls.>"},
	}
	if format == "json" {
		out := zerolog.New(w)
		log := out.Info().Timestamp()
		for _, a := range addresses {
			if a[1] != "" {
				log.Str(a[0], a[1])
			}
		}
		log.Msg("ready")
		return
	}
	for _, a := range addresses {
		if a[1] != "" {
			fmt.Fprintf(w, "%-9s %s\n", a[0], a[1])
		}
	}
}

// SessionPage returns the URL of the page of a session.
func (s *Server) SessionPage(name string) string { return PageOf(s.Page(), name) }

// PageOf returns the URL of the page of a session, for that of the page.
func PageOf(page, session string) string { return page + "#session=" + url.QueryEscape(session) }
