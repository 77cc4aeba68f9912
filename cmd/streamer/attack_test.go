package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"streamer/internal/events"
	"streamer/internal/worker"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// attacked is a running streamer with a session that has something in every
// stream.
type attacked struct {
	*house
	t      *testing.T
	client jetstream.JetStream // without credentials
	own    jetstream.JetStream
}

const (
	attackedCalls = `{"choices":[{"index":0,"delta":{"tool_calls":[` +
		`{"index":0,"id":"large","function":{"name":"read","arguments":"{}"}},` +
		`{"index":1,"id":"small","function":{"name":"ask","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`
	attackedResult = `{"tool_call_id":%q,"content":%q}`
)

func openAttacked(t *testing.T, shared bool) *attacked {
	t.Helper()
	std := stdio{strings.NewReader(""), t.Output(), t.Output()}
	fs := flags("serve")
	s := serveFlags{shared: shared}
	s.register(fs)
	if _, err := parse(std, fs, []string{
		"--data-dir", t.TempDir(), "--nats-listen", "127.0.0.1:0", "--http-listen", "127.0.0.1:0", "--partitions", "2", "--save-every", "20ms", "--log-level", "error",
	}); err != nil {
		t.Fatal(err)
	}
	h, err := open(t.Context(), std, &s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.close)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- h.run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	<-h.opened
	a := &attacked{house: h, t: t, client: jetStreamAt(t, h.broker.URL()), own: jetStreamAt(t, h.broker.OwnURL())}
	a.publish("delta", attackedCalls)
	a.publish("result", fmt.Sprintf(attackedResult, "large", strings.Repeat("large ", 20_000)))
	a.result("large")
	return a
}

func jetStreamAt(t *testing.T, url string) jetstream.JetStream {
	t.Helper()
	nc, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	return js
}

// publish publishes an input of the honest session as the README shows it.
func (a *attacked) publish(kind, body string) {
	a.t.Helper()
	if _, err := a.client.Publish(a.t.Context(), "llm.honest."+kind, []byte(body), jetstream.WithMsgID(fmt.Sprintf("honest:%s:%d", kind, len(body)))); err != nil {
		a.t.Fatal(err)
	}
}

// result waits for the result of a call, read with a consumer of the client's.
func (a *attacked) result(id string) (e events.Event) {
	a.t.Helper()
	ctx, cancel := context.WithTimeout(a.t.Context(), 30*time.Second)
	defer cancel()
	c, err := a.client.OrderedConsumer(ctx, "TOOLCALLS", jetstream.OrderedConsumerConfig{FilterSubjects: []string{"toolcalls.honest.event.tool_call_result"}})
	if err != nil {
		a.t.Fatal(err)
	}
	for e.ID != id {
		m, err := c.Next(jetstream.FetchContext(ctx))
		if err != nil {
			a.t.Fatalf("waiting for the result of call %s: %v", id, err)
		}
		if err := json.Unmarshal(m.Data(), &e); err != nil {
			a.t.Fatal(err)
		}
	}
	return e
}

// stored lists the subjects of all that only streamer writes, once every stream
// has some.
func (a *attacked) stored() (list []string) {
	a.t.Helper()
	waitFor(a.t, nil, func() (empty []string, err error) {
		list = nil
		for _, name := range []string{"LLM", "TOOLCALLS", "STREAMER_BLOBS", "KV_STREAMER_STATE", "KV_STREAMER_MARK", "KV_STREAMER_MEMBER"} {
			s, err := a.own.Stream(a.t.Context(), name)
			if err != nil {
				return nil, err
			}
			info, err := s.Info(a.t.Context(), jetstream.WithSubjectFilter(">"))
			if err != nil {
				return nil, err
			}
			if len(info.State.Subjects) == 0 {
				empty = append(empty, "nothing in "+name)
			}
			for subject := range info.State.Subjects {
				if strings.HasPrefix(subject, "toolcalls.") {
					subject = "_" + subject
				}
				list = append(list, subject)
			}
		}
		return empty, nil
	})
	return list
}

// forge publishes inputs of another session, and names every internal subject
// for the acknowledgement.
func (a *attacked) forge() {
	a.t.Helper()
	for _, subject := range a.stored() {
		if err := a.client.Conn().PublishRequest("llm.attacker.interrupt", subject, nil); err != nil {
			a.t.Fatal(err)
		}
	}
	if _, err := a.client.Publish(a.t.Context(), "llm.attacker.end", []byte("{}")); err != nil {
		a.t.Fatal(err)
	}
}

// TestAttackedSession: a client without credentials names the subject of every
// stored message for its acknowledgements. A session goes on, nothing foreign is
// found anywhere, and the logs agree.
func TestAttackedSession(t *testing.T) {
	a := openAttacked(t, false)
	a.forge()
	a.publish("result", fmt.Sprintf(attackedResult, "small", "yes"))
	if e := a.result("small"); e.Status != events.Completed || string(e.ToolResult) != `"yes"` {
		t.Errorf("got status %s and result %s, want the result that was published", e.Status, e.ToolResult)
	}
	s := a.worker.Stats()
	if found := a.broker.Counts().Foreign + s.Skipped + s.Forged + s.Diverged + s.Restarts; found != 0 || a.worker.Problem() != nil {
		t.Errorf("found %d foreign messages, %+v, problem %v, want none", a.broker.Counts().Foreign, s, a.worker.Problem())
	}
	r, err := worker.Verify(t.Context(), a.broker)
	if err != nil || len(r.Differences) != 0 || r.Sessions != 2 {
		t.Errorf("verify: %d sessions, %v, %v, want two that agree", r.Sessions, r.Differences, err)
	}
}

// TestAttackedInOneAccount is the control: with clients in the account of the
// streams the same is found, and the logs disagree.
func TestAttackedInOneAccount(t *testing.T) {
	a := openAttacked(t, true)
	a.forge()
	waitFor(t, nil, func() (missing []string, err error) {
		if a.broker.Counts().Foreign == 0 {
			missing = append(missing, "no foreign message was found")
		}
		return missing, nil
	})
	r, err := worker.Verify(t.Context(), a.broker)
	if err != nil || len(r.Differences) == 0 {
		t.Errorf("verify: %v, %v, want differences", r.Differences, err)
	}
}
