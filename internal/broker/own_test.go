package broker

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"streamer/internal/events"
)

// ack returns the publish of an acknowledgement, as a server writes it to a reply
// subject.
func ack(subject string) *Pub {
	return &Pub{Subject: subject, Data: []byte(`{"stream":"LLM","seq":5}`)}
}

// An acknowledgement in place of a snapshot or checkpoint is reported by name,
// with the revision that replaces it.
func TestDamaged(t *testing.T) {
	b := start(t, Options{})
	pub, _ := b.SnapshotPub(3, "s", 0, map[string]string{SnapshotHeader + "Open": "1"}, []byte("{}"))
	must(t, b, pub)
	if _, err := b.WriteCheckpoint(deadline(t), 3, Checkpoint{Seq: 7}, 0); err != nil {
		t.Fatal(err)
	}
	snapshots := must(t, b, ack(snapshotSubject(3, "s")))
	checkpoints := must(t, b, ack(rootCheckpoints+"3"))

	s, ok, err := b.LoadSnapshot(deadline(t), 3, "s")
	if ok || s.Rev != snapshots || !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "snapshot of session s") || !strings.Contains(err.Error(), snapshotSubject(3, "s")) {
		t.Errorf("LoadSnapshot: got %+v, %v, %v, want ErrDamaged at revision %d, by name", s, ok, err, snapshots)
	}
	m, rev, err := b.LoadCheckpoint(deadline(t), 3)
	if m.Seq != 0 || rev != checkpoints || !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "checkpoint of partition 3") {
		t.Errorf("LoadCheckpoint: got %+v, %d, %v, want ErrDamaged at revision %d, by name", m, rev, err, checkpoints)
	}
	_, err = b.ListSnapshots(deadline(t), 3, func(token string, rev uint64, header map[string]string, _ time.Time) error {
		if token != "s" || rev != snapshots || header != nil {
			t.Errorf("ListSnapshots: got %s, %d, %v, want s at revision %d and no header", token, rev, header, snapshots)
		}
		return nil
	})
	if err != nil || b.Counts().Foreign != 3 {
		t.Errorf("got %v and %d foreign messages, want 3", err, b.Counts().Foreign)
	}

	pub, _ = b.SnapshotPub(3, "s", snapshots, nil, []byte("fresh"))
	must(t, b, pub)
	if s, ok, err := b.LoadSnapshot(deadline(t), 3, "s"); !ok || err != nil || string(s.Data) != "fresh" {
		t.Errorf("written again: got %+v, %v, %v", s, ok, err)
	}
	if _, err := b.WriteCheckpoint(deadline(t), 3, Checkpoint{Seq: 7}, checkpoints-1); !errors.Is(err, ErrDamaged) {
		t.Errorf("a checkpoint over an unknown one: got %v, want ErrDamaged", err)
	}
	if _, err := b.WriteCheckpoint(deadline(t), 3, Checkpoint{Seq: 7}, checkpoints); err != nil {
		t.Errorf("a checkpoint over the damaged one: %v", err)
	}
}

// A checkpoint with other fields is damaged too, and so is a snapshot that refers to
// blobs that are missing or have other content.
func TestUnreadable(t *testing.T) {
	b := start(t, Options{})
	if _, err := b.WriteCheckpoint(deadline(t), 0, Checkpoint{Seq: 7}, 0); err != nil {
		t.Fatal(err)
	}
	p := ack(rootCheckpoints + "0")
	p.Header = map[string][]string{HeaderPrev: {"1"}}
	must(t, b, p)
	if _, _, err := b.LoadCheckpoint(deadline(t), 0); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), `unknown field "stream"`) {
		t.Errorf("a checkpoint with the fields of an acknowledgement: got %v, want ErrDamaged", err)
	}

	data := bytes.Repeat([]byte("state"), events.BlobChunk)
	pub, blobs := b.SnapshotPub(0, "s", 0, nil, data)
	for _, p := range append(blobs[1:], pub) {
		must(t, b, p)
	}
	load := func() error {
		_, _, err := b.LoadSnapshot(deadline(t), 0, "s")
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
	pub.Header.Del(HeaderPrev)
	must(t, b, pub)
	if err := load(); !errors.Is(err, ErrDamaged) {
		t.Errorf("a reference that no blob can have: got %v, want ErrDamaged", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := b.LoadSnapshot(ctx, 0, "s"); err == nil || errors.Is(err, ErrDamaged) {
		t.Errorf("a read that was given up: got %v, want no ErrDamaged", err)
	}
}
