//go:build unix

package e2e

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"streamer/internal/broker"
	"streamer/internal/client"
	"streamer/internal/events"
	"streamer/internal/inputs"
	"streamer/test/testkit"
)

// resumer is a client of a session that resumes after its last event whenever its
// stream ends.
type resumer struct {
	ids    []uint64
	breaks int
	err    error
}

const resumeEnd = "the-last-text"

// run reads until the event with the text resumeEnd, or until ctx ends.
func (r *resumer) run(ctx context.Context, addr string) {
	for {
		done, err := r.read(ctx, addr)
		if done {
			return
		}
		r.breaks++
		select {
		case <-time.After(time.Duration(20+rand.IntN(80)) * time.Millisecond): // as clients do, shorter
		case <-ctx.Done():
			r.err = fmt.Errorf("%w after %d events: %w", ctx.Err(), len(r.ids), err)
			return
		}
	}
}

// read reads one stream.
func (r *resumer) read(ctx context.Context, addr string) (done bool, err error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return false, err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	cursor := uint64(0)
	if len(r.ids) > 0 {
		cursor = r.ids[len(r.ids)-1]
	}
	fmt.Fprintf(conn, "GET /v1/sessions/s/events?last_event_id=%d HTTP/1.1\r\nHost: localhost\r\n\r\n", cursor)
	resp, err := http.ReadResponse(bufio.NewReaderSize(conn, 4<<10), nil)
	if err != nil {
		return false, err
	}
	if resp.StatusCode != http.StatusOK {
		return false, fmt.Errorf("status %d", resp.StatusCode)
	}
	return r.frames(bufio.NewReaderSize(resp.Body, 4<<10))
}

// frames reads frames. An event counts when its frame is complete.
func (r *resumer) frames(lines *bufio.Reader) (done bool, err error) {
	id, last := uint64(0), false
	for {
		line, err := lines.ReadSlice('\n')
		if err != nil {
			return false, err
		}
		if text, ok := bytes.CutPrefix(line, []byte("id: ")); ok {
			if id, err = strconv.ParseUint(string(bytes.TrimSpace(text)), 10, 64); err != nil {
				return false, err
			}
		}
		last = last || bytes.Contains(line, []byte(resumeEnd))
		if len(line) == 1 && id > 0 {
			r.ids = append(r.ids, id)
			if id = 0; last {
				return true, nil
			}
		}
	}
}

// TestGatewayKilledUnderClients checks that clients that resume end with exactly the
// log, whenever their gateway is killed and started again.
func TestGatewayKilledUnderClients(t *testing.T) {
	t.Parallel()
	const texts, kills = 240, 2
	clients := testkit.Of(50, 1000)
	if testkit.Campaigns() && testkit.Race {
		clients = 200 // each stream costs several times as much
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	b, url := workerless(t, broker.Options{})
	addr := testkit.FreePort(t)
	gateway := func() *testkit.Process {
		return start(t, "serve", "--nats-url", url, "--partitions", strconv.Itoa(crashPartitions), "--http-listen", addr, "--texts", "every", "--log-level", "error")
	}
	p := gateway()
	all := make([]resumer, clients)
	var wg sync.WaitGroup
	for i := range all {
		wg.Go(func() { all[i].run(ctx, addr) })
	}
	for i := range texts {
		publishText(ctx, t, b, i, strconv.Itoa(i)+" ")
		if i%(texts/(kills+1)) == texts/(kills+1)/2 && i < kills*texts/(kills+1) {
			p.Kill()
			p = gateway()
		}
	}
	publishText(ctx, t, b, texts, resumeEnd)
	wg.Wait()
	compareWithLog(ctx, t, b, all)
	if breaks := all[0].breaks; breaks == 0 {
		t.Error("no stream of the first client was cut")
	}
}

// publishText stores a text of the model in session s.
func publishText(ctx context.Context, t *testing.T, b *client.Broker, i int, text string) {
	t.Helper()
	body := fmt.Sprintf(`{"id":"m","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":%q}}]}`, text)
	if a := b.PublishWait(ctx, b.InputPub("s", inputs.Delta, "s:"+strconv.Itoa(i), nil, []byte(body))); a.Err != nil {
		t.Fatal(a.Err)
	}
	time.Sleep(5 * time.Millisecond) // the pace of a model, so that the kills are in the middle of the stream
}

// compareWithLog checks that each client has exactly the events of session s.
func compareWithLog(ctx context.Context, t *testing.T, b *client.Broker, all []resumer) {
	t.Helper()
	var log []uint64
	err := b.Events(ctx, "s", 0, func(e events.Record) error {
		log = append(log, e.Seq)
		return nil
	})
	if err != nil || len(log) == 0 {
		t.Fatalf("log: %d events, %v", len(log), err)
	}
	var errs []error
	for i := range all {
		if r := &all[i]; r.err != nil {
			errs = append(errs, r.err)
		} else if !slices.Equal(r.ids, log[:min(len(log), len(r.ids))]) { // its last event is the last text
			errs = append(errs, fmt.Errorf("client %d has %d events, the log %d", i, len(r.ids), len(log)))
		}
	}
	if len(errs) > 0 {
		t.Errorf("%d of %d clients differ from the log; the first: %v", len(errs), len(all), errors.Join(errs[:min(3, len(errs))]...))
	}
}
