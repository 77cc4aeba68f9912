package broker

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"streamer/internal/events"
)

// ack is an acknowledgement, as a server writes it to any reply subject.
func ack(subject string) *Pub {
	return &Pub{Subject: subject, Data: []byte(`{"stream":"LLM","seq":5}`)}
}

// An acknowledgement in place of a snapshot or checkpoint is reported by name,
// with the revision that replaces it.
func TestDamaged(t *testing.T) {
	b := start(t, Options{})
	pub, _ := b.SavePub(3, "s", 0, map[string]string{"Open": "1"}, []byte("{}"))
	must(t, b, pub)
	if _, err := b.SaveMark(deadline(t), 3, Mark{Seq: 7}, 0); err != nil {
		t.Fatal(err)
	}
	states := must(t, b, ack(stateSubject(3, "s")))
	marks := must(t, b, ack(rootMarks+"3"))

	s, ok, err := b.LoadState(deadline(t), 3, "s")
	if ok || s.Rev != states || !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "snapshot of session s") || !strings.Contains(err.Error(), stateSubject(3, "s")) {
		t.Errorf("LoadState: got %+v, %v, %v, want ErrDamaged at revision %d, by name", s, ok, err, states)
	}
	m, rev, err := b.LoadMark(deadline(t), 3)
	if m.Seq != 0 || rev != marks || !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "checkpoint of partition 3") {
		t.Errorf("LoadMark: got %+v, %d, %v, want ErrDamaged at revision %d, by name", m, rev, err, marks)
	}
	err = b.ListStates(deadline(t), 3, func(token string, rev uint64, header map[string]string, _ time.Time) error {
		if token != "s" || rev != states || header != nil {
			t.Errorf("ListStates: got %s, %d, %v, want s at revision %d and no header", token, rev, header, states)
		}
		return nil
	})
	if err != nil || b.Counts().Foreign != 3 {
		t.Errorf("got %v and %d foreign messages, want 3", err, b.Counts().Foreign)
	}

	pub, _ = b.SavePub(3, "s", states, nil, []byte("fresh"))
	must(t, b, pub)
	if s, ok, err := b.LoadState(deadline(t), 3, "s"); !ok || err != nil || string(s.Data) != "fresh" {
		t.Errorf("written again: got %+v, %v, %v", s, ok, err)
	}
	if _, err := b.SaveMark(deadline(t), 3, Mark{Seq: 7}, marks-1); !errors.Is(err, ErrDamaged) {
		t.Errorf("a checkpoint over an unknown one: got %v, want ErrDamaged", err)
	}
	if _, err := b.SaveMark(deadline(t), 3, Mark{Seq: 7}, marks); err != nil {
		t.Errorf("a checkpoint over the damaged one: %v", err)
	}
}

// A checkpoint that has the header and other fields is damaged too, and so is a
// snapshot that refers to blobs which are not there or not what it says.
func TestUnreadable(t *testing.T) {
	b := start(t, Options{})
	if _, err := b.SaveMark(deadline(t), 0, Mark{Seq: 7}, 0); err != nil {
		t.Fatal(err)
	}
	p := ack(rootMarks + "0")
	p.Header = map[string][]string{headerPrev: {"1"}}
	must(t, b, p)
	if _, _, err := b.LoadMark(deadline(t), 0); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), `unknown field "stream"`) {
		t.Errorf("a checkpoint with the fields of an acknowledgement: got %v, want ErrDamaged", err)
	}

	data := bytes.Repeat([]byte("state"), events.BlobChunk)
	pub, blobs := b.SavePub(0, "s", 0, nil, data)
	for _, p := range append(blobs[1:], pub) {
		must(t, b, p)
	}
	load := func() error {
		_, _, err := b.LoadState(deadline(t), 0, "s")
		return err
	}
	if err := load(); !errors.Is(err, ErrDamaged) {
		t.Errorf("a blob is missing: got %v, want ErrDamaged", err)
	}
	must(t, b, ack(blobs[0].Subject))
	if err := load(); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), blobs[0].Subject) {
		t.Errorf("an acknowledgement in place of a blob: got %v, want ErrDamaged and its subject", err)
	}
	must(t, b, blobs[0])
	if err := load(); err != nil {
		t.Errorf("the blob written again: %v", err)
	}
	pub.Data = []byte(`{"size":1}`)
	pub.Header.Del(headerPrev)
	must(t, b, pub)
	if err := load(); !errors.Is(err, ErrDamaged) {
		t.Errorf("a reference that no blob can have: got %v, want ErrDamaged", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := b.LoadState(ctx, 0, "s"); err == nil || errors.Is(err, ErrDamaged) {
		t.Errorf("a read that was given up: got %v, want no ErrDamaged", err)
	}
}

// An acknowledgement on a subject of streamer's own inputs is no input, and one
// in place of a heartbeat is none.
func TestForeignMessages(t *testing.T) {
	b := start(t, Options{Partitions: 1})
	for _, p := range []*Pub{
		ack("_llm.0.rules"), ack("_llm.0.s.clock"), b.RulesPub(0, "r", []byte("{}")), b.ClockPub("s", "c", []byte("{}")), ack("_llm.0.s.delta"),
	} {
		must(t, b, p)
	}
	var foreign []bool
	err := b.Inputs(deadline(t), 0, 1, func(batch []Input, _ uint64, _ bool) error {
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
	if err := b.Beat(deadline(t), "w", time.Minute); err != nil {
		t.Fatal(err)
	}
	if last, err := b.LastBeat(deadline(t), "w"); last == 0 || err != nil {
		t.Errorf("a heartbeat: got %d, %v", last, err)
	}
	must(t, b, ack(rootMembers+"w"))
	if last, err := b.LastBeat(deadline(t), "w"); last != 0 || err != nil {
		t.Errorf("an acknowledgement in its place: got %d, %v, want 0", last, err)
	}
	if got := b.Counts().Foreign; got != 3 {
		t.Errorf("got %d foreign messages, want 3", got)
	}
}
