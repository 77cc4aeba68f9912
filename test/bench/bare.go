package main

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"streamer/internal/bench"

	"github.com/nats-io/nats.go/jetstream"
)

// bare reads the inputs in span with the NATS library alone. If every is not 0,
// it stores a plain message for each every-th input, until the last
// acknowledgement.
func (r *rig) bare(ctx context.Context, span [2]uint64, every int) (t bench.Throughput, err error) {
	js, undo, err := r.scratch(ctx)
	if err != nil {
		return t, err
	}
	defer undo()
	body := make([]byte, 200)
	done := make(chan error, 1)
	var n atomic.Int64
	runtime.GC()
	cpu, start := bench.CPUTime(), time.Now()
	reading, err := r.consume(ctx, js, "LLM", from(span[0]), func(m jetstream.Msg) {
		meta, err := m.Metadata()
		if err == nil && every > 0 && n.Load()%int64(every) == 0 {
			_, err = js.PublishAsync(r.scratchSubject("out"), body)
		}
		n.Add(1)
		if err != nil || meta.Sequence.Stream >= span[1] {
			report(done, err)
		}
	})
	if err != nil {
		return t, err
	}
	defer reading.Stop()
	select {
	case err := <-done:
		if err != nil {
			return t, err
		}
	case <-ctx.Done():
		return t, ctx.Err()
	}
	select {
	case <-js.PublishAsyncComplete():
	case <-ctx.Done():
		return t, ctx.Err()
	}
	took, cpu, all := time.Since(start).Seconds(), bench.CPUTime()-cpu, float64(n.Load())
	t = bench.Throughput{Inputs: all / took, CPU: float64(cpu.Microseconds()) / all}
	if every > 0 {
		t.Events = t.Inputs / float64(every)
	}
	return t, nil
}

// report sends the first error, or nil, and drops the others.
func report(to chan<- error, err error) {
	select {
	case to <- err:
	default:
	}
}

// from returns the configuration of a consumer that begins with a sequence.
func from(seq uint64) jetstream.OrderedConsumerConfig {
	return jetstream.OrderedConsumerConfig{DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: seq}
}

// consume reads a stream until the result is stopped.
func (r *rig) consume(ctx context.Context, js jetstream.JetStream, stream string, c jetstream.OrderedConsumerConfig, each func(jetstream.Msg)) (jetstream.ConsumeContext, error) {
	consumer, err := js.OrderedConsumer(ctx, stream, c)
	if err != nil {
		return nil, fmt.Errorf("consumer of stream %s: %w", stream, err)
	}
	return consumer.Consume(each, jetstream.PullMaxMessages(5000))
}

func (r *rig) scratchSubject(what string) string { return "bench." + r.Nonce + "." + what }

func (r *rig) jetStream() (jetstream.JetStream, error) {
	return jetstream.New(r.NC, jetstream.WithPublishAsyncMaxPending(4000))
}

// scratch creates a stream for the messages of bare pipelines. It has the storage
// and the replicas of the event stream and republishes, as the event stream does.
// undo deletes it.
func (r *rig) scratch(ctx context.Context) (js jetstream.JetStream, undo func(), err error) {
	if js, err = r.jetStream(); err != nil {
		return nil, nil, err
	}
	like, err := js.Stream(ctx, "TOOLCALLS")
	if err != nil {
		return nil, nil, fmt.Errorf("stream TOOLCALLS: %w", err)
	}
	name := "BENCH-" + r.Nonce
	_, err = js.CreateStream(ctx, jetstream.StreamConfig{
		Name: name, Subjects: []string{r.scratchSubject("in"), r.scratchSubject("out")},
		Storage: like.CachedInfo().Config.Storage, Replicas: like.CachedInfo().Config.Replicas,
		RePublish: &jetstream.RePublish{Source: r.scratchSubject("out"), Destination: r.scratchSubject("stored")},
	})
	if err != nil {
		return nil, nil, fmt.Errorf("stream %s: %w", name, err)
	}
	return js, func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		_ = js.DeleteStream(ctx, name)
	}, nil
}
