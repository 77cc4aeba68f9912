// Package wrap runs the command of an agent, whose requests to models go through a tap, and
// prints what became of its calls.
//
// It promises that each call of the command has ended when Run returns, if the server
// answers.
package wrap

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"time"

	"streamer/internal/cli"
	"streamer/internal/client"
	"streamer/internal/events"
	"streamer/internal/inputs"
	"streamer/internal/inspect"
	"streamer/internal/server"
	"streamer/internal/tap"

	"github.com/nats-io/nuid"
	"github.com/rs/zerolog"
)

// Options are the settings of Run.
type Options struct {
	Command []string
	// Flags are those of the server that is started where none runs, and of the tap.
	Flags server.Flags
	Given func(flag string) bool // reports whether a flag has a value that is not its default
	// Grace is the time in which the command has to end by itself after its session was
	// stopped; 0 for any time.
	Grace    time.Duration
	In       io.Reader
	Out, Err io.Writer
}

// Run runs a command and returns its exit status. A server is started unless one runs.
func Run(ctx context.Context, o Options) (status int, err error) {
	log, err := server.Logger(o.Err, o.Flags.LogLevel, o.Flags.LogFormat)
	if err != nil {
		return 0, err
	}
	if len(o.Flags.Tap) == 0 {
		o.Flags.Tap = upstreams(tap.Known(), os.Environ())
	}
	settings, err := o.Flags.TapOptions()
	if err != nil {
		return 0, err
	}
	config := o.Flags.Config(o.Given)
	config.Tap = server.TapFlags{} // the tap has a listener of its own
	s, err := open(ctx, config, log)
	if err != nil {
		return 0, err
	}
	defer s.close()
	settings.Log = log
	return s.run(ctx, o, settings)
}

// wrapped is a command with its tap and its server.
type wrapped struct {
	broker *client.Broker
	page   string
	own    *server.Server // nil where another process is the server
	ended  chan error     // of own
	stop   context.CancelFunc
	log    zerolog.Logger

	tap   *tap.Tap
	from  uint64 // last event before the command
	calls inspect.Calls
}

// open connects to the server that runs, or starts one.
func open(ctx context.Context, c server.Config, log zerolog.Logger) (*wrapped, error) {
	w := &wrapped{stop: func() {}, log: log}
	if b := running(ctx, c.Broker); b != nil {
		w.broker = b
		if client.Ready(ctx, c.HTTPListen) == nil {
			w.page = "http://" + c.HTTPListen + "/"
		}
		return w, nil
	}
	s, err := server.Open(ctx, c, log)
	if err != nil {
		return nil, err
	}
	w.own, w.broker, w.page, w.ended = s, s.Broker, s.Page(), make(chan error, 1)
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	w.stop = stop
	go func() { w.ended <- s.Run(running) }()
	select {
	case <-s.Opened():
		return w, nil
	case err := <-w.ended:
		s.Close()
		return nil, cmp.Or(err, errors.New("the server ended"))
	case <-ctx.Done():
		w.close()
		return nil, ctx.Err()
	}
}

// running returns a connection to the streams of a process that serves, nil if there is
// none.
func running(ctx context.Context, o client.BrokerOptions) *client.Broker {
	b, err := client.Dial(ctx, o)
	if err != nil {
		return nil
	}
	if ids, err := b.Members(ctx); err != nil || len(ids) == 0 {
		b.Close()
		return nil
	}
	return b
}

func (w *wrapped) close() {
	w.stop()
	if w.own == nil {
		w.broker.Close()
		return
	}
	if err := <-w.ended; err != nil {
		w.log.Warn().Err(err).Msg("server ended with an error")
	}
	w.own.Close()
}

func (w *wrapped) run(ctx context.Context, o Options, settings tap.Options) (int, error) {
	var err error
	if _, w.from, err = w.broker.EventBounds(ctx); err != nil {
		return 0, err
	}
	server.TapLog(&settings, w.broker)
	if w.tap, err = tap.New(settings); err != nil {
		return 0, err
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	front := &http.Server{Handler: w.tap, ReadHeaderTimeout: time.Minute}
	go func() { _ = front.Serve(ln) }() // until it is closed
	defer front.Close()
	fmt.Fprintf(o.Err, "streamer: tool calls on %s\n", cmp.Or(w.page, "the page of the server, whose address --http-listen names"))
	start := time.Now()
	status, failed := w.command(o, "http://"+ln.Addr().String()+strings.TrimSuffix(tap.Prefix, "/"))
	if failed != nil {
		return 0, failed
	}
	took := time.Since(start)
	after, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTime)
	defer cancel()
	_ = front.Close()
	w.tap.Close(after)
	if err := w.settle(after); err != nil {
		return status, fmt.Errorf("the calls of the command: %w", err)
	}
	w.summary(o.Err, took)
	return status, nil
}

// command runs the command on the terminal. Ctrl-C is for the command, which may go on.
func (w *wrapped) command(o Options, base string) (int, error) {
	args, env := redirected(o.Command, os.Environ(), base)
	cmd := exec.Command(args[0], args[1:]...) //nolint:noctx // ctx ends with Ctrl-C, which the command gets itself
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = env, o.In, o.Out, o.Err
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	terminate := make(chan os.Signal, 1)
	signal.Notify(terminate, terminations...)
	defer signal.Stop(terminate)
	tree := newTree(cmd.Process)
	defer tree.close()
	var failed error
	gone, ended := make(chan struct{}), make(chan struct{})
	go func() { failed = cmd.Wait(); close(gone) }()
	look := time.NewTicker(graceEvery)
	defer look.Stop()
	for ending := false; ; {
		select {
		case s := <-terminate:
			_ = cmd.Process.Signal(s)
		case <-look.C:
			if !ending && w.overdue(&o) {
				ending = true
				fmt.Fprintln(o.Err, "streamer: the session was stopped and the command goes on: it is ended")
				go func() { tree.end(gone); close(ended) }()
			}
		case <-gone:
			if ending {
				<-ended
			}
			w.tap.EndedProcess()
			if exit, ok := errors.AsType[*exec.ExitError](failed); ok {
				return statusOf(exit.ProcessState), nil
			}
			return 0, failed
		}
	}
}

const graceEvery = 200 * time.Millisecond

// maxAnswered is the number of requests after which a stopped command counts as one that goes
// on: agents ask up to three more times, for titles and memories, too.
const maxAnswered = 10

// overdue reports whether the command goes on although its session was stopped. On a terminal
// it may wait for its next message.
func (w *wrapped) overdue(o *Options) bool {
	since, answered, ok := w.tap.Stopped()
	if !ok || o.Grace == 0 {
		return false
	}
	waits := cli.IsTerminal(o.In) && cli.IsTerminal(o.Out)
	return answered > maxAnswered || !waits && time.Since(since) > o.Grace
}

// Times after the end of a command in which its calls end.
const (
	settleTime = 10 * time.Second // at most
	settlePoll = 50 * time.Millisecond
)

// settle ends the runs of the command, and reads their calls.
func (w *wrapped) settle(ctx context.Context) error {
	ends := map[string]uint64{} // the last inputs, by token
	for _, name := range w.tap.Sessions() {
		token, err := events.Token(name)
		if err != nil {
			continue // nothing is published there
		}
		if ends[token], _, err = w.broker.Append(ctx, token, inputs.End, nuid.Next(), nil, []byte(`{"reason":"cancelled"}`)); err != nil {
			return err
		}
	}
	if err := w.folded(ctx, ends); err != nil {
		return err
	}
	for token := range ends {
		if err := w.broker.Events(ctx, token, w.from, w.read); err != nil {
			return err
		}
	}
	return nil
}

// folded waits until the last input of each session is folded and its events are stored.
func (w *wrapped) folded(ctx context.Context, ends map[string]uint64) error {
	for token, end := range ends {
		for {
			stored, err := w.broker.StoredTo(ctx, w.broker.Partition(token))
			if err != nil {
				return err
			}
			if stored > end {
				break
			}
			if err := w.broker.Pause(ctx, settlePoll); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *wrapped) read(r events.Record) error {
	if r.Type == events.Synthetic {
		return nil
	}
	var e events.Event
	if err := json.Unmarshal(r.Data, &e); err != nil {
		return fmt.Errorf("event %d: %w", r.Seq, err)
	}
	w.calls.Apply(&e)
	return nil
}

// summary prints how many calls each tool had, how they ended, and how long they took.
func (w *wrapped) summary(out io.Writer, took time.Duration) {
	type row struct {
		tool              string
		calls             int
		failed, cancelled int
		time              time.Duration
	}
	var rows []*row
	for _, c := range w.calls.List() {
		i := slices.IndexFunc(rows, func(r *row) bool { return r.tool == c.Tool })
		if i < 0 {
			i, rows = len(rows), append(rows, &row{tool: c.Tool})
		}
		r := rows[i]
		r.calls++
		r.time += c.Ended.Sub(c.Started)
		switch c.Status {
		case events.Error, events.Denied, events.TimedOut:
			r.failed++
		case events.Cancelled:
			r.cancelled++
		}
	}
	fmt.Fprintf(out, "streamer: %d calls in %s\n", len(w.calls.List()), took.Round(100*time.Millisecond))
	for _, r := range rows {
		fmt.Fprintf(out, "  %-24s %4d calls  %3d failed  %3d cancelled  %8s\n", cli.Clean(r.tool), r.calls, r.failed, r.cancelled, r.time.Round(time.Millisecond))
	}
	for _, name := range w.tap.Sessions() {
		if w.page != "" {
			fmt.Fprintf(out, "  %s\n", server.PageOf(w.page, name))
		}
	}
}
