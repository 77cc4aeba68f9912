package chaos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"streamer/internal/app"
	"streamer/internal/broker"
	"streamer/internal/inputs"
)

const (
	publishers = 10
	between    = 25 * time.Millisecond // two inputs of a publisher, on average
	quirkLines = 80                    // of a quirk stream, at the most
	followed   = 5                     // of five conversations one is also read, and one by a browser
)

// input is one to publish.
type input struct{ kind, data string }

// crowd publishes until it is stopped, and records the acknowledged inputs.
type crowd struct {
	t       *testing.T
	b       *app.Broker
	quirks  [][]string
	readers *readers
	// browsers is nil where there are no gateways.
	browsers *browsers
	tokens   tokens

	wg    sync.WaitGroup
	mu    sync.Mutex
	acked []acked
	dups  int // answered as a repetition
}

// acked is an input that was acknowledged.
type acked struct {
	id string // Nats-Msg-Id
	at time.Time
}

// kept returns the ids of the inputs that were acknowledged at a time in which
// none was lost.
func (c *crowd) kept(lost spans) (ids []string) {
	for _, a := range c.acked {
		if !lost.cover(a.at) {
			ids = append(ids, a.id)
		}
	}
	return ids
}

// lost counts the acknowledged inputs that are not in the log.
func (c *crowd) lost(there map[string]int) (n int) {
	for _, a := range c.acked {
		if there[a.id] == 0 {
			n++
		}
	}
	return n
}

// newCrowd reads the quirk streams.
func newCrowd(t *testing.T, b *app.Broker) *crowd {
	c := &crowd{t: t, b: b, readers: newReaders(t, b)}
	files, err := filepath.Glob(filepath.Join("..", "..", "internal", "decode", "testdata", "quirks", "*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatal("no quirk streams", err)
	}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSpace(string(data)), "\n")
		c.quirks = append(c.quirks, lines[:min(len(lines), quirkLines)])
	}
	return c
}

// publish plays one conversation after the other until ctx ends. What was
// begun is played to its end.
func (c *crowd) publish(ctx context.Context, seed uint64) {
	for i := range publishers {
		rnd := rand.New(rand.NewPCG(seed, uint64(200+i)))
		c.wg.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				// Some conversations go on in a session there was before.
				token := fmt.Sprintf("s%d-%d", i, n-rnd.IntN(min(n, 3)+1))
				switch {
				case n%followed == 0:
					c.readers.follow(token)
				case n%followed == 1 && c.browsers != nil:
					c.browsers.follow(token, rnd)
				}
				c.tokens.add(token)
				c.play(token, n, c.conversation(rnd), rnd)
			}
		})
	}
}

func (c *crowd) play(token string, n int, list []input, rnd *rand.Rand) {
	for i, in := range list {
		id := fmt.Sprintf("%s:%s:%d-%d", token, in.kind, n, i)
		ctx, cancel := context.WithTimeout(context.Background(), 90*time.Second) // less than the window of duplicates
		a := c.b.PublishWait(ctx, c.b.InputPub(token, inputs.Kind(in.kind), id, nil, []byte(in.data)))
		cancel()
		if errors.Is(a.Err, broker.ErrClosed) {
			return
		}
		if a.Err != nil {
			c.t.Errorf("%s: %v", id, a.Err)
			return
		}
		c.mu.Lock()
		c.acked = append(c.acked, acked{id, time.Now()})
		if a.Duplicate {
			c.dups++
		}
		c.mu.Unlock()
		time.Sleep(time.Duration(rnd.Int64N(int64(2 * between)))) // the pace of a model
	}
}

// conversation is a quirk stream, or some messages with calls, of which some
// get results, some late ones or several, and some none.
func (c *crowd) conversation(rnd *rand.Rand) []input {
	var in []input
	switch rnd.IntN(8) {
	case 0, 1, 2:
		for _, line := range c.quirks[rnd.IntN(len(c.quirks))] {
			in = append(in, input{"delta", line})
		}
		in = append(in, input{"result", `{"tool_call_id":"call_a","content":"ok"}`})
	case 3:
		in = largeCall(rnd)
	default:
		for range 1 + rnd.IntN(4) {
			in = append(in, message(rnd)...)
		}
	}
	switch rnd.IntN(6) {
	case 0:
		in = append(in, input{"interrupt", `{"reason":"user"}`})
	case 1:
		in = append(in, input{"end", `{"reason":"completed"}`})
	}
	return in
}

// chunk is a delta of OpenAI's chat completions.
func chunk(id, delta, finish string) input {
	return input{"delta", fmt.Sprintf(`{"id":%q,"object":"chat.completion.chunk","choices":[{"index":0,"delta":%s,"finish_reason":%s}]}`, id, delta, finish)}
}

func message(rnd *rand.Rand) []input {
	id := fmt.Sprintf("m%d", rnd.IntN(1e6))
	in := []input{chunk(id, `{"role":"assistant","content":"Let me see. "}`, "null")}
	calls := 1 + rnd.IntN(3)
	var after []input
	for k := range calls {
		call := fmt.Sprintf("call_%d", rnd.IntN(50)) // ids repeat now and then
		in = append(in, chunk(id, fmt.Sprintf(`{"tool_calls":[{"index":%d,"id":%q,"function":{"name":"search","arguments":""}}]}`, k, call), "null"))
		in = append(in, chunk(id, fmt.Sprintf(`{"tool_calls":[{"index":%d,"function":{"arguments":"{\"q\":\""}}]}`, k), "null"))
		for range rnd.IntN(6) {
			in = append(in, chunk(id, fmt.Sprintf(`{"tool_calls":[{"index":%d,"function":{"arguments":"word%d "}}]}`, k, rnd.IntN(100)), "null"))
		}
		in = append(in, chunk(id, fmt.Sprintf(`{"tool_calls":[{"index":%d,"function":{"arguments":"\"}"}}]}`, k), "null"))
		result := input{"result", fmt.Sprintf(`{"tool_call_id":%q,"content":"found %d"}`, call, rnd.IntN(3))}
		switch rnd.IntN(5) {
		case 0: // never
		case 1:
			after = append(after, result, result)
		case 2:
			after = append(after, input{"progress", fmt.Sprintf(`{"tool_call_id":%q,"percent":50}`, call)}, result)
		default:
			after = append(after, result)
		}
	}
	if rnd.IntN(8) == 0 { // the model is not heard again
		return in
	}
	in = append(in, chunk(id, `{}`, `"tool_calls"`))
	return append(in, after...)
}

// largeCall is a call whose args and result are blobs.
func largeCall(rnd *rand.Rand) []input {
	id := fmt.Sprintf("m%d", rnd.IntN(1e6))
	piece := strings.Repeat(fmt.Sprintf("%08d", rnd.IntN(1e8)), 1<<10)
	in := []input{chunk(id, `{"tool_calls":[{"index":0,"id":"large","function":{"name":"write","arguments":"{\"text\":\""}}]}`, "null")}
	for range 10 {
		in = append(in, chunk(id, `{"tool_calls":[{"index":0,"function":{"arguments":"`+piece+`"}}]}`, "null"))
	}
	in = append(in, chunk(id, `{"tool_calls":[{"index":0,"function":{"arguments":"\"}"}}]}`, `"tool_calls"`))
	return append(in, input{"result", `{"tool_call_id":"large","content":"` + strings.Repeat(piece, 9) + `"}`})
}
