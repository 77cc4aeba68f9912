package damage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// The streams.
const (
	inputStream  = "LLM"
	eventStream  = "TOOLCALLS"
	stateStream  = "KV_STREAMER_STATE"
	markStream   = "KV_STREAMER_MARK"
	memberStream = "KV_STREAMER_MEMBER"
	blobStream   = "STREAMER_BLOBS"
)

// connect opens a connection to an instance's server, with all rights.
func (in *instance) connect() jetstream.JetStream {
	in.t.Helper()
	nc, err := nats.Connect(in.url(), nats.MaxReconnects(0))
	if err != nil {
		in.t.Fatal(err)
	}
	in.t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		in.t.Fatal(err)
	}
	return js
}

// message is a stored one.
type message struct {
	seq     uint64
	subject string
	header  nats.Header
	data    []byte
}

// read returns what is in a stream, the last of each subject only where last is
// set.
func read(t *testing.T, js jetstream.JetStream, stream string, last bool) (list []message) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	config := jetstream.OrderedConsumerConfig{DeliverPolicy: jetstream.DeliverAllPolicy}
	if last {
		config.DeliverPolicy, config.FilterSubjects = jetstream.DeliverLastPerSubjectPolicy, []string{">"}
	}
	c, err := js.OrderedConsumer(ctx, stream, config)
	if err != nil {
		t.Fatalf("stream %s: %v", stream, err)
	}
	if info, err := c.Info(ctx); err != nil || info.NumPending == 0 {
		if err != nil {
			t.Fatalf("stream %s: %v", stream, err)
		}
		return nil
	}
	messages, err := c.Messages()
	if err != nil {
		t.Fatalf("stream %s: %v", stream, err)
	}
	defer messages.Stop()
	for next := uint64(1); ; {
		m, err := messages.Next(jetstream.NextMaxWait(time.Second))
		if errors.Is(err, nats.ErrTimeout) {
			if !another(ctx, t, js, stream, next) {
				return list // the server counts damaged messages as waiting
			}
			continue
		}
		if err != nil {
			t.Fatalf("stream %s: %v", stream, err)
		}
		meta, err := m.Metadata()
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, message{meta.Sequence.Stream, m.Subject(), m.Headers(), m.Data()})
		if next = meta.Sequence.Stream + 1; meta.NumPending == 0 {
			return list
		}
	}
}

// another reports whether a stream has a message that can be read at a sequence
// or behind it.
func another(ctx context.Context, t *testing.T, js jetstream.JetStream, stream string, next uint64) bool {
	t.Helper()
	s, err := js.Stream(ctx, stream)
	if err == nil {
		_, err = s.GetMsg(ctx, next, jetstream.WithGetMsgSubject(">"))
	}
	if err != nil && !errors.Is(err, jetstream.ErrMsgNotFound) {
		t.Fatalf("stream %s: %v", stream, err)
	}
	return err == nil
}

// event is a message of the event log.
type event struct {
	seq       uint64
	session   string // its token, which is its name here
	synthetic bool
	line      string // subject, id and body

	Type    string
	EventID string `json:"event_id"`
	Call    string
	ID      string
	Status  string
	Result  json.RawMessage `json:"tool_result"`
}

// readEvents returns the event log.
func readEvents(t *testing.T, js jetstream.JetStream) (list []event) {
	t.Helper()
	for _, m := range read(t, js, eventStream, false) {
		parts := strings.SplitN(m.subject, ".", 3)
		if len(parts) != 3 || parts[0] != "toolcalls" {
			t.Errorf("message %d of %s stands on %q", m.seq, eventStream, m.subject)
			continue
		}
		e := event{seq: m.seq, session: parts[1], synthetic: parts[2] == "synthetic", line: fmt.Sprintf("%s %s %s", m.subject, m.header.Get("Streamer-Event-Id"), m.data)}
		if err := json.Unmarshal(m.data, &e); err != nil && !e.synthetic {
			t.Errorf("message %d of %s: %v", m.seq, eventStream, err)
		}
		e.EventID = m.header.Get("Streamer-Event-Id")
		list = append(list, e)
	}
	return list
}
