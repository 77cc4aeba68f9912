package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	sseui "streamer/examples/sse-ui"
	"streamer/internal/broker"
	"streamer/internal/gateway"
	"streamer/internal/repairs"
	"streamer/internal/worker"

	"github.com/nats-io/nuid"
	"github.com/rs/zerolog"
)

func serve(ctx context.Context, std stdio, args []string) error {
	fs := flags("serve")
	var s serveFlags
	s.register(fs)
	rest, err := parse(std, fs, args)
	if err != nil {
		return err
	}
	if len(rest) > 0 {
		return misused(std, fs, "there is no argument %q", rest[0])
	}
	h, err := open(ctx, std, &s)
	if err != nil {
		return err
	}
	defer h.close()
	h.admitted = func() { h.greet(std) }
	return h.run(ctx)
}

// house is everything that serve runs.
type house struct {
	flags   *serveFlags
	log     zerolog.Logger
	broker  *broker.Broker
	worker  *worker.Worker
	gateway *gateway.Gateway
	desk    *repairs.Desk
	ln      net.Listener
	// opened is closed when inputs are taken, and admitted, if set, called then.
	opened   chan struct{}
	admitted func()
}

// openTime bounds how long the start may wait for NATS.
const openTime = time.Minute

// open makes the house, ready to run.
func open(ctx context.Context, std stdio, s *serveFlags) (*house, error) {
	log, err := logger(std, s.logLevel, s.logFormat)
	if err != nil {
		return nil, err
	}
	h := &house{flags: s, log: log, opened: make(chan struct{})}
	if err := h.open(ctx); err != nil {
		h.close()
		return nil, err
	}
	return h, nil
}

func (h *house) open(ctx context.Context) (err error) {
	gatewayOptions, err := h.flags.gatewayOptions()
	if err != nil {
		return err
	}
	if h.ln, err = net.Listen("tcp", h.flags.httpListen); err != nil {
		return fmt.Errorf("--http-listen: %w", err)
	}
	options := h.flags.brokerOptions()
	options.OwnPassword = password(h.flags.nats.dataDir, urlFile)
	options.AgentPassword = password(h.flags.nats.dataDir, agentURLFile)
	options.OnNotice = func(msg string, err error) { h.log.Warn().Err(err).Msg(msg) }
	opening, cancel := context.WithTimeout(ctx, openTime)
	defer cancel()
	if h.broker, err = broker.Open(opening, options); err != nil {
		return err
	}
	if h.flags.nats.url == "" {
		if err := writeURLs(h.flags.nats.dataDir, h.broker); err != nil {
			return err
		}
	}
	for _, w := range h.broker.Warnings() {
		h.log.Warn().Str("why", w).Msg("weaker than it could be")
	}
	rules, err := h.flags.foldRules(h.broker.Retention())
	if err != nil {
		return err
	}
	h.worker = &worker.Worker{Log: h.broker, Logger: h.log, Options: worker.Options{
		Rules: rules, SaveEvery: h.flags.saveEvery, EvictAfter: h.flags.evict, MaxResident: h.flags.resident, Nonce: nuid.Next(),
		Grace: cmp.Or(h.flags.grace, -1),
	}}
	gatewayOptions.Metrics, gatewayOptions.Warnings = h.metrics, h.worker.Warnings
	h.desk = &repairs.Desk{Log: h.broker, MaxBytes: h.flags.repairBytes}
	gatewayOptions.Repairs = h.desk
	h.gateway, err = gateway.New(gatewayOptions, store{h.broker, h.worker, h.opened}, sseui.Files, h.log)
	return err
}

// run runs worker, gateway and service until ctx ends or one of them cannot go
// on. The gateway stops first, the worker then has all inputs there will be.
func (h *house) run(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var wg sync.WaitGroup
	errs := make(chan error, 4)
	wg.Go(func() {
		defer stop()
		errs <- h.gateway.Run(ctx, h.ln)
	})
	wg.Go(func() {
		defer stop()
		errs <- h.carry(ctx)
	})
	wg.Go(func() {
		if err := h.admit(ctx); err != nil {
			errs <- err
			stop()
		}
	})
	if h.flags.repairService {
		wg.Go(func() {
			defer stop()
			errs <- h.broker.Serve(ctx, repairService(h.desk))
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

// admitAfter bounds how long inputs wait for partitions that do not get on.
const admitAfter = time.Minute

// admit opens for inputs when the settings of this instance are in force: over
// HTTP and, where the server is embedded, over NATS. Nobody can publish on the
// embedded server before all partitions are taken over.
func (h *house) admit(ctx context.Context) error {
	all := 0
	if h.flags.nats.url == "" && !h.flags.greedy {
		all = h.broker.Partitions()
	}
	settling, cancel := context.WithTimeout(ctx, admitAfter)
	defer cancel()
	if err := h.worker.WaitSettled(settling, all); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		h.log.Warn().Err(h.worker.Problem()).Msg("open for inputs, although not all partitions are taken over")
	}
	if err := h.broker.Admit(); err != nil {
		return err
	}
	close(h.opened)
	if h.admitted != nil {
		h.admitted()
	}
	return nil
}

// carry carries this instance's share of the partitions.
func (h *house) carry(ctx context.Context) error {
	n := h.broker.Partitions()
	if h.flags.greedy {
		return h.worker.Run(ctx, partitions(n))
	}
	return h.worker.RunShared(ctx, h.broker, n)
}

func (h *house) close() {
	if h.ln != nil {
		h.ln.Close()
	}
	if h.broker != nil {
		if err := h.broker.Close(); err != nil {
			h.log.Warn().Err(err).Msg("closing")
		}
	}
}

// page is the address of the page.
func (h *house) page() string { return "http://" + h.ln.Addr().String() + "/" }

func (h *house) greet(std stdio) {
	fmt.Fprintf(std.out, "page      %s\n", h.page())
	if h.flags.nats.url == "" {
		fmt.Fprintf(std.out, "nats      %s\ndata      %s\n", h.broker.URL(), h.flags.nats.dataDir)
	} else {
		fmt.Fprintf(std.out, "nats      %s\n", h.broker.URL())
	}
	fmt.Fprint(std.out, "publish   llm.<session>.delta\nsubscribe toolcalls.>\n")
}

func partitions(n int) []int {
	p := make([]int, n)
	for i := range p {
		p[i] = i
	}
	return p
}

func logger(std stdio, level, format string) (zerolog.Logger, error) {
	l, err := zerolog.ParseLevel(level)
	if err != nil || level == "" {
		return zerolog.Nop(), fmt.Errorf("--log-level %q is not debug, info, warn or error", level)
	}
	switch format {
	case "json":
		return zerolog.New(std.err).Level(l).With().Timestamp().Logger(), nil
	case "text":
		w := zerolog.ConsoleWriter{Out: std.err, TimeFormat: time.TimeOnly, NoColor: true}
		return zerolog.New(w).Level(l).With().Timestamp().Logger(), nil
	}
	return zerolog.Nop(), fmt.Errorf("--log-format %q is not text or json", format)
}
