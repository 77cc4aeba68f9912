package bench

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

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
	pending int      // publishes without an acknowledgement
	seqs    []uint64 // of the inputs that are acknowledged
}

// maxPending bounds the publishes without an acknowledgement.
const maxPending = 2000

func (r *rig) newFiller() *filler { return &filler{r: r, acks: make(chan broker.Ack, maxPending)} }

// take waits for one acknowledgement.
func (f *filler) take(ctx context.Context) error {
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
func (f *filler) input(ctx context.Context, token string, kind inputs.Kind, body string) error {
	for f.pending == maxPending {
		if err := f.take(ctx); err != nil {
			return err
		}
	}
	f.r.inputs++
	f.pending++
	b := f.r.broker
	b.Publish(b.InputPub(token, kind, fmt.Sprintf("%s:%d", token, f.r.inputs), nil, []byte(body)), f.acks)
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

// plan is a set of inputs: those of some sessions with the same number of calls
// each.
type plan struct {
	perCall  int           // inputs of a call
	calls    int           // of each session
	first    int           // number of the first of these calls in its session
	sessions int           // in all
	atOnce   int           // sessions whose inputs alternate
	pace     time.Duration // between two inputs of a session; if 0, none
}

// plan returns about Options.Inputs inputs of Options.Sessions sessions. Inputs,
// sessions, calls and events are the same for every atOnce.
func (o *Options) plan(atOnce int) plan {
	return plan{perCall: o.PerCall, calls: o.Inputs / o.PerCall / o.Sessions, sessions: o.Sessions, atOnce: atOnce}
}

// fill stores the inputs of p. When the calls of the sessions that alternate are
// complete, the next sessions follow. The result has the sequences of the inputs.
func (r *rig) fill(ctx context.Context, prefix string, p plan) (seqs []uint64, err error) {
	f := r.newFiller()
	for first := 0; first < p.sessions; first += p.atOnce {
		start := time.Now()
		for i := range p.calls * p.perCall {
			if err := sleepUntil(ctx, start.Add(time.Duration(i)*p.pace)); err != nil {
				return nil, err
			}
			for s := first; s < min(first+p.atOnce, p.sessions); s++ {
				token := prefix + strconv.Itoa(s)
				kind, body := callInput(token, p.first+i/p.perCall, i%p.perCall, p.perCall)
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

// sleepUntil waits until a time, which can be over, or until ctx ends.
func sleepUntil(ctx context.Context, at time.Time) error {
	d := time.Until(at)
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
