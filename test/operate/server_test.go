package operate

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"streamer/internal/audit"
	"streamer/internal/broker"
	"streamer/internal/client"
	"streamer/internal/inputs"
	"streamer/internal/server"
	"streamer/test/local"
	"streamer/test/testkit"
)

// config returns the configuration of a process on the servers of a URL.
func config(url string, replicas int) server.Config {
	c := server.NewConfig()
	c.Broker.URL, c.Broker.Replicas, c.HTTPListen = url, replicas, ""
	return c
}

// serve runs a process of streamer until the test ends or stop is called.
func serve(t *testing.T, c server.Config) (stop func()) {
	t.Helper()
	_, stop = local.Serve(t, c)
	return stop
}

// dial connects to the logs of a running process.
func dial(t *testing.T, o client.BrokerOptions) *client.Broker {
	t.Helper()
	b, err := client.Dial(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b
}

// load publishes calls in several sessions at once.
type load struct {
	log    *client.Broker
	stored atomic.Int64 // calls whose inputs are all acknowledged
	stop   context.CancelFunc
	done   sync.WaitGroup
}

const (
	loadSessions = 8
	loadPause    = 200 * time.Millisecond // of a session after a call: events keep up with inputs
)

// start publishes until end is called. The load has begun when start returns.
func start(t *testing.T, b *client.Broker) *load {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	l := &load{log: b, stop: stop}
	t.Cleanup(l.end)
	for s := range loadSessions {
		l.done.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				if err := publish(t.Context(), b, fmt.Sprint("load-", s), i); err != nil {
					t.Errorf("session load-%d: call %d: %v", s, i, err)
					return
				}
				l.stored.Add(1)
				select {
				case <-time.After(loadPause):
				case <-ctx.Done():
				}
			}
		})
	}
	l.await(t, 1)
	return l
}

// await waits until n more calls of each session, on average, are published.
func (l *load) await(t *testing.T, n int64) {
	t.Helper()
	want := l.stored.Load() + n*loadSessions
	testkit.Until(t, "calls are published", func() error {
		if got := l.stored.Load(); got < want {
			return fmt.Errorf("%d of %d calls are stored", got, want)
		}
		return nil
	})
}

// end ends the load.
func (l *load) end() {
	l.stop()
	l.done.Wait()
}

// publish publishes the inputs of a call, in order.
func publish(ctx context.Context, b *client.Broker, session string, i int) error {
	delta := `{"id":"m%d","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_%d","function":{"name":"search","arguments":%q}}]},"finish_reason":%s}]}`
	for k, in := range []struct {
		kind inputs.Kind
		body string
	}{
		{inputs.Delta, fmt.Sprintf(delta, i, i, `{"q":"`, "null")},
		{inputs.Delta, fmt.Sprintf(delta, i, i, `x"}`, `"tool_calls"`)},
		{inputs.Result, fmt.Sprintf(`{"tool_call_id":"call_%d","content":"found"}`, i)},
	} {
		id := fmt.Sprintf("%s:%d:%d", session, i, k)
		if _, _, err := b.Append(ctx, session, in.kind, id, nil, []byte(in.body)); err != nil {
			return err
		}
	}
	return nil
}

// results returns how many calls have a result in the event log.
func results(ctx context.Context, b *client.Broker) (n int64, err error) {
	err = b.Subjects(ctx, broker.StreamEvents, "toolcalls.*.event.tool_call_result", func(_ string, k int) { n += int64(k) })
	return n, err
}

// right waits until the event log has n results and is the fold of the inputs.
func right(t *testing.T, b *client.Broker, n int64) {
	t.Helper()
	testkit.Until(t, "the event log", func() error {
		got, err := results(t.Context(), b)
		if err == nil && got != n {
			err = fmt.Errorf("%d calls have a result, want %d", got, n)
		}
		return err
	})
	testkit.Until(t, "verify", func() error {
		r, err := audit.Verification{Log: b}.Run(t.Context())
		for _, d := range r.Differences {
			err = errors.Join(err, errors.New(d.String()))
		}
		if err == nil && !r.Faultless() {
			err = fmt.Errorf("unreadable snapshots: %v", r.Unreadable)
		}
		return err
	})
}
