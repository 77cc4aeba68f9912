package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"streamer/internal/broker"
	"streamer/internal/decode"
	"streamer/internal/inputs"

	"github.com/nats-io/nuid"
)

// perEvent is the time between two stream events at speed 1: models stream
// some 30 tokens a second.
const perEvent = 30 * time.Millisecond

func replay(ctx context.Context, std stdio, args []string) error {
	fs := flags("replay")
	var n natsFlags
	n.register(fs)
	name := fs.String("session", "", "`session` to publish to (required)")
	var format formatName
	fs.Var(&format, "format", "the `format` of the stream ("+strings.Join(decode.Names(), ", ")+"); recognised where it is not given")
	speed := fs.String("speed", "1", "1 (as models stream), 10 or max")
	files, err := parse(std, fs, args)
	if err != nil {
		return err
	}
	pause, ok := map[string]time.Duration{"1": perEvent, "10": perEvent / 10, "max": 0}[*speed]
	switch {
	case !ok:
		return misused(std, fs, "--speed %q is not 1, 10 or max", *speed)
	case len(files) != 1:
		return misused(std, fs, "one FILE is needed (- for standard input), not %d", len(files))
	case *name == "":
		return misused(std, fs, "--session is needed")
	}
	token, err := tokenOf(std, fs, *name)
	if err != nil {
		return err
	}
	in := std.in
	if files[0] != "-" {
		f, err := os.Open(files[0])
		if err != nil {
			return err
		}
		defer f.Close()
		in = f
	}
	b, err := dial(ctx, n)
	if err != nil {
		return err
	}
	defer b.Close()
	r := replayer{b: b, token: token, nonce: nuid.Next(), pause: pause}
	if format != "" {
		r.header = inputs.Header{inputs.HeaderFormat: {string(format)}}
	}
	if err := r.publish(ctx, in); err != nil {
		return err
	}
	what := "inputs"
	if r.n == 1 {
		what = "input"
	}
	fmt.Fprintf(std.out, "%d %s published to session %s\n", r.n, what, *name)
	return nil
}

// dial reaches a NATS that runs already.
func dial(ctx context.Context, n natsFlags) (*broker.Broker, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	o, err := n.client()
	if err != nil {
		return nil, err
	}
	o.Existing = true
	b, err := broker.Open(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("%w (--data-dir or --nats-url say where a streamer runs)", err)
	}
	return b, nil
}

// replayer publishes a recorded stream.
type replayer struct {
	b            *broker.Broker
	token, nonce string
	header       inputs.Header
	pause        time.Duration
	n            int
}

// publish sends a line of JSON per input, or an event of raw SSE text.
func (r *replayer) publish(ctx context.Context, in io.Reader) error {
	lines := bufio.NewReaderSize(in, 64<<10)
	var held []byte // an SSE event that is not whole
	for {
		line, err := readLine(lines)
		text := bytes.TrimSpace(line)
		switch {
		case len(text) > 0 && len(held) == 0 && (text[0] == '{' || text[0] == '['):
			if err := r.send(ctx, line); err != nil {
				return err
			}
		case len(text) > 0:
			held = append(held, line...)
		case len(held) > 0:
			if err := r.send(ctx, append(held, '\n')); err != nil {
				return err
			}
			held = nil
		}
		if errors.Is(err, io.EOF) {
			if len(held) > 0 {
				return r.send(ctx, append(held, '\n', '\n'))
			}
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (r *replayer) send(ctx context.Context, data []byte) error {
	if r.n > 0 && r.pause > 0 {
		select {
		case <-time.After(r.pause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	r.n++
	return r.input(ctx, inputs.Delta, data)
}

// input stores one input. Its message id has a nonce: the same file can be
// replayed again, but a retry is one input.
func (r *replayer) input(ctx context.Context, kind inputs.Kind, data []byte) error {
	id := fmt.Sprintf("%s:%s:replay-%s-%d", r.token, kind, r.nonce, r.n)
	a := r.b.PublishWait(ctx, r.b.InputPub(r.token, kind, id, r.header, data))
	if a.Err != nil {
		return fmt.Errorf("input %d: %w", r.n, a.Err)
	}
	return nil
}
