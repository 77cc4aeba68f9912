package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"time"

	"streamer/internal/app"
	"streamer/internal/broker"
	"streamer/internal/events"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	clients      = 3  // publishers of the ledger
	clientCalls  = 12 // of one session of theirs
	answerWithin = 2 * time.Second
	giveUpAfter  = 90 * time.Second // less than the window of duplicates
)

// entry is an input with an effect of its own, and when it was published first
// and acknowledged.
type entry struct {
	msgID, token, kind string
	// mark identifies its effect: the id of the call that a delta opens, or the
	// content of a result.
	mark         string
	begun, acked time.Time
}

// ledger are clients in an account of their own, each call id and each result
// of which occurs once. They publish an input again until it is acknowledged,
// and the next one then, so that theirs are the first that a server answers.
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
	split := rnd.IntN(3) == 0 // the finish reason comes in an input of its own
	finish := `"tool_calls"`
	if split {
		finish = "null"
	}
	l.store(js, entry{msgID: token + ":delta:" + call, token: token, kind: "delta", mark: call}, chunk("m"+call, open, finish).data)
	if split {
		l.store(js, entry{msgID: token + ":delta:end-" + call, token: token, kind: "delta"}, chunk("m"+call, "{}", `"tool_calls"`).data)
	}
	result := "result of " + call
	l.store(js, entry{msgID: token + ":result:" + call, token: token, kind: "result", mark: result}, fmt.Sprintf(`{"tool_call_id":%q,"content":%q}`, call, result))
	time.Sleep(time.Duration(rnd.Int64N(int64(2 * between)))) // the pace of a model
}

// store publishes an input until it is acknowledged.
func (l *ledger) store(js jetstream.JetStream, e entry, data string) {
	e.begun = time.Now()
	for time.Since(e.begun) < giveUpAfter {
		ctx, cancel := context.WithTimeout(context.Background(), answerWithin)
		_, err := js.Publish(ctx, "llm."+e.token+"."+e.kind, []byte(data), jetstream.WithMsgID(e.msgID), jetstream.WithRetryAttempts(0))
		cancel()
		if err == nil {
			e.acked = time.Now()
			l.mu.Lock()
			l.entries = append(l.entries, e)
			l.mu.Unlock()
			return
		}
		time.Sleep(10 * time.Millisecond) // the pace of trying again
	}
	l.t.Errorf("input %s was not acknowledged within %v", e.msgID, giveUpAfter)
}

// effects are what the event log shows of inputs, by session and mark.
type effects map[string]int

func (e effects) count(s broker.Stored, event *events.Event) {
	switch {
	case event.Type == events.ToolCallStart:
		e[s.Token+" "+event.ID]++
	case event.Type == events.ToolCallResult && !event.Synthetic, event.Type == events.ToolCallLateResult, event.Type == events.OrphanResult:
		if text, err := strconv.Unquote(string(event.ToolResult)); err == nil {
			e[s.Token+" "+text]++
		}
	}
}

// balance is what the ledger found.
type balance struct {
	lost, folded int      // inputs that are lost, and of these those that had their effect
	wrong        []string // inputs that do not count once
}

// audit compares the ledger with the event log: each input counts exactly once.
// One that the input log does not have may have been lost, if it was
// acknowledged in such a time; one that was published again after the log was
// put back may count twice.
func (l *ledger) audit(ctx context.Context, b *app.Broker, there map[string]int, losses spans) (r balance, err error) {
	found := effects{}
	err = eachEvent(ctx, b, found.count)
	for _, e := range l.entries {
		if e.mark == "" {
			continue
		}
		if there[e.msgID] == 0 && losses.cover(e.acked) {
			r.lost++
			r.folded += min(1, found[e.token+" "+e.mark])
			continue
		}
		if n, most := found[e.token+" "+e.mark], 1+losses.within(e.begun, e.acked); n < 1 || n > most {
			r.wrong = append(r.wrong, fmt.Sprintf("session %s, input %s, acknowledged at %s, counts %d times", e.token, e.msgID, e.acked.Format(time.StampMilli), n))
		}
	}
	return r, err
}
