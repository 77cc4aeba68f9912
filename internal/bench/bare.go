package bench

import (
	"context"
	"fmt"
	"runtime"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// bare reads the inputs in span with the NATS library alone. If every is not 0,
// it stores a plain message for each every-th input, until the last
// acknowledgement.
func (r *rig) bare(ctx context.Context, span [2]uint64, every int) (t Throughput, err error) {
	js, undo, err := r.scratch(ctx)
	if err != nil {
		return t, err
	}
	defer undo()
	name := "LLM"
	consumer, err := js.OrderedConsumer(ctx, name, jetstream.OrderedConsumerConfig{
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: span[0],
	})
	if err != nil {
		return t, fmt.Errorf("consumer of stream %s: %w", name, err)
	}
	body := make([]byte, 200)
	done := make(chan error, 1)
	var n atomic.Int64
	runtime.GC()
	cpu, start := cpuTime(), time.Now()
	reading, err := consumer.Consume(func(m jetstream.Msg) {
		meta, err := m.Metadata()
		if err == nil && every > 0 && n.Load()%int64(every) == 0 {
			_, err = js.PublishAsync(r.scratchSubject("out"), body)
		}
		n.Add(1)
		if err != nil || meta.Sequence.Stream >= span[1] {
			select {
			case done <- err:
			default:
			}
		}
	}, jetstream.PullMaxMessages(5000))
	if err != nil {
		return t, fmt.Errorf("consumer of stream %s: %w", name, err)
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
	took, cpu, all := time.Since(start).Seconds(), cpuTime()-cpu, float64(n.Load())
	t = Throughput{Inputs: all / took, CPU: float64(cpu.Microseconds()) / all}
	if every > 0 {
		t.Events = t.Inputs / float64(every)
	}
	return t, nil
}

func (r *rig) scratchSubject(what string) string { return "bench." + r.nonce + "." + what }

func (r *rig) jetStream() (jetstream.JetStream, error) {
	js, err := jetstream.New(r.nc, jetstream.WithPublishAsyncMaxPending(4000))
	if err != nil {
		return nil, fmt.Errorf("JetStream: %w", err)
	}
	return js, nil
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
	name := "BENCH-" + r.nonce
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

// bareProbes returns the probes without streamer: a message that is stored, read
// by a consumer, stored again and received; one that is stored and received; and
// one that is only received. undo stops them.
func (r *rig) bareProbes(ctx context.Context) (list []*probe, undo func(), err error) {
	js, remove, err := r.scratch(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			remove()
		}
	}()
	consumer, err := js.OrderedConsumer(ctx, "BENCH-"+r.nonce, jetstream.OrderedConsumerConfig{FilterSubjects: []string{r.scratchSubject("in")}})
	if err != nil {
		return nil, nil, fmt.Errorf("consumer: %w", err)
	}
	failed := make(chan error, 1)
	reading, err := consumer.Consume(func(m jetstream.Msg) {
		if _, err := js.PublishAsync(r.scratchSubject("out"), m.Data()); err != nil {
			select {
			case failed <- err:
			default:
			}
		}
	})
	if err != nil {
		return nil, nil, fmt.Errorf("consumer: %w", err)
	}
	store := func(what string) func(int) error {
		return func(int) error {
			select {
			case err := <-failed:
				return err
			default:
			}
			_, err := js.PublishAsync(r.scratchSubject(what), now())
			return err
		}
	}
	sent := func(m *nats.Msg) (int64, bool) { return stamp(string(m.Data)) }
	return []*probe{
		{subject: r.scratchSubject("stored"), sent: sent, publish: store("in")},
		{subject: r.scratchSubject("stored"), sent: sent, publish: store("out")},
		{subject: r.scratchSubject("received"), sent: sent, publish: func(int) error { return r.nc.Publish(r.scratchSubject("received"), now()) }},
	}, func() { reading.Stop(); remove() }, nil
}

// now returns a message with the current time.
func now() []byte { return []byte("t" + strconv.FormatInt(time.Now().UnixNano(), 10)) }
