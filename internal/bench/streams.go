package bench

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"streamer/internal/client"
	"streamer/internal/inputs"
	"streamer/internal/natsserver"
)

// Server is a process of `streamer serve` that serves streams, and a connection
// to its NATS server for the inputs.
type Server struct {
	*feed
	cmd  *exec.Cmd
	log  bytes.Buffer
	page string
	dir  string // of the data
}

// OnServer runs a measurement on a new server for so many streams, with further flags.
func OnServer(ctx context.Context, program string, streams int, measure func(s *Server) error, flags ...string) (err error) {
	dir, err := os.MkdirTemp("", "streamer-bench-")
	if err != nil {
		return err
	}
	ctx, kill := context.WithCancel(ctx)
	s := Server{dir: dir}
	flags = append([]string{
		"serve", "--data-dir", dir, "--http-listen", "127.0.0.1:0", "--nats-listen", "127.0.0.1:0",
		"--http-max-clients", strconv.Itoa(streams + 2*warmUp), "--texts", "every", "--log-level", "error",
	}, flags...)
	s.cmd = exec.CommandContext(ctx, program, flags...)
	s.cmd.Stderr = &s.log
	if err = s.start(ctx); err == nil {
		err = errors.Join(measure(&s), s.Broker.Close())
	}
	kill() // the measurement is over: streams need not be ended in order
	_ = s.cmd.Wait()
	return errors.Join(err, os.RemoveAll(dir))
}

// start starts the process and reads the address of its page from its output.
func (s *Server) start(ctx context.Context) error {
	out, err := s.cmd.StdoutPipe()
	if err == nil {
		err = s.cmd.Start()
	}
	if err != nil {
		return fmt.Errorf("starting the server: %w", err)
	}
	lines := bufio.NewScanner(out)
	for s.page == "" && lines.Scan() {
		if page, ok := strings.CutPrefix(lines.Text(), "page "); ok {
			s.page = strings.TrimSpace(page)
		}
	}
	if s.page == "" {
		return fmt.Errorf("the server did not start: %s", s.log.String())
	}
	go io.Copy(io.Discard, out) //nolint:errcheck // the pipe ends with the process
	b, err := client.Dial(ctx, client.BrokerOptions{Config: natsserver.Config{DataDir: s.dir}})
	s.feed = newFeed(b)
	return err
}

// Text publishes a text of a session's model.
func (s *Server) Text(ctx context.Context, session, text string) error {
	return s.input(ctx, session, inputs.Delta, `{"id":"m","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"`+text+`"}}]}`)
}

// Stream is one event stream, read with as little work as possible: the load client
// runs on the cores of the server.
type Stream struct {
	Events int // without those that arrived twice
	Twice  int // events that arrived again, or after a later one
	Bytes  int64
	Live   bool // all stored events were read
	Last   bool // LastText was read

	session string
	lines   *bufio.Scanner
	id      uint64          // of the last event
	delays  []time.Duration // of the texts that are times
}

// LastText is the text of the last event of a measurement.
const LastText = "the-last-text"

// perAddress is the number of connections from one loopback address. Each needs a port
// of its own, and an address has about 28,000 of them.
const perAddress = 20_000

// Open opens the n-th stream at once, until the end of ctx. n selects the local
// address.
func (s *Server) Open(ctx context.Context, session string, n int) (*Stream, error) {
	dial := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, byte(1+n/perAddress))}}
	t := &http.Transport{DialContext: dial.DialContext, DisableCompression: true, ResponseHeaderTimeout: receiveTime}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.page+"v1/sessions/"+session+"/events", nil)
	var resp *http.Response
	if err == nil {
		resp, err = t.RoundTrip(req) //nolint:bodyclose // the body ends with the context
	}
	if err == nil && resp.StatusCode != http.StatusOK {
		b, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<10)) // a part of the reason is enough
		err = fmt.Errorf("%s: %s", resp.Status, b)
	}
	if err != nil {
		return nil, fmt.Errorf("stream of session %s: %w; each stream needs an open file here and in the server (ulimit -n)", session, err)
	}
	return &Stream{session: session, lines: bufio.NewScanner(resp.Body)}, nil
}

// OpenAll opens n streams of the sessions that name returns, some at once, and reads
// their stored events.
func (s *Server) OpenAll(ctx context.Context, n, atOnce int, name func(i int) string) (all []*Stream, err error) {
	all = make([]*Stream, n)
	errs := make([]error, atOnce)
	var wg sync.WaitGroup
	for o := range atOnce {
		wg.Go(func() {
			for i := o; i < n && errs[o] == nil; i += atOnce {
				if all[i], errs[o] = s.Open(ctx, name(i), i); errs[o] == nil {
					errs[o] = all[i].ReadUntil(&all[i].Live)
				}
			}
		})
	}
	wg.Wait()
	return all, errors.Join(errs...)
}

// ReadUntil reads lines until done, which is Live or Last of the stream.
func (c *Stream) ReadUntil(done *bool) error {
	for !*done {
		if !c.lines.Scan() {
			return fmt.Errorf("stream of session %s ended early: %w", c.session, cmp.Or(c.lines.Err(), io.EOF))
		}
		line := c.lines.Bytes()
		c.Bytes += int64(len(line)) + 1
		field, value, _ := bytes.Cut(line, []byte(": "))
		switch string(field) {
		case "id":
			id, err := strconv.ParseUint(string(value), 10, 64)
			if err != nil {
				return fmt.Errorf("id of an event: %w", err)
			}
			if id <= c.id {
				c.Twice++
				continue
			}
			c.id, c.Events = id, c.Events+1
		case "event":
			c.Live = c.Live || string(value) == "stream.live"
		case "data":
			c.readText(value)
		}
	}
	return nil
}

func (c *Stream) readText(data []byte) {
	_, text, _ := bytes.Cut(data, []byte(`"content":"`))
	text, _, _ = bytes.Cut(text, []byte{'"'})
	if delay, ok := since(string(text)); ok {
		c.delays = append(c.delays, delay)
	}
	c.Last = c.Last || string(text) == LastText
}
