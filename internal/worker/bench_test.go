package worker

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"streamer/internal/broker"
	"streamer/internal/broker/brokertest"
	"streamer/internal/events"
	"streamer/internal/inputs"
	"streamer/internal/natsserver"

	"github.com/rs/zerolog"
)

// BenchmarkPath measures the whole path on the embedded server: inputs that
// stand in the log (a call of 40 deltas per session, OpenAI's shape, over
// 1,000 sessions) until all their events are stored and the checkpoints are past
// them; and beside it, in the same run, a bare consumer that only counts.
func BenchmarkPath(b *testing.B) {
	const sessions = 1000
	for b.Loop() {
		b.StopTimer()
		broker, n := filled(b, sessions)
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
		start := time.Now()
		count(b, ctx, broker)
		bare := time.Since(start)
		b.StartTimer()
		start = time.Now()
		w := &Worker{Log: broker, Options: Options{Nonce: "bench"}, Logger: zerolog.Nop()}
		done := make(chan struct{})
		working, stop := context.WithCancel(ctx)
		go func() { defer close(done); _ = w.Run(working, all(broker)) }()
		waitEvents(b, ctx, broker, sessions)
		whole := time.Since(start)
		b.StopTimer()
		_, events, err := broker.EventBounds(ctx)
		if err != nil {
			b.Fatal(err)
		}
		stop()
		<-done
		cancel()
		broker.Close()
		b.ReportMetric(float64(n)/whole.Seconds(), "inputs/s")
		b.ReportMetric(float64(events)/whole.Seconds(), "events/s")
		b.ReportMetric(float64(n)/bare.Seconds(), "bare-inputs/s")
		b.ReportMetric(bare.Seconds()/whole.Seconds(), "of-bare")
		b.StartTimer()
	}
}

// filled makes a broker whose input log has a call per session.
func filled(b *testing.B, sessions int) (*testBroker, int) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	br, err := openBroker(ctx, broker.Options{Embed: brokertest.Embed(natsserver.Config{DataDir: b.TempDir()})})
	if err != nil {
		b.Fatal(err)
	}
	const window = 4000
	acks := make(chan broker.Ack, window)
	n, flying := 0, 0
	take := func() {
		if a := <-acks; a.Err != nil {
			b.Fatal(a.Err)
		}
		flying--
	}
	publish := func(s int, data string) {
		if flying == window {
			take()
		}
		token := fmt.Sprintf("s%d", s)
		br.Publish(br.InputPub(token, "delta", fmt.Sprintf("%s:%d", token, n), nil, []byte(data)), acks)
		n, flying = n+1, flying+1
	}
	const head = `{"id":"chatcmpl-%d","object":"chat.completion.chunk","created":1700000000,"model":"gpt-4o-2024-08-06","service_tier":"default","system_fingerprint":"fp_50cad350e4","choices":[{"index":0,"delta":%s,"logprobs":null,"finish_reason":%s}],"usage":null}`
	for i := range 42 {
		for s := range sessions {
			switch i {
			case 0:
				publish(s, fmt.Sprintf(head, s, `{"role":"assistant","content":null,"tool_calls":[{"index":0,"id":"call_a","type":"function","function":{"name":"search","arguments":"{\"q\":\""}}]}`, "null"))
			case 41:
				publish(s, fmt.Sprintf(head, s, `{"tool_calls":[{"index":0,"function":{"arguments":"\"}"}}]}`, `"tool_calls"`))
			default:
				publish(s, fmt.Sprintf(head, s, `{"tool_calls":[{"index":0,"function":{"arguments":"abcd"}}]}`, "null"))
			}
		}
	}
	for flying > 0 {
		take()
	}
	return br, n
}

// count reads all partitions and does nothing.
func count(b *testing.B, ctx context.Context, br *testBroker) {
	done := make(chan error)
	for p := range br.Partitions() {
		go func() {
			done <- br.Inputs(ctx, p, 1, func(_ []inputs.Input, _ uint64, caughtUp bool) error {
				if caughtUp {
					return errRead
				}
				return nil
			})
		}()
	}
	for range br.Partitions() {
		if err := <-done; !errors.Is(err, errRead) {
			b.Fatal(err)
		}
	}
}

// waitEvents waits until each session has its tool_call_args_complete.
func waitEvents(b *testing.B, ctx context.Context, br *testBroker, sessions int) {
	n := 0
	every := func(string) bool { return true }
	err := br.TailMany(ctx, nil, every, 0, func(s events.Record, _ bool) error {
		if s.Type == "tool_call_args_complete" {
			if n++; n == sessions {
				return errRead
			}
		}
		return nil
	}, nil)
	if n < sessions {
		b.Fatal(err)
	}
}
