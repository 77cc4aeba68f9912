package bench

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"streamer/internal/broker"
	streams "streamer/internal/client"
	"streamer/internal/inputs"
	"streamer/internal/natsserver"
)

// sseServer is a process of `streamer serve` that serves streams, and a connection
// to its NATS server for the inputs.
type sseServer struct {
	cmd    *exec.Cmd
	log    bytes.Buffer
	addr   string // of HTTP
	dir    string
	broker *streams.Broker
	acks   chan broker.Ack
	sent   int // inputs
	buffer int // size of the read buffers of clients, if not the minimum
}

// startSSE starts a server. The caller calls stop, also after an error.
func startSSE(ctx context.Context, o *SSEOptions) (s *sseServer, err error) {
	s = &sseServer{acks: make(chan broker.Ack, maxPending)}
	if s.dir, err = os.MkdirTemp("", "streamer-bench-"); err != nil {
		return s, fmt.Errorf("data directory: %w", err)
	}
	s.cmd = exec.Command(o.Program, "serve", "--data-dir", s.dir, "--http-listen", "127.0.0.1:0", "--nats-listen", "127.0.0.1:0",
		"--http-max-clients", strconv.Itoa(o.most()+spareFiles), "--texts", "every", "--log-level", "error")
	s.cmd.Stderr = &s.log
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return s, fmt.Errorf("starting %s: %w", o.Program, err)
	}
	if err := s.cmd.Start(); err != nil {
		return s, fmt.Errorf("starting %s: %w", o.Program, err)
	}
	if s.addr, err = pageAddress(out); err != nil {
		return s, fmt.Errorf("starting %s: %w: %s", o.Program, err, s.log.String())
	}
	s.broker, err = streams.Dial(ctx, streams.BrokerOptions{Config: natsserver.Config{DataDir: s.dir}})
	return s, err
}

// pageAddress reads the address of the page from the output of a server, and
// discards the rest.
func pageAddress(out io.Reader) (string, error) {
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return "", fmt.Errorf("the server did not start: %w", err)
		}
		if page, ok := strings.CutPrefix(line, "page "); ok {
			go io.Copy(io.Discard, lines) //nolint:errcheck // the pipe ends with the process
			page = strings.TrimPrefix(strings.TrimSpace(page), "http://")
			return strings.TrimSuffix(page, "/"), nil
		}
	}
}

// stop stops the server and deletes its data.
func (s *sseServer) stop() error {
	var err error
	if s.broker != nil {
		err = s.broker.Close()
	}
	if s.cmd != nil && s.cmd.Process != nil {
		// The measurement is over: streams need not be ended in order.
		err = errors.Join(err, s.cmd.Process.Kill())
		_ = s.cmd.Wait() // it was killed
	}
	return errors.Join(err, os.RemoveAll(s.dir))
}

// text publishes a text of a session's model. It does not wait for the
// acknowledgement unless too many are pending.
func (s *sseServer) text(ctx context.Context, session, text string) error {
	s.sent++
	body := fmt.Sprintf(`{"id":"m","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"%s"}}]}`, text)
	id := session + ":" + strconv.Itoa(s.sent)
	s.broker.Publish(s.broker.InputPub(session, inputs.Delta, id, nil, []byte(body)), s.acks)
	if s.sent <= maxPending {
		return nil
	}
	return s.acked(ctx)
}

// acked waits for one acknowledgement.
func (s *sseServer) acked(ctx context.Context) error {
	select {
	case a := <-s.acks:
		return a.Err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// history waits until lastText is the text of an event of a session, and returns the
// ids of its events and the size of its stream in bytes.
func (s *sseServer) history(ctx context.Context, session string) (ids []uint64, size int64, err error) {
	for {
		c, err := s.open(ctx, session, 0)
		if err != nil {
			return nil, 0, err
		}
		err = c.readUntilLive()
		c.close()
		if err != nil || c.last {
			return c.ids, c.bytes, err
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return nil, 0, ctx.Err()
		}
	}
}
