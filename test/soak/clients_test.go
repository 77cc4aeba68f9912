package soak

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// followers is the number of clients that read event streams, and silent the number
// of those that do not read.
const (
	followers = 30
	silent    = 5
)

// clients are SSE clients of two processes.
type clients struct {
	processes []*process
	events    atomic.Int64
	streams   atomic.Int64
	wrong     atomic.Pointer[error]
}

// run connects clients until ctx ends.
func (c *clients) run(ctx context.Context) {
	var wg sync.WaitGroup
	defer wg.Wait()
	transport := &http.Transport{MaxIdleConnsPerHost: followers}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	for i := range followers {
		wg.Go(func() {
			for ctx.Err() == nil {
				c.follow(ctx, client, c.processes[i%len(c.processes)])
			}
		})
	}
	for range silent {
		wg.Go(func() {
			for ctx.Err() == nil {
				c.ignore(ctx, c.processes[0])
			}
		})
	}
}

// follow reads the events of a session for some seconds. Their sequences must grow.
func (c *clients) follow(ctx context.Context, client *http.Client, p *process) {
	ctx, cancel := context.WithTimeout(ctx, time.Second+rand.N(10*time.Second))
	defer cancel()
	session := fmt.Sprint("soak-", rand.IntN(sessions/10))
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url("/v1/sessions/"+session+"/events"), nil)
	if err != nil {
		c.wrong.CompareAndSwap(nil, &err)
		return
	}
	reply, err := client.Do(request)
	if err != nil { // the process was killed, or the time is over
		pause(ctx, 100*time.Millisecond)
		return
	}
	defer reply.Body.Close()
	if reply.StatusCode != http.StatusOK {
		pause(ctx, 100*time.Millisecond)
		return
	}
	c.streams.Add(1)
	if err := c.read(session, reply.Body); err != nil {
		c.wrong.CompareAndSwap(nil, &err)
	}
}

// read reads the frames of an event stream to its end. An id counts when its frame is
// complete, because a stream that is cut off can end inside it.
func (c *clients) read(session string, body io.Reader) error {
	last, id := uint64(0), ""
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if text, ok := strings.CutPrefix(lines.Text(), "id: "); ok {
			id = strings.TrimSpace(text)
		}
		if lines.Text() != "" || id == "" {
			continue
		}
		seq, err := strconv.ParseUint(id, 10, 64)
		if err != nil {
			return fmt.Errorf("session %s: %w", session, err)
		}
		if seq <= last {
			return fmt.Errorf("session %s: event %d after event %d", session, seq, last)
		}
		last, id = seq, ""
		c.events.Add(1)
	}
	return nil // the stream ended, or was cut off
}

// ignore opens an event stream and does not read it.
func (c *clients) ignore(ctx context.Context, p *process) {
	conn, err := net.Dial("tcp", strings.TrimPrefix(p.url(""), "http://"))
	if err != nil {
		pause(ctx, 100*time.Millisecond)
		return
	}
	defer conn.Close()
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetReadBuffer(4 << 10) // a hint
	}
	if _, err := fmt.Fprintf(conn, "GET /v1/sessions/soak-%d/events HTTP/1.1\r\nHost: localhost\r\n\r\n", rand.IntN(sessions/10)); err != nil {
		return
	}
	c.streams.Add(1)
	pause(ctx, 5*time.Second+rand.N(20*time.Second))
}

// pause waits for d, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
