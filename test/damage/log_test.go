package damage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// The streams.
const (
	inputStream      = "LLM"
	eventStream      = "TOOLCALLS"
	snapshotStream   = "KV_STREAMER_SNAPSHOT"
	checkpointStream = "KV_STREAMER_CHECKPOINT"
	memberStream     = "KV_STREAMER_MEMBER"
	blobStream       = "STREAMER_BLOBS"
	deadStream       = "STREAMER_DEAD"
)

// connect opens a connection to the server of an instance, with all permissions.
func (in *instance) connect() jetstream.JetStream {
	in.t.Helper()
	nc, err := nats.Connect(in.url(), nats.MaxReconnects(-1), nats.ReconnectWait(100*time.Millisecond))
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

// message is a stored message.
type message struct {
	seq     uint64
	at      time.Time
	subject string
	header  nats.Header
	data    []byte
}

// read returns the messages of a stream, or only the last one of each subject.
func read(ctx context.Context, js jetstream.JetStream, stream string, last bool) (list []message, err error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	config := jetstream.OrderedConsumerConfig{DeliverPolicy: jetstream.DeliverAllPolicy, InactiveThreshold: 5 * time.Second}
	if last {
		config.DeliverPolicy, config.FilterSubjects = jetstream.DeliverLastPerSubjectPolicy, []string{">"}
	}
	c, err := js.OrderedConsumer(ctx, stream, config)
	if err != nil {
		return nil, fmt.Errorf("stream %s: %w", stream, err)
	}
	if info, err := c.Info(ctx); err != nil || info.NumPending == 0 {
		return nil, err
	}
	messages, err := c.Messages()
	if err != nil {
		return nil, fmt.Errorf("stream %s: %w", stream, err)
	}
	defer messages.Stop()
	for next := uint64(1); ; {
		m, err := messages.Next(jetstream.NextMaxWait(time.Second))
		if errors.Is(err, nats.ErrTimeout) {
			// The server counts damaged messages as pending.
			if more, err := another(ctx, js, stream, next); err != nil || !more {
				return list, err
			}
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("stream %s: %w", stream, err)
		}
		meta, err := m.Metadata()
		if err != nil {
			return nil, fmt.Errorf("stream %s: %w", stream, err)
		}
		list = append(list, message{meta.Sequence.Stream, meta.Timestamp, m.Subject(), m.Headers(), m.Data()})
		if next = meta.Sequence.Stream + 1; meta.NumPending == 0 {
			return list, nil
		}
	}
}

// another reports whether a stream has a message that can be read, at sequence
// next or after it.
func another(ctx context.Context, js jetstream.JetStream, stream string, next uint64) (bool, error) {
	s, err := js.Stream(ctx, stream)
	if err == nil {
		_, err = s.GetMsg(ctx, next, jetstream.WithGetMsgSubject(">"))
	}
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return false, nil
	}
	return err == nil, err
}

// event is a message of the event log.
type event struct {
	seq       uint64
	session   string // the token, which equals the name in these tests
	synthetic bool
	line      string // subject, id and body

	Type    string
	EventID string `json:"event_id"`
	Call    string
	ID      string
	Status  string
	Result  json.RawMessage `json:"tool_result"`
}

// events returns the event log.
func (in *instance) events(js jetstream.JetStream) (list []event, err error) {
	stored, err := read(in.t.Context(), js, eventStream, false)
	for _, m := range stored {
		parts := strings.SplitN(m.subject, ".", 3)
		if len(parts) != 3 || parts[0] != "toolcalls" {
			return nil, fmt.Errorf("message %d of %s has subject %q", m.seq, eventStream, m.subject)
		}
		e := event{seq: m.seq, session: parts[1], synthetic: parts[2] == "synthetic", line: fmt.Sprintf("%s %s %s", m.subject, m.header.Get("Streamer-Event-Id"), m.data)}
		if err := json.Unmarshal(m.data, &e); err != nil && !e.synthetic {
			return nil, fmt.Errorf("message %d of %s: %w", m.seq, eventStream, err)
		}
		e.EventID = m.header.Get("Streamer-Event-Id")
		list = append(list, e)
	}
	return list, err
}

// waitEvents waits until wrong returns nothing for the event log, and returns the
// log.
func (in *instance) waitEvents(js jetstream.JetStream, what string, until func(string, func() []string), wrong func([]event) []string) (log []event) {
	in.t.Helper()
	until(what, func() []string {
		var err error
		if log, err = in.events(js); err != nil { // the server may be starting
			return []string{err.Error()}
		}
		return wrong(log)
	})
	return log
}
