package bench

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"streamer/internal/broker"
	"streamer/internal/client"
	"streamer/internal/inputs"
)

// The inputs of a call in OpenAI's format: chunk is a delta, in which stand the
// start of a call or a piece of its args.
const (
	chunk      = `{"id":"chatcmpl-%s-%d","object":"chat.completion.chunk","created":1700000000,"model":"gpt-4o-2024-08-06","service_tier":"default","system_fingerprint":"fp_50cad350e4","choices":[{"index":0,"delta":{%s},"logprobs":null,"finish_reason":%s}],"usage":null}`
	callStart  = `"role":"assistant","content":null,"tool_calls":[{"index":0,"id":"call_%d","type":"function","function":{"name":"search","arguments":"{\"q\":\""}}]`
	argsDelta  = `"tool_calls":[{"index":0,"function":{"arguments":"%s"}}]`
	resultBody = `{"tool_call_id":"call_%d","content":"ok"}`
)

const minPerCall = 3

// callInput returns kind and body of input i of the n-th call of a session. The
// call has that many inputs.
func callInput(token string, n, i, of int) (kind inputs.Kind, body string) {
	switch i {
	case 0:
		return inputs.Delta, fmt.Sprintf(chunk, token, n, fmt.Sprintf(callStart, n), "null")
	case of - 2:
		return inputs.Delta, fmt.Sprintf(chunk, token, n, fmt.Sprintf(argsDelta, `\"}`), `"tool_calls"`)
	case of - 1:
		return inputs.Result, fmt.Sprintf(resultBody, n)
	}
	return inputs.Delta, fmt.Sprintf(chunk, token, n, fmt.Sprintf(argsDelta, "abcd"), "null")
}

// feed publishes inputs without waiting for each acknowledgement.
type feed struct {
	Broker  *client.Broker
	acks    chan broker.Ack
	sent    int
	pending int      // publishes without an acknowledgement
	seqs    []uint64 // of the acknowledged inputs
}

// maxPending bounds the publishes without an acknowledgement.
const maxPending = 2000

func newFeed(b *client.Broker) *feed {
	return &feed{Broker: b, acks: make(chan broker.Ack, maxPending)}
}

func (f *feed) ack(ctx context.Context) error {
	select {
	case a := <-f.acks:
		f.pending--
		f.seqs = append(f.seqs, a.Seq)
		return a.Err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// input publishes an input. It waits if too many are pending.
func (f *feed) input(ctx context.Context, token string, kind inputs.Kind, body string) error {
	if f.pending == maxPending {
		if err := f.ack(ctx); err != nil {
			return err
		}
	}
	f.sent++
	f.pending++
	f.Broker.Publish(f.Broker.InputPub(token, kind, token+":"+strconv.Itoa(f.sent), nil, []byte(body)), f.acks)
	return nil
}

func (f *feed) flush(ctx context.Context) (err error) {
	for f.pending > 0 && err == nil {
		err = f.ack(ctx)
	}
	return err
}

// Plan is a set of inputs: those of some sessions with the same number of inputs
// each.
type Plan struct {
	PerCall  int           // inputs of a call
	Inputs   int           // of each session
	First    int           // number of the first of these calls in its session
	Sessions int           // in all
	AtOnce   int           // sessions whose inputs alternate
	Pace     time.Duration // between two inputs of a session; if 0, none
}

// openCalls returns inputs that open a call in each of n sessions.
func openCalls(n int) Plan { return Plan{PerCall: minPerCall, Inputs: 1, Sessions: n, AtOnce: n} }

// Fill stores the inputs of p. When the calls of the sessions that alternate are
// complete, the next sessions follow. The result has the sequences of the inputs.
func (f *feed) Fill(ctx context.Context, prefix string, p Plan) (seqs []uint64, err error) {
	f.seqs = nil
	for first := 0; first < p.Sessions; first += p.AtOnce {
		start := time.Now()
		for i := range p.Inputs {
			time.Sleep(time.Until(start.Add(time.Duration(i) * p.Pace)))
			for s := first; s < min(first+p.AtOnce, p.Sessions); s++ {
				token := prefix + strconv.Itoa(s)
				kind, body := callInput(token, p.First+i/p.PerCall, i%p.PerCall, p.PerCall)
				if err := f.input(ctx, token, kind, body); err != nil {
					return nil, err
				}
			}
		}
	}
	err = f.flush(ctx)
	slices.Sort(f.seqs) // acknowledgements can overtake each other
	return f.seqs, err
}
