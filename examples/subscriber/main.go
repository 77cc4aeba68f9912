// Command subscriber calls a webhook for each tool call that failed. It reads the events
// tool_call_result with a durable consumer, so it misses none while it is stopped.
//
//	subscriber --nats-url nats://127.0.0.1:4222 --webhook http://127.0.0.1:9000/failed
package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

func main() {
	url := flag.String("nats-url", cmp.Or(os.Getenv("STREAMER_NATS_URL"), nats.DefaultURL), "`URL` of NATS")
	webhook := flag.String("webhook", "", "`URL` that gets the events")
	statuses := flag.String("statuses", "error,timeout", "statuses of calls that are reported")
	name := flag.String("durable", "subscriber", "name of the consumer: processes with the same name share the events")
	flag.Parse()
	if *webhook == "" {
		log.Fatal("subscriber: --webhook is missing")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *url, *name, *webhook, strings.Split(*statuses, ",")); err != nil {
		log.Fatal("subscriber: ", err)
	}
}

// run reports calls until ctx ends.
func run(ctx context.Context, url, name, webhook string, statuses []string) error {
	nc, err := nats.Connect(url, nats.MaxReconnects(-1))
	if err != nil {
		return fmt.Errorf("connecting to %s: %w", url, err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		return err
	}
	consumer, err := js.CreateOrUpdateConsumer(ctx, "TOOLCALLS", jetstream.ConsumerConfig{
		Durable:       name,
		FilterSubject: "toolcalls.*.event.tool_call_result",
		DeliverPolicy: jetstream.DeliverNewPolicy, // when it is created; later starts continue where the last one ended
		AckWait:       time.Minute,
	})
	if err != nil {
		return fmt.Errorf("creating the consumer: %w", err)
	}
	events, err := consumer.Messages()
	if err != nil {
		return fmt.Errorf("reading events: %w", err)
	}
	context.AfterFunc(ctx, events.Stop)
	fmt.Fprintln(os.Stdout, "subscriber reads", consumer.CachedInfo().Config.FilterSubject)
	ctx = context.WithoutCancel(ctx) // an event in progress is completed
	for {
		m, err := events.Next()
		if errors.Is(err, jetstream.ErrMsgIteratorClosed) {
			return nil
		} else if err != nil {
			log.Print("reading events: ", err)
			continue
		}
		if err := report(ctx, m, webhook, statuses); err != nil {
			log.Printf("%s: %v", m.Subject(), err)
			_ = m.NakWithDelay(time.Second) // if it fails, the event is delivered again after AckWait
			continue
		}
		if err := m.DoubleAck(ctx); err != nil {
			log.Printf("%s: acknowledging: %v", m.Subject(), err) // the event is delivered again, with the same key
		}
	}
}

// report sends an event to the webhook if its call failed.
func report(ctx context.Context, m jetstream.Msg, webhook string, statuses []string) error {
	var event struct {
		Status  string `json:"status"`
		Session string `json:"session"`
		EventID string `json:"event_id"`
	}
	if err := json.Unmarshal(m.Data(), &event); err != nil {
		return err
	}
	if !slices.Contains(statuses, event.Status) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, webhook, bytes.NewReader(m.Data()))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	// An event can be delivered more than once. Its session and id name it.
	request.Header.Set("Idempotency-Key", fmt.Sprintf("%q", event.Session+" "+event.EventID))
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode >= 300 {
		return fmt.Errorf("the webhook: %s", answer.Status)
	}
	return nil
}
