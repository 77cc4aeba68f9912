package sink

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"streamer/internal/events"

	"github.com/nats-io/nats.go/jetstream"
)

// event is an event on its way.
type event struct {
	token, session string
	id             string
	kind           events.Type
	seq            uint64
	at             time.Time
	data           json.RawMessage
}

// selected returns the event in a message of the event log, and whether the sink delivers
// it. A message without an event id is no event.
func (s *Sink) selected(m jetstream.Msg) (e event, ok bool) {
	meta, err := m.Metadata()
	if err != nil {
		return e, false
	}
	return s.event(&jetstream.RawStreamMsg{Subject: m.Subject(), Header: m.Headers(), Sequence: meta.Sequence.Stream, Time: meta.Timestamp, Data: m.Data()})
}

func (s *Sink) event(m *jetstream.RawStreamMsg) (e event, ok bool) {
	parts := strings.Split(m.Subject, ".") // toolcalls.<token>.event.<type>
	if len(parts) != 4 || parts[2] != "event" {
		return e, false
	}
	e = event{token: parts[1], kind: events.Type(parts[3]), id: m.Header.Get(events.HeaderEventID), seq: m.Sequence, at: m.Time, data: m.Data}
	var err error
	if e.session, err = events.ParseToken(e.token); err != nil {
		e.session = e.token
	}
	ok = e.id != "" && json.Valid(e.data) &&
		(s.Types == nil || slices.Contains(s.Types, e.kind)) && (s.Match == nil || s.Match(e.session))
	return e, ok
}

// body returns the body of a request and its media type.
func (s *Sink) body(list []event) (body []byte, mediaType string, err error) {
	if s.CloudEvents {
		body, err = json.Marshal(cloudEvents(list))
		return body, "application/cloudevents-batch+json; charset=utf-8", err
	}
	batch := struct {
		Type      string            `json:"type"`
		Timestamp time.Time         `json:"timestamp"`
		Data      []json.RawMessage `json:"data"`
	}{"streamer.events", list[len(list)-1].at.UTC(), nil}
	for i := range list {
		batch.Data = append(batch.Data, list[i].data)
	}
	body, err = json.Marshal(batch)
	return body, "application/json", err
}

// cloudEvent is an event in the JSON format of CloudEvents 1.0
// (https://github.com/cloudevents/spec). Source and id together are unique.
type cloudEvent struct {
	Version  string          `json:"specversion"`
	ID       string          `json:"id"`
	Source   string          `json:"source"`
	Type     string          `json:"type"`
	Subject  string          `json:"subject"`
	Time     time.Time       `json:"time"`
	DataType string          `json:"datacontenttype"`
	Data     json.RawMessage `json:"data"`
}

func cloudEvents(list []event) (batch []cloudEvent) {
	for i := range list {
		e := &list[i]
		batch = append(batch, cloudEvent{
			Version: "1.0", ID: e.id, Source: "/v1/sessions/" + e.token, Type: "streamer." + string(e.kind),
			Subject: e.session, Time: e.at.UTC(), DataType: "application/json", Data: e.data,
		})
	}
	return batch
}

// batchID is the id of a request, which is the same when it is repeated.
func (s *Sink) batchID(list []event) string {
	return fmt.Sprintf("%s-%d-%d", s.Name, list[0].seq, list[len(list)-1].seq)
}
