package bench

import (
	"context"
	"fmt"
	"strconv"

	"streamer/internal/broker"
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

// filler publishes inputs without waiting for each acknowledgement.
type filler struct {
	r       *rig
	acks    chan broker.Ack
	pending int // publishes without an acknowledgement
	n       int // publishes
}

// maxPending bounds the publishes without an acknowledgement.
const maxPending = 2000

func (r *rig) newFiller() *filler { return &filler{r: r, acks: make(chan broker.Ack, maxPending)} }

// take waits for one acknowledgement.
func (f *filler) take(ctx context.Context) error {
	select {
	case a := <-f.acks:
		f.pending--
		return a.Err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// input publishes an input. It waits if too many are pending.
func (f *filler) input(ctx context.Context, token string, kind inputs.Kind, body string) error {
	for f.pending == maxPending {
		if err := f.take(ctx); err != nil {
			return err
		}
	}
	f.n++
	f.pending++
	b := f.r.broker
	b.Publish(b.InputPub(token, kind, fmt.Sprintf("%s:%d", token, f.n), nil, []byte(body)), f.acks)
	return nil
}

// flush waits for all acknowledgements.
func (f *filler) flush(ctx context.Context) error {
	for f.pending > 0 {
		if err := f.take(ctx); err != nil {
			return err
		}
	}
	return nil
}

// fill stores about Options.Inputs inputs in Options.Sessions sessions with the
// same number of calls each. The inputs of atOnce sessions alternate; when their
// calls are complete, the next sessions follow. Inputs, sessions, calls and events
// are therefore the same for every atOnce.
func (r *rig) fill(ctx context.Context, prefix string, atOnce int) (n, calls int, err error) {
	f := r.newFiller()
	of, sessions := r.options.PerCall, r.options.Sessions
	each := r.options.Inputs / of / sessions
	for first := 0; first < sessions; first += atOnce {
		for i := range each * of {
			for s := first; s < min(first+atOnce, sessions); s++ {
				token := prefix + strconv.Itoa(s)
				kind, body := callInput(token, i/of, i%of, of)
				if err := f.input(ctx, token, kind, body); err != nil {
					return f.n, 0, err
				}
			}
		}
	}
	return f.n, each * sessions, f.flush(ctx)
}
