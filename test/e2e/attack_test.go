package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"streamer/internal/audit"
	"streamer/internal/broker/brokertest"
	"streamer/internal/events"
	"streamer/internal/server"
	"streamer/test/local"
	"streamer/test/testkit"

	"github.com/nats-io/nats.go/jetstream"
)

// attacked is a running server whose session "honest" has messages in every
// stream.
type attacked struct {
	*server.Server
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

// openAttacked runs a server. If shared is set, clients are in the account of the
// streams.
func openAttacked(t *testing.T, shared bool) *attacked {
	t.Helper()
	c := local.Config(t.TempDir())
	c.Broker.Partitions, c.Worker.SnapshotEvery = 2, 20*time.Millisecond
	if shared {
		c.Broker.URL = brokertest.NewServer(t).URL()
	}
	s, _ := local.Serve(t, c)
	a := &attacked{Server: s, t: t, client: brokertest.JetStream(t, s.Broker.URL()), own: brokertest.JetStream(t, s.Broker.OwnURL())}
	a.publish("delta", attackedCalls)
	a.publish("result", fmt.Sprintf(attackedResult, "large", strings.Repeat("large ", 20_000)))
	a.result("large")
	return a
}

// publish publishes an input of session "honest" as the README shows it.
func (a *attacked) publish(kind, body string) {
	a.t.Helper()
	if _, err := a.client.Publish(a.t.Context(), "llm.honest."+kind, []byte(body), jetstream.WithMsgID(fmt.Sprintf("honest:%s:%d", kind, len(body)))); err != nil {
		a.t.Fatal(err)
	}
}

// result waits for the result of a call. It reads with a consumer of the client.
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

// stored returns the subjects of all messages that only streamer writes, after
// every stream has a message.
func (a *attacked) stored() (list []string) {
	a.t.Helper()
	testkit.Until(a.t, "a message in every stream", func() error {
		var empty []string
		list = nil
		for _, name := range []string{"LLM", "TOOLCALLS", "STREAMER_BLOBS", "KV_STREAMER_SNAPSHOT", "KV_STREAMER_CHECKPOINT", "KV_STREAMER_MEMBER"} {
			s, err := a.own.Stream(a.t.Context(), name)
			if err != nil {
				return err
			}
			info, err := s.Info(a.t.Context(), jetstream.WithSubjectFilter(">"))
			if err != nil {
				return err
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
		return testkit.Check(empty, nil)
	})
	return list
}

// forge publishes inputs of another session with each internal subject as the
// reply subject.
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
// stored message as the reply subject of its publishes. The session goes on, no
// foreign message is found, and the logs agree.
func TestAttackedSession(t *testing.T) {
	t.Parallel()
	a := openAttacked(t, false)
	a.forge()
	a.publish("result", fmt.Sprintf(attackedResult, "small", "yes"))
	if e := a.result("small"); e.Status != events.Completed || string(e.ToolResult) != `"yes"` {
		t.Errorf("got status %s and result %s, want the result that was published", e.Status, e.ToolResult)
	}
	s := a.Worker.Stats()
	if found := a.Broker.Counts().Foreign + s.Skipped + s.Forged + s.Diverged + s.Restarts; found != 0 || a.Worker.Problem() != nil {
		t.Errorf("found %d foreign messages, %+v, problem %v, want none", a.Broker.Counts().Foreign, s, a.Worker.Problem())
	}
	r, err := audit.Verification{Log: a.Broker}.Run(t.Context())
	if err != nil || len(r.Differences) != 0 || r.Sessions != 2 {
		t.Errorf("verify: %d sessions, %v, %v, want two that agree", r.Sessions, r.Differences, err)
	}
}

// TestAttackedInOneAccount is the control: with clients in the account of the
// streams, foreign messages are found and the logs disagree.
func TestAttackedInOneAccount(t *testing.T) {
	t.Parallel()
	a := openAttacked(t, true)
	a.forge()
	testkit.Until(t, "foreign messages", func() error {
		if a.Broker.Counts().Foreign == 0 {
			return errors.New("none was found")
		}
		return nil
	})
	r, err := audit.Verification{Log: a.Broker}.Run(t.Context())
	if err != nil || len(r.Differences) == 0 {
		t.Errorf("verify: %v, %v, want differences", r.Differences, err)
	}
}
