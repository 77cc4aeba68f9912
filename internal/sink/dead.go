package sink

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"streamer/internal/broker"

	"github.com/nats-io/nats.go/jetstream"
)

// Dead is an event that could not be delivered. It stays in the event log.
type Dead struct {
	Sink    string    `json:"sink"`
	Session string    `json:"session"`
	EventID string    `json:"event_id"`
	Seq     uint64    `json:"seq"` // in the event log
	Type    string    `json:"type"`
	Why     string    `json:"why"`
	At      time.Time `json:"at"`
}

// makeDead creates the stream of dead letters, stored as the event log is.
func (s *Sink) makeDead(ctx context.Context, js jetstream.JetStream) error {
	stored, err := js.Stream(ctx, broker.StreamEvents)
	if err != nil {
		return fmt.Errorf("sink: stream %s: %w", broker.StreamEvents, err)
	}
	like := stored.CachedInfo().Config
	_, age := s.broker.Retention()
	_, err = js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{
		Name: broker.StreamDead, Subjects: []string{broker.RootDead + ">"}, MaxAge: age, Storage: like.Storage, Replicas: like.Replicas,
	})
	if err != nil {
		return fmt.Errorf("sink: stream %s: %w", broker.StreamDead, err)
	}
	return nil
}

// bury stores dead letters for events. After an error it may be called again.
func (s *Sink) bury(ctx context.Context, js jetstream.JetStream, list []event, why error) error {
	if err := s.makeDead(ctx, js); err != nil { // it may have been removed
		return err
	}
	for i := range list {
		e := &list[i]
		letter, err := json.Marshal(Dead{s.Name, e.session, e.id, e.seq, string(e.kind), why.Error(), time.Now().UTC()})
		if err == nil {
			_, err = js.Publish(ctx, broker.RootDead+s.Name+"."+e.token, letter, jetstream.WithMsgID(fmt.Sprintf("%s-%d", s.Name, e.seq)))
		}
		if err != nil {
			return fmt.Errorf("sink: dead letter of event %d: %w", e.seq, err)
		}
	}
	s.dead.Add(uint64(len(list)))
	s.log.Error().Err(why).Str("session", list[0].session).Str("event", list[0].id).Int("events", len(list)).Msg("events not delivered; they are dead letters now")
	return nil
}

// Status is the state of a sink, whether it runs or not.
type Status struct {
	Name    string `json:"sink"`
	Pending uint64 `json:"pending"` // events that it has not read
	Open    int    `json:"open"`    // events that it is delivering
	Dead    uint64 `json:"dead"`
}

// List returns the sinks that have a consumer or dead letters, by name.
func List(ctx context.Context, b Broker) ([]Status, error) {
	js, err := jetstream.New(b.Conn())
	if err != nil {
		return nil, fmt.Errorf("sink: %w", err)
	}
	stored, err := js.Stream(ctx, broker.StreamEvents)
	if err != nil {
		return nil, fmt.Errorf("sink: stream %s: %w", broker.StreamEvents, err)
	}
	of := map[string]*Status{}
	entry := func(name string) *Status {
		if of[name] == nil {
			of[name] = &Status{Name: name}
		}
		return of[name]
	}
	consumers := stored.ListConsumers(ctx)
	for c := range consumers.Info() {
		if name, ok := strings.CutPrefix(c.Name, consumerPrefix); ok {
			e := entry(name)
			e.Pending, e.Open = c.NumPending, c.NumAckPending
		}
	}
	if err := consumers.Err(); err != nil {
		return nil, fmt.Errorf("sink: consumers: %w", err)
	}
	if err := countDead(ctx, js, entry); err != nil {
		return nil, err
	}
	var list []Status
	for _, e := range of {
		list = append(list, *e)
	}
	slices.SortFunc(list, func(a, b Status) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

func countDead(ctx context.Context, js jetstream.JetStream, entry func(name string) *Status) error {
	dead, err := js.Stream(ctx, broker.StreamDead)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("sink: stream %s: %w", broker.StreamDead, err)
	}
	info, err := dead.Info(ctx, jetstream.WithSubjectFilter(broker.RootDead+">"))
	if err != nil {
		return fmt.Errorf("sink: stream %s: %w", broker.StreamDead, err)
	}
	for subject, n := range info.State.Subjects {
		name, _, _ := strings.Cut(strings.TrimPrefix(subject, broker.RootDead), ".")
		entry(name).Dead += n
	}
	return nil
}

// Letters calls fn with the dead letters of a sink and their sequences, oldest first.
func Letters(ctx context.Context, b Broker, name string, fn func(seq uint64, d Dead) error) error {
	js, err := jetstream.New(b.Conn())
	if err != nil {
		return fmt.Errorf("sink: %w", err)
	}
	consumer, err := js.OrderedConsumer(ctx, broker.StreamDead, jetstream.OrderedConsumerConfig{FilterSubjects: []string{broker.RootDead + name + ".>"}})
	if err != nil {
		return fmt.Errorf("sink: dead letters of %s: %w", name, err)
	}
	for {
		batch, err := consumer.FetchNoWait(defaultBatch)
		if err != nil {
			return fmt.Errorf("sink: dead letters of %s: %w", name, err)
		}
		n := 0
		for m := range batch.Messages() {
			n++
			var d Dead
			meta, err := m.Metadata()
			if err == nil {
				err = json.Unmarshal(m.Data(), &d)
			}
			if err != nil {
				return fmt.Errorf("sink: dead letter on %s: %w", m.Subject(), err)
			}
			if err := fn(meta.Sequence.Stream, d); err != nil {
				return err
			}
		}
		if n == 0 {
			return batch.Error()
		}
	}
}
