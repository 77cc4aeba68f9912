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

	"streamer/internal/broker"
	"streamer/internal/client"
	"streamer/internal/inputs"
)

const (
	publishers    = 10
	inputInterval = 25 * time.Millisecond // average time between two inputs of a publisher
	quirkLines    = 80                    // maximum number of lines of a quirk stream that are published
	followed      = 5                     // of this number of conversations, one is read live and one by a browser
)

// pace is how fast publishers publish, and of how many of their sessions one is read live. A
// long run must not only read and fold again what it has stored.
type pace struct {
	interval time.Duration // average time between two inputs of a publisher
	sparse   int
}

// paceOf returns the pace of a run of a duration.
func paceOf(d time.Duration) pace {
	if d > 10*time.Minute {
		return pace{3 * inputInterval, int(d / time.Minute)}
	}
	return pace{inputInterval, max(1, int(d/time.Minute))}
}

// pause waits between two inputs.
func (p pace) pause(rnd *rand.Rand) { time.Sleep(time.Duration(rnd.Int64N(int64(2 * p.interval)))) }

// input is an input to publish.
type input struct{ kind, data string }

// conversations are publishers that play one conversation after the other. They
// record the acknowledged inputs.
type conversations struct {
	t        *testing.T
	b        *client.Broker
	quirks   [][]string
	readers  *readers
	browsers *browsers // nil if there are no gateways
	tokens   tokens
	pace     pace

	wg    sync.WaitGroup
	mu    sync.Mutex
	acked []acked
	dups  int // acknowledged as duplicates
}

// acked is an acknowledged input.
type acked struct {
	id, token string // id is the Nats-Msg-Id
	seq       uint64
	at        time.Time
}

// kept returns the ids of the inputs that were acknowledged outside of the times in
// which inputs were lost, and are not from before the place of an erasure.
func (c *conversations) kept(lost spans, places map[string]uint64) (ids []string) {
	for _, a := range c.acked {
		if !lost.cover(a.at) && a.seq > places[a.token] {
			ids = append(ids, a.id)
		}
	}
	return ids
}

// lost counts the acknowledged inputs that are not in the log.
func (c *conversations) lost(inLog map[string]int) (n int) {
	for _, a := range c.acked {
		if inLog[a.id] == 0 {
			n++
		}
	}
	return n
}

// newConversations returns conversations that publish to b at a pace. It reads the quirk
// streams.
func newConversations(t *testing.T, b *client.Broker, p pace) *conversations {
	c := &conversations{t: t, b: b, readers: newReaders(t, b), pace: p}
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

// publish plays conversations until ctx ends. A conversation that has begun is
// played to its end.
func (c *conversations) publish(ctx context.Context, seed uint64) {
	for i := range publishers {
		rnd := rand.New(rand.NewPCG(seed, uint64(200+i)))
		c.wg.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				// Some conversations continue an earlier session.
				name := "s"
				if i == 0 {
					name = retained
				}
				token := fmt.Sprintf("%s%d-%d", name, i, n-rnd.IntN(min(n, 3)+1))
				switch n % (followed * c.pace.sparse) {
				case 0:
					c.readers.follow(token)
				case 1:
					if c.browsers != nil {
						c.browsers.follow(token, rnd)
					}
				}
				c.tokens.add(token)
				c.play(token, n, c.conversation(rnd), rnd)
			}
		})
	}
}

// play publishes the inputs of a conversation.
func (c *conversations) play(token string, n int, list []input, rnd *rand.Rand) {
	for i, in := range list {
		id := fmt.Sprintf("%s:%s:%d-%d", token, in.kind, n, i)
		ctx, cancel := context.WithTimeout(context.Background(), publishTimeout)
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
		c.acked = append(c.acked, acked{id, token, a.Seq, time.Now()})
		if a.Duplicate {
			c.dups++
		}
		c.mu.Unlock()
		c.pace.pause(rnd)
	}
}

// conversation returns a quirk stream, or some messages with calls. The calls get
// no result, one, several, or a late one.
func (c *conversations) conversation(rnd *rand.Rand) []input {
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

// chunk returns a delta in the format of OpenAI's chat completions.
func chunk(id, delta, finish string) input {
	return input{"delta", fmt.Sprintf(`{"id":%q,"object":"chat.completion.chunk","choices":[{"index":0,"delta":%s,"finish_reason":%s}]}`, id, delta, finish)}
}

// message returns the inputs of a message with calls, and of their results.
func message(rnd *rand.Rand) []input {
	id := fmt.Sprintf("m%d", rnd.IntN(1e6))
	in := []input{chunk(id, `{"role":"assistant","content":"Let me see. "}`, "null")}
	calls := 1 + rnd.IntN(3)
	var after []input
	for k := range calls {
		call := fmt.Sprintf("call_%d", rnd.IntN(50)) // some ids repeat
		in = append(in, chunk(id, fmt.Sprintf(`{"tool_calls":[{"index":%d,"id":%q,"function":{"name":"search","arguments":""}}]}`, k, call), "null"))
		in = append(in, chunk(id, fmt.Sprintf(`{"tool_calls":[{"index":%d,"function":{"arguments":"{\"q\":\""}}]}`, k), "null"))
		for range rnd.IntN(6) {
			in = append(in, chunk(id, fmt.Sprintf(`{"tool_calls":[{"index":%d,"function":{"arguments":"word%d "}}]}`, k, rnd.IntN(100)), "null"))
		}
		in = append(in, chunk(id, fmt.Sprintf(`{"tool_calls":[{"index":%d,"function":{"arguments":"\"}"}}]}`, k), "null"))
		result := input{"result", fmt.Sprintf(`{"tool_call_id":%q,"content":"found %d"}`, call, rnd.IntN(3))}
		switch rnd.IntN(5) {
		case 0: // no result
		case 1:
			after = append(after, result, result)
		case 2:
			after = append(after, input{"progress", fmt.Sprintf(`{"tool_call_id":%q,"percent":50}`, call)}, result)
		default:
			after = append(after, result)
		}
	}
	if rnd.IntN(8) == 0 { // the stream stops without an end
		return in
	}
	in = append(in, chunk(id, `{}`, `"tool_calls"`))
	return append(in, after...)
}

// largeCall returns the inputs of a call whose args and result become blobs.
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
