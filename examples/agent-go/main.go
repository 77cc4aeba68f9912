// Command agent-go runs the tool calls of all sessions. It reads the events
// tool_call_args_complete with a durable consumer, runs each call, publishes the
// result, and only then acknowledges the event. A process that is killed anywhere
// in between gets the event again when it is back.
//
//	agent-go --nats-url nats://127.0.0.1:4222 --dir bookings
package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

func main() {
	url := flag.String("nats-url", cmp.Or(os.Getenv("STREAMER_NATS_URL"), nats.DefaultURL), "`URL` of NATS")
	dir := flag.String("dir", "bookings", "`directory` in which the tool keeps its bookings")
	wait := flag.Duration("ack-wait", 30*time.Second, "time after which the event of a process that died is delivered again")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *url, *dir, *wait); err != nil {
		log.Fatal("agent-go: ", err)
	}
}

// run runs calls until ctx ends.
func run(ctx context.Context, url, dir string, wait time.Duration) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	nc, err := nats.Connect(url, nats.MaxReconnects(-1))
	if err != nil {
		return fmt.Errorf("connecting to %s: %w", url, err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		return err
	}
	// Processes with the same durable name share the calls.
	consumer, err := js.CreateOrUpdateConsumer(ctx, "TOOLCALLS", jetstream.ConsumerConfig{
		Durable:       "agent-go",
		FilterSubject: "toolcalls.*.event.tool_call_args_complete",
		AckWait:       wait,
		MaxAckPending: 8, // calls that run at once
	})
	if err != nil {
		return fmt.Errorf("creating the consumer: %w", err)
	}
	events, err := consumer.Messages()
	if err != nil {
		return fmt.Errorf("reading events: %w", err)
	}
	context.AfterFunc(ctx, events.Stop)
	var calls sync.WaitGroup
	defer calls.Wait()
	ctx = context.WithoutCancel(ctx) // calls in progress are completed
	for {
		m, err := events.Next()
		if errors.Is(err, jetstream.ErrMsgIteratorClosed) {
			return nil
		} else if err != nil {
			log.Print("reading events: ", err)
			continue
		}
		calls.Go(func() { handle(ctx, js, dir, m, wait) })
	}
}

// call has the fields of a tool_call_args_complete event that are used here.
// docs/events.md describes all fields.
type call struct {
	Call     string          `json:"call"`
	Name     string          `json:"tool_name"`
	Args     json.RawMessage `json:"tool_args"`
	Deadline time.Time       `json:"deadline"`
}

// result is a tool result. It names the call by its unique name, because ids of
// providers repeat.
type result struct {
	Call    string `json:"call"`
	Content any    `json:"content"`
	Status  string `json:"status"`
}

// handle runs one call, publishes its result and acknowledges the event. Without the
// acknowledgement, the event is delivered again.
func handle(ctx context.Context, js jetstream.JetStream, dir string, m jetstream.Msg, wait time.Duration) {
	var c call
	session := strings.Split(m.Subject(), ".")[1] // as the token that subjects use
	if err := json.Unmarshal(m.Data(), &c); err != nil || c.Name != "book_table" || !c.Deadline.IsZero() && time.Now().After(c.Deadline) {
		_ = m.Ack() // a tool of another agent, or a call that was closed by its deadline
		return
	}
	defer keep(m, wait)()
	r := result{Call: c.Call, Status: "success"}
	var err error
	if r.Content, err = book(dir, session+"-"+c.Call, &c); err != nil {
		r.Content, r.Status = err.Error(), "error"
	}
	body, err := json.Marshal(r)
	if err == nil {
		// JetStream stores a result with this id once in two minutes. After that,
		// streamer ignores a second result with the same content.
		_, err = js.Publish(ctx, "llm."+session+".result", body, jetstream.WithMsgID(session+":result:"+c.Call))
	}
	if err == nil {
		err = m.DoubleAck(ctx)
	}
	if err != nil {
		log.Printf("call %s of %s: %v", c.Call, session, err)
		return
	}
	fmt.Fprintf(os.Stdout, "answered call %s of %s\n", c.Call, session)
}

// keep extends the time of a message until the returned function is called, so that a
// slow tool does not run twice.
func keep(m jetstream.Msg, wait time.Duration) func() {
	ticker, done := time.NewTicker(wait/2), make(chan struct{})
	go func() {
		for {
			select {
			case <-ticker.C:
				_ = m.InProgress() // if it fails, the next one follows
			case <-done:
				ticker.Stop()
				return
			}
		}
	}()
	return func() { close(done) }
}

// book is the tool. It can be run again with the same key, and then returns the booking
// of the first run: a process can be killed after the booking and before its result is
// published. A tool that calls an API sends the key as its Idempotency-Key.
func book(dir, key string, c *call) (json.RawMessage, error) {
	if c.Args == nil {
		return nil, errors.New("the arguments are not JSON, or larger than 64 KiB")
	}
	booking, err := json.Marshal(map[string]any{"number": rand.Text(), "table": c.Args})
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, key+".json")
	draft := file + "." + rand.Text() // a killed process leaves no half of a booking
	defer os.Remove(draft)
	if err := os.WriteFile(draft, booking, 0o600); err != nil {
		return nil, err
	}
	if err := os.Link(draft, file); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	return os.ReadFile(file)
}
