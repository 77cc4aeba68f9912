package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
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
	clients        = 3  // number of clients of the ledger
	clientCalls    = 12 // calls per session of a client
	ackTimeout     = 2 * time.Second
	publishTimeout = 90 * time.Second // less than the window of duplicates
)

// entry is an acknowledged input. begun is the time of its first publish.
type entry struct {
	msgID, token, kind string
	// effect identifies the effect of the input: the id of the call that a delta
	// opens, or the content of a result. It is "" if the input has none.
	effect       string
	begun, acked time.Time
}

// ledger records the inputs of clients in the account of clients. Each call id and
// each result of theirs is unique. A client publishes an input again until it is
// acknowledged, and then publishes the next one.
type ledger struct {
	t  *testing.T
	wg sync.WaitGroup

	mu      sync.Mutex
	entries []entry
}

// publish runs the clients until ctx ends.
func (l *ledger) publish(ctx context.Context, url string, seed uint64, begin func(token string)) {
	for i := range clients {
		nc, err := nats.Connect(url, nats.MaxReconnects(-1), nats.ReconnectWait(10*time.Millisecond), nats.ReconnectJitter(0, 0))
		if err != nil {
			l.t.Fatal(err)
		}
		l.t.Cleanup(nc.Close)
		js, err := jetstream.New(nc)
		if err != nil {
			l.t.Fatal(err)
		}
		rnd := rand.New(rand.NewPCG(seed, uint64(400+i)))
		l.wg.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				l.call(js, fmt.Sprintf("l%d-%d", i, n/clientCalls), fmt.Sprintf("c%d-%d", i, n), rnd, begin)
			}
		})
	}
}

// call publishes a call and its result.
func (l *ledger) call(js jetstream.JetStream, token, call string, rnd *rand.Rand, begin func(token string)) {
	begin(token)
	open := `{"role":"assistant","tool_calls":[{"index":0,"id":"` + call + `","function":{"name":"count","arguments":"{}"}}]}`
	split := rnd.IntN(3) == 0 // the finish reason is in a separate input
	finish := `"tool_calls"`
	if split {
		finish = "null"
	}
	l.store(js, entry{msgID: token + ":delta:" + call, token: token, kind: "delta", effect: call}, chunk("m"+call, open, finish).data)
	if split {
		l.store(js, entry{msgID: token + ":delta:end-" + call, token: token, kind: "delta"}, chunk("m"+call, "{}", `"tool_calls"`).data)
	}
	result := "result of " + call
	l.store(js, entry{msgID: token + ":result:" + call, token: token, kind: "result", effect: result}, fmt.Sprintf(`{"tool_call_id":%q,"content":%q}`, call, result))
	time.Sleep(time.Duration(rnd.Int64N(int64(2 * inputInterval)))) // the pace of a model
}

// store publishes an input until it is acknowledged.
func (l *ledger) store(js jetstream.JetStream, e entry, data string) {
	e.begun = time.Now()
	all, stop := context.WithTimeout(context.Background(), publishTimeout)
	defer stop()
	err := testkit.Poll(all, func() error {
		ctx, cancel := context.WithTimeout(context.Background(), ackTimeout)
		defer cancel()
		_, err := js.Publish(ctx, "llm."+e.token+"."+e.kind, []byte(data), jetstream.WithMsgID(e.msgID), jetstream.WithRetryAttempts(0))
		return err
	})
	if err != nil {
		l.t.Errorf("input %s was not acknowledged within %v: %v", e.msgID, publishTimeout, err)
		return
	}
	e.acked = time.Now()
	l.mu.Lock()
	l.entries = append(l.entries, e)
	l.mu.Unlock()
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
// rolled back may occur twice.
func (l *ledger) audit(ctx context.Context, b *client.Broker, inLog map[string]int, losses spans) (r auditResult, err error) {
	found := effects{}
	err = eachEvent(ctx, b, found.count)
	for _, e := range l.entries {
		if e.effect == "" {
			continue
		}
		if inLog[e.msgID] == 0 && losses.cover(e.acked) {
			r.lost++
			r.folded += min(1, found[e.token+" "+e.effect])
			continue
		}
		if n, most := found[e.token+" "+e.effect], 1+losses.within(e.begun, e.acked); n < 1 || n > most {
			r.wrong = append(r.wrong, fmt.Sprintf("session %s, input %s, acknowledged at %s: its effect occurs %d times", e.token, e.msgID, e.acked.Format(time.StampMilli), n))
		}
	}
	return r, err
}
