package chaos

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"streamer/internal/client"
	"streamer/internal/events"
	"streamer/test/testkit"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	clients        = 4  // number of clients of the ledger; the last publishes over HTTP
	clientCalls    = 12 // calls per session of a client
	ackTimeout     = 2 * time.Second
	publishTimeout = 90 * time.Second // less than the window of duplicates
)

// entry is an acknowledged input. begun is the time of its first publish.
type entry struct {
	token, kind, key string
	// effect identifies the effect of the input: the id of the call that a delta
	// opens, or the content of a result. It is "" if the input has none.
	effect       string
	begun, acked time.Time
	seq          uint64
}

// id returns the message id under which the entry is published. Over HTTP that is the
// session, the kind and the idempotency key.
func (e *entry) id() string { return e.token + ":" + e.kind + ":" + e.key }

// publisher publishes an entry once, and returns the sequence of the input.
type publisher func(ctx context.Context, e *entry, data string) (seq uint64, err error)

// ledger records the inputs of clients in the account of clients, and over HTTP. Each call id and
// each result of theirs is unique. A client publishes an input again until it is
// acknowledged, and then publishes the next one.
type ledger struct {
	t  *testing.T
	wg sync.WaitGroup

	mu      sync.Mutex
	entries []entry
	refused int // inputs over HTTP, because new sessions were paused
}

// publish runs the clients until ctx ends. It calls begin before each call.
func (l *ledger) publish(ctx context.Context, url string, gateways []string, seed uint64, pace pace, begin func(token string, follow bool)) {
	for i := range clients {
		rnd := rand.New(rand.NewPCG(seed, uint64(400+i)))
		p := l.overHTTP(gateways, rand.New(rand.NewPCG(seed, 399)))
		if i < clients-1 {
			p = overNATS(l.dial(url))
		}
		l.wg.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				session := n / clientCalls
				token := fmt.Sprintf("l%d-%d", i, session)
				begin(token, session%pace.sparse == 0)
				l.call(p, token, fmt.Sprintf("c%d-%d", i, n), rnd)
				pace.pause(rnd)
			}
		})
	}
}

// call publishes a call and its result.
func (l *ledger) call(p publisher, token, call string, rnd *rand.Rand) {
	open := `{"role":"assistant","tool_calls":[{"index":0,"id":"` + call + `","function":{"name":"count","arguments":"{}"}}]}`
	split := rnd.IntN(3) == 0 // the finish reason is in a separate input
	finish := `"tool_calls"`
	if split {
		finish = "null"
	}
	l.store(p, entry{token: token, kind: "delta", key: call, effect: call}, chunk("m"+call, open, finish).data)
	if split {
		l.store(p, entry{token: token, kind: "delta", key: "end-" + call}, chunk("m"+call, "{}", `"tool_calls"`).data)
	}
	result := "result of " + call
	l.store(p, entry{token: token, kind: "result", key: call, effect: result}, fmt.Sprintf(`{"tool_call_id":%q,"content":%q}`, call, result))
}

// store publishes an input until it is acknowledged.
func (l *ledger) store(p publisher, e entry, data string) {
	e.begun = time.Now()
	all, stop := context.WithTimeout(context.Background(), publishTimeout)
	defer stop()
	err := testkit.Poll(all, func() (err error) {
		ctx, cancel := context.WithTimeout(context.Background(), ackTimeout)
		defer cancel()
		e.seq, err = p(ctx, &e, data)
		return err
	})
	if err != nil {
		l.t.Errorf("input %s was not acknowledged within %v: %v", e.id(), publishTimeout, err)
		return
	}
	e.acked = time.Now()
	l.mu.Lock()
	l.entries = append(l.entries, e)
	l.mu.Unlock()
}

// acked returns the acknowledged inputs.
func (l *ledger) acked() (list []acked) {
	for _, e := range l.entries {
		list = append(list, acked{e.id(), e.token, e.seq, e.acked})
	}
	return list
}

// dial connects a client to the account of clients.
func (l *ledger) dial(url string) jetstream.JetStream {
	nc, err := nats.Connect(url, nats.MaxReconnects(-1), nats.ReconnectWait(10*time.Millisecond), nats.ReconnectJitter(0, 0))
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		l.t.Fatal(err)
	}
	return js
}

// overNATS returns a publisher that publishes to the stream.
func overNATS(js jetstream.JetStream) publisher {
	return func(ctx context.Context, e *entry, data string) (uint64, error) {
		ack, err := js.Publish(ctx, "llm."+e.token+"."+e.kind, []byte(data), jetstream.WithMsgID(e.id()), jetstream.WithRetryAttempts(0))
		if err != nil {
			return 0, err
		}
		return ack.Sequence, nil
	}
}

// overHTTP returns a publisher that sends each request to a random gateway.
func (l *ledger) overHTTP(gateways []string, rnd *rand.Rand) publisher {
	return func(ctx context.Context, e *entry, data string) (uint64, error) {
		url := "http://" + gateways[rnd.IntN(len(gateways))] + "/v1/sessions/" + e.token + "/" + e.kind + "s"
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(data))
		if err != nil {
			return 0, err
		}
		req.Header.Set("Idempotency-Key", e.key)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			return 0, err
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		if err != nil {
			return 0, err
		}
		if res.StatusCode != http.StatusAccepted {
			if strings.Contains(string(body), "new sessions are refused") {
				l.refused++
			}
			return 0, fmt.Errorf("%s: %s", res.Status, body)
		}
		var stored struct{ Seq uint64 }
		return stored.Seq, json.Unmarshal(body, &stored)
	}
}

// effects counts the effects of inputs in the event log, by session and effect.
type effects map[string]int

// count counts the effect of an event.
func (e effects) count(s events.Record, event *events.Event) {
	switch {
	case event.Type == events.ToolCallStart:
		e[s.Token+" "+event.ID]++
	case event.Type == events.ToolCallResult && !event.Synthetic, event.Type == events.ToolCallLateResult, event.Type == events.OrphanResult:
		if text, err := strconv.Unquote(string(event.ToolResult)); err == nil {
			e[s.Token+" "+text]++
		}
	}
}

// auditResult is the result of an audit.
type auditResult struct {
	lost, folded int      // lost inputs, and those of them that have an effect
	wrong        []string // inputs whose effect does not occur once
}

// audit checks that the effect of each input occurs exactly once in the event log.
// There are two exceptions. An input may be lost if it was acknowledged in one of
// losses. The effect of an input that was published again after the input log was
// rolled back may occur twice. The effect of an input from before the place of an erasure
// must not occur.
func (l *ledger) audit(ctx context.Context, b *client.Broker, inLog map[string]int, losses spans, places map[string]uint64) (r auditResult, err error) {
	found := effects{}
	err = eachEvent(ctx, b, found.count)
	for _, e := range l.entries {
		if e.effect == "" {
			continue
		}
		if e.seq < places[e.token] {
			if n := found[e.token+" "+e.effect]; n > 0 {
				r.wrong = append(r.wrong, fmt.Sprintf("session %s, input %s at %d: its effect occurs %d times after the erasure at %d", e.token, e.id(), e.seq, n, places[e.token]))
			}
			continue
		}
		if inLog[e.id()] == 0 && losses.cover(e.acked) {
			r.lost++
			r.folded += min(1, found[e.token+" "+e.effect])
			continue
		}
		if n, most := found[e.token+" "+e.effect], 1+losses.within(e.begun, e.acked); n < 1 || n > most {
			r.wrong = append(r.wrong, fmt.Sprintf("session %s, input %s, acknowledged at %s: its effect occurs %d times", e.token, e.id(), e.acked.Format(time.StampMilli), n))
		}
	}
	return r, err
}
