package broker

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"streamer/internal/events"
)

func TestSnapshot(t *testing.T) {
	b := start(t, Options{SnapshotAge: 5 * time.Hour})
	if _, ok, err := b.LoadSnapshot(deadline(t), 3, "s"); ok || err != nil {
		t.Errorf("nothing saved: got %v, %v", ok, err)
	}
	pub, blobs := b.SnapshotPub(3, "s", 0, map[string]string{SnapshotHeader + "Open": "2"}, []byte("one"))
	if len(blobs) != 0 || pub.Header.Get(headerTTL) != "5h0m0s" {
		t.Errorf("got %d blobs, TTL %q, want none, 5h0m0s", len(blobs), pub.Header.Get(headerTTL))
	}
	rev := must(t, b, pub)
	for _, stale := range []uint64{0, rev + 1} {
		pub, _ := b.SnapshotPub(3, "s", stale, nil, []byte("stale"))
		if a := b.PublishWait(deadline(t), pub); !errors.Is(a.Err, ErrConflict) {
			t.Errorf("saving over revision %d where %d is stored: got %+v, want ErrConflict", stale, rev, a)
		}
	}
	pub, _ = b.SnapshotPub(3, "s", rev, map[string]string{SnapshotHeader + "Open": "1", SnapshotHeader + "Wake": "17"}, []byte("two"))
	rev = must(t, b, pub)
	s, ok, err := b.LoadSnapshot(deadline(t), 3, "s")
	if !ok || err != nil || s.Rev != rev || string(s.Data) != "two" || fmt.Sprint(s.Header) != "map[Streamer-Snapshot-Open:1 Streamer-Snapshot-Wake:17]" || time.Since(s.At) > time.Minute {
		t.Errorf("got %+v, %v, %v, want two at revision %d", s, ok, err, rev)
	}
}

func TestLargeSnapshot(t *testing.T) {
	b := start(t, Options{})
	data := make([]byte, 3*events.BlobChunk+1000)
	rand.NewChaCha8([32]byte{1}).Read(data)
	pub, blobs := b.SnapshotPub(0, "s", 0, map[string]string{SnapshotHeader + "Open": "1"}, data)
	if len(blobs) != 4 || len(pub.Data) > 1000 {
		t.Fatalf("got %d blobs and %d bytes, want 4 and few", len(blobs), len(pub.Data))
	}
	for _, p := range append(blobs, pub) {
		must(t, b, p)
	}
	s, ok, err := b.LoadSnapshot(deadline(t), 0, "s")
	if !ok || err != nil || !bytes.Equal(s.Data, data) || fmt.Sprint(s.Header) != "map[Streamer-Snapshot-Open:1]" {
		t.Errorf("got %d bytes, header %v, %v, %v, want %d", len(s.Data), s.Header, ok, err, len(data))
	}
}

func TestSnapshotExpires(t *testing.T) {
	t.Parallel()
	b := start(t, Options{SnapshotAge: time.Second}) // the minimum
	pub, _ := b.SnapshotPub(0, "s", 0, nil, []byte("x"))
	must(t, b, pub)
	ctx := deadline(t)
	for {
		_, ok, err := b.LoadSnapshot(ctx, 0, "s")
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			break
		}
		if err := b.Pause(ctx, 50*time.Millisecond); err != nil {
			t.Fatal("the state never expires")
		}
	}
	// It can be written again.
	pub, _ = b.SnapshotPub(0, "s", 0, nil, []byte("y"))
	must(t, b, pub)
}

func TestListSnapshots(t *testing.T) {
	b := start(t, Options{Partitions: 4})
	want := map[string]uint64{}
	for i := range 20 {
		token := fmt.Sprint("s", i)
		pub, _ := b.SnapshotPub(i%4, token, 0, map[string]string{SnapshotHeader + "Open": fmt.Sprint(i)}, make([]byte, 1000))
		want[token] = must(t, b, pub)
	}
	pub, _ := b.SnapshotPub(1, "s1", want["s1"], map[string]string{SnapshotHeader + "Open": "1"}, nil)
	want["s1"] = must(t, b, pub)
	for p := -1; p < 4; p++ {
		n := 0
		complete, err := b.ListSnapshots(deadline(t), p, func(token string, rev uint64, header map[string]string, at time.Time) error {
			n++
			if rev != want[token] || "s"+header[SnapshotHeader+"Open"] != token || at.IsZero() {
				t.Errorf("partition %d: got %s, revision %d, header %v, want revision %d", p, token, rev, header, want[token])
			}
			return nil
		})
		expected := 5
		if p < 0 {
			expected = 20
		}
		if n != expected || !complete || err != nil {
			t.Errorf("partition %d: got %d snapshots, complete %v, %v, want all %d", p, n, complete, err, expected)
		}
	}
	complete, err := b.ListSnapshots(deadline(t), -1, func(string, uint64, map[string]string, time.Time) error { return errEnough })
	if complete || !errors.Is(err, errEnough) {
		t.Errorf("got complete %v, %v, want fn's error", complete, err)
	}
}

func TestCheckpoint(t *testing.T) {
	b := start(t, Options{})
	if m, rev, err := b.LoadCheckpoint(deadline(t), 2); m.Seq != 0 || rev != 0 || err != nil {
		t.Errorf("nothing saved: got %+v, %d, %v", m, rev, err)
	}
	rules := json.RawMessage(`{"v":1}`)
	first, err := b.WriteCheckpoint(deadline(t), 2, Checkpoint{Seq: 10, Rules: rules}, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.WriteCheckpoint(deadline(t), 2, Checkpoint{Seq: 12}, 0); !errors.Is(err, ErrConflict) {
		t.Errorf("with a stale revision: got %v, want ErrConflict", err)
	}
	if _, err := b.WriteCheckpoint(deadline(t), 2, Checkpoint{Seq: 9}, first); !errors.Is(err, ErrBackwards) {
		t.Errorf("from 10 to 9: got %v, want ErrBackwards", err)
	}
	second, err := b.WriteCheckpoint(deadline(t), 2, Checkpoint{Seq: 11, Rules: rules}, first)
	if err != nil {
		t.Fatal(err)
	}
	m, rev, err := b.LoadCheckpoint(deadline(t), 2)
	if m.Seq != 11 || string(m.Rules) != `{"v":1}` || rev != second || err != nil {
		t.Errorf("got %+v, revision %d, %v, want 11 at %d", m, rev, err, second)
	}
	if _, rev, err := b.LoadCheckpoint(deadline(t), 3); rev != 0 || err != nil {
		t.Errorf("another partition: got revision %d, %v", rev, err)
	}
}

func TestBlob(t *testing.T) {
	b := start(t, Options{})
	blob := events.NewBlob(bytes.Repeat([]byte("streams"), 30_000))
	pubs := b.BlobPubs(blob)
	must(t, b, pubs[0])
	if _, err := b.Blob(deadline(t), blob.Ref); !errors.Is(err, events.ErrNotFound) {
		t.Errorf("with one chunk of %d: got %v, want ErrNotFound", len(pubs), err)
	}
	for range 2 { // twice is harmless
		for _, p := range pubs {
			must(t, b, p)
		}
	}
	if got, err := b.Blob(deadline(t), blob.Ref); err != nil || !bytes.Equal(got, blob.Data) {
		t.Errorf("got %d bytes, %v, want %d", len(got), err, len(blob.Data))
	}
	if got, err := b.Blob(deadline(t), events.NewBlob(nil).Ref); err != nil || len(got) != 0 {
		t.Errorf("an empty blob: got %d bytes, %v", len(got), err)
	}
	for name, wrong := range map[string]func(*events.Ref){
		"another digest": func(r *events.Ref) { r.SHA256 = r.Chunks[0] },
		"another size":   func(r *events.Ref) { r.Size-- },
		"a chunk less":   func(r *events.Ref) { r.Chunks = r.Chunks[1:] },
		"chunks swapped": func(r *events.Ref) { r.Chunks[0], r.Chunks[3] = r.Chunks[3], r.Chunks[0] },
		"a hostile name": func(r *events.Ref) { r.Chunks[0] = ">" },
		"a huge size":    func(r *events.Ref) { r.Size = 1 << 62 },
	} {
		t.Run(name, func(t *testing.T) {
			ref := events.NewBlob(blob.Data).Ref
			wrong(&ref)
			if got, err := b.Blob(deadline(t), ref); !errors.Is(err, ErrDamaged) {
				t.Errorf("%s: got %d bytes and %v, want ErrDamaged", name, len(got), err)
			}
		})
	}
	// Bytes that do not match their digest.
	must(t, b, &Pub{Subject: pubs[0].Subject, Data: []byte("forged")})
	if _, err := b.Blob(deadline(t), blob.Ref); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "chunk "+blob.Ref.Chunks[0]+": message") {
		t.Errorf("a forged chunk: got %v", err)
	}
}
