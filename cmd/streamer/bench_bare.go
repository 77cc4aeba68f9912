package main

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// bare reads the inputs in span with the NATS library alone and, where every
// is not 0, stores one plain message for so many of them. It gives inputs per
// second, up to the last acknowledgement.
func (r *rig) bare(ctx context.Context, span [2]uint64, every int) (float64, error) {
	js, undo, err := r.scratch(ctx)
	if err != nil {
		return 0, err
	}
	defer undo()
	name := "LLM"
	consumer, err := js.OrderedConsumer(ctx, name, jetstream.OrderedConsumerConfig{
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: span[0],
	})
	if err != nil {
		return 0, fmt.Errorf("consumer of stream %s: %w", name, err)
	}
	body := make([]byte, 200)
	done := make(chan error, 1)
	var n atomic.Int64
	start := time.Now()
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
		return 0, fmt.Errorf("consumer of stream %s: %w", name, err)
	}
	defer reading.Stop()
	select {
	case err := <-done:
		if err != nil {
			return 0, err
		}
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	select {
	case <-js.PublishAsyncComplete():
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	return float64(n.Load()) / time.Since(start).Seconds(), nil
}

func (r *rig) scratchSubject(what string) string { return "bench." + r.nonce + "." + what }

// scratch makes a stream for what bare pipelines store, which also republishes
// it, as the event stream does. undo deletes it.
func (r *rig) scratch(ctx context.Context) (js jetstream.JetStream, undo func(), err error) {
	js, err = jetstream.New(r.nc, jetstream.WithPublishAsyncMaxPending(4000))
	if err != nil {
		return nil, nil, fmt.Errorf("JetStream: %w", err)
	}
	name := "BENCH-" + r.nonce
	_, err = js.CreateStream(ctx, jetstream.StreamConfig{
		Name: name, Subjects: []string{r.scratchSubject("in"), r.scratchSubject("out")},
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

// bareLatency measures the same way as latency does, without streamer: a
// message that is stored, read by a consumer, stored again and heard; and a
// message that is published and heard.
func (r *rig) bareLatency(ctx context.Context) (hops, trip delays, err error) {
	js, undo, err := r.scratch(ctx)
	if err != nil {
		return hops, trip, err
	}
	defer undo()
	consumer, err := js.OrderedConsumer(ctx, "BENCH-"+r.nonce, jetstream.OrderedConsumerConfig{FilterSubjects: []string{r.scratchSubject("in")}})
	if err != nil {
		return hops, trip, fmt.Errorf("consumer: %w", err)
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
		return hops, trip, fmt.Errorf("consumer: %w", err)
	}
	defer reading.Stop()
	sent := func(m *nats.Msg) (int64, bool) { return stamp(string(m.Data)) }
	now := func() []byte { return []byte("t" + strconv.FormatInt(time.Now().UnixNano(), 10)) }
	hops, err = r.paced(ctx, r.scratchSubject("stored"), sent, func(int) error {
		select {
		case err := <-failed:
			return err
		default:
		}
		_, err := js.PublishAsync(r.scratchSubject("in"), now())
		return err
	})
	if err != nil {
		return hops, trip, err
	}
	trip, err = r.paced(ctx, r.scratchSubject("heard"), sent, func(int) error {
		return r.nc.Publish(r.scratchSubject("heard"), now())
	})
	return hops, trip, err
}

// redactedURL leaves out what nobody else should read.
func redactedURL(s string) string {
	if u, err := url.Parse(s); err == nil {
		return u.Redacted()
	}
	return "the server given"
}
