package soak

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"streamer/test/testkit"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	sessions = 3000
	visits   = 40 // per second
	visitors = 40 // visits at once
)

// load publishes visits: a session gets a message with a call, and its result, an
// interrupt, or nothing.
type load struct {
	js     jetstream.JetStream
	steady *process
	acked  atomic.Int64 // inputs that were acknowledged
	failed atomic.Pointer[error]
}

// run publishes until ctx ends.
func (l *load) run(ctx context.Context) {
	tick := time.NewTicker(time.Second / visits)
	defer tick.Stop()
	var wg sync.WaitGroup
	defer wg.Wait()
	slots := make(chan struct{}, visitors)
	for i := 0; ; i++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			// A visit that has begun is completed.
			if err := l.visit(context.WithoutCancel(ctx), i); err != nil {
				l.failed.CompareAndSwap(nil, &err)
			}
		})
	}
}

const delta = `{"id":"m%d","object":"chat.completion.chunk","choices":[{"index":0,"delta":{%s},"finish_reason":%s}]}`

// visit publishes the inputs of one visit. Half of the sessions are visited often.
func (l *load) visit(ctx context.Context, i int) error {
	session := fmt.Sprint("soak-", rand.IntN(sessions))
	if i%2 == 0 {
		session = fmt.Sprint("soak-", rand.IntN(sessions/10))
	}
	pieces := []string{fmt.Sprintf(`"tool_calls":[{"index":0,"id":"call_%d","type":"function","function":{"name":"search","arguments":"{\"q\":\""}}]`, i)}
	for range 2 + rand.IntN(6) {
		pieces = append(pieces, fmt.Sprintf(`"tool_calls":[{"index":0,"function":{"arguments":%q}}]`, strings.Repeat("x", 1+rand.IntN(200))))
	}
	pieces = append(pieces, `"tool_calls":[{"index":0,"function":{"arguments":"\"}"}}]`)
	for k, piece := range pieces {
		if err := l.publish(ctx, session, "delta", fmt.Sprint(i, ":", k), fmt.Sprintf(delta, i, piece, "null")); err != nil {
			return err
		}
	}
	if err := l.publish(ctx, session, "delta", fmt.Sprint(i, ":end"), fmt.Sprintf(delta, i, "", `"tool_calls"`)); err != nil {
		return err
	}
	switch n := rand.IntN(10); {
	case n < 7:
		return l.publish(ctx, session, "result", fmt.Sprint(i, ":result"), fmt.Sprintf(`{"tool_call_id":"call_%d","content":%q}`, i, strings.Repeat("found ", rand.IntN(200))))
	case n == 7:
		l.interrupt(ctx, session)
	case n == 8:
		return l.publish(ctx, session, "end", fmt.Sprint(i, ":ended"), "{}")
	}
	return nil // the call is closed by its deadline
}

func (l *load) publish(ctx context.Context, session, kind, id, body string) error {
	ctx, cancel := context.WithTimeout(ctx, testkit.Within)
	defer cancel()
	m := nats.NewMsg("llm." + session + "." + kind)
	m.Data = []byte(body)
	if _, err := l.js.PublishMsg(ctx, m, jetstream.WithMsgID(session+":"+id)); err != nil {
		return fmt.Errorf("publish on %s: %w", m.Subject, err)
	}
	l.acked.Add(1)
	return nil
}

// interrupt interrupts a session over HTTP. It may be refused while the connection
// to NATS is cut.
func (l *load) interrupt(ctx context.Context, session string) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, l.steady.url("/v1/sessions/"+session+"/interrupt"), strings.NewReader("{}"))
	if err != nil {
		l.failed.CompareAndSwap(nil, &err)
		return
	}
	request.Header.Set("Content-Type", "application/json")
	reply, err := http.DefaultClient.Do(request)
	if err != nil {
		return
	}
	reply.Body.Close()
	if reply.StatusCode == http.StatusAccepted {
		l.acked.Add(1)
	}
}
