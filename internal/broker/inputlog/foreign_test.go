package inputlog

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"streamer/internal/broker"
	"streamer/internal/broker/brokertest"
	"streamer/internal/inputs"
)

// A probe is not an input of any partition.
func TestProbeIsSkipped(t *testing.T) {
	for _, partitions := range []int{1, 2} {
		b := start(t, broker.Options{Partitions: partitions})
		brokertest.Must(t, b.Broker, &broker.Pub{Subject: broker.SubjectProbe})
		brokertest.Must(t, b.Broker, b.InputPub("s", inputs.End, "1", nil, nil))
		err := b.Inputs(brokertest.Deadline(t), b.Partition("s"), 1, func(batch []inputs.Input, _ uint64, _ bool) error {
			for _, in := range batch {
				if in.Token == "s" {
					return errEnough
				}
				if partitions > 1 || in.Kind != inputs.Probe || !in.Foreign {
					t.Errorf("of %d partitions: got %+v, want no input", partitions, in)
				}
			}
			return nil
		})
		if !errors.Is(err, errEnough) {
			t.Error(err)
		}
	}
}

// An acknowledgement on a subject of streamer's own inputs is foreign, and one in place
// of a heartbeat does not count.
func TestForeignMessages(t *testing.T) {
	b := start(t, broker.Options{Partitions: 1})
	for _, p := range []*broker.Pub{
		ack("_llm.0.rules"), ack("_llm.0.s.clock"), b.RulesPub(0, "r", []byte("{}")), b.ClockPub("s", "c", []byte("{}")), ack("_llm.0.s.delta"),
	} {
		brokertest.Must(t, b.Broker, p)
	}
	var foreign []bool
	err := b.Inputs(brokertest.Deadline(t), 0, 1, func(batch []inputs.Input, _ uint64, _ bool) error {
		for _, in := range batch {
			if foreign = append(foreign, in.Foreign); len(foreign) == 5 {
				return errEnough
			}
		}
		return nil
	})
	got, _ := json.Marshal(foreign)
	if !errors.Is(err, errEnough) || string(got) != "[true,true,false,false,false]" {
		t.Errorf("foreign: got %s, %v, want the first two", got, err)
	}
	if err := b.Beat(brokertest.Deadline(t), "w", time.Minute); err != nil {
		t.Fatal(err)
	}
	if last, err := b.LastBeat(brokertest.Deadline(t), "w"); last == 0 || err != nil {
		t.Errorf("a heartbeat: got %d, %v", last, err)
	}
	brokertest.Must(t, b.Broker, ack("$KV.STREAMER_MEMBER.w"))
	if last, err := b.LastBeat(brokertest.Deadline(t), "w"); last != 0 || err != nil {
		t.Errorf("an acknowledgement in its place: got %d, %v, want 0", last, err)
	}
	if got := b.Counts().Foreign; got != 3 {
		t.Errorf("got %d foreign messages, want 3", got)
	}
}

// ack returns the publish of an acknowledgement, as a server writes it to a reply
// subject.
func ack(subject string) *broker.Pub {
	return &broker.Pub{Subject: subject, Data: []byte(`{"stream":"LLM","seq":1}`)}
}
