package broker

import (
	"context"
	"encoding/json"
	"strconv"
	"time"
)

// apiDirectGet is the subject of reads that any server with the stream answers, and
// without JSON. The name of a stream follows.
const apiDirectGet = "$JS.API.DIRECT.GET."

// Headers of the answer to a direct read, besides those of the message.
const (
	headerDirectSubject = "Nats-Subject"
	headerDirectSeq     = "Nats-Sequence"
	headerDirectAt      = "Nats-Time-Stamp"
)

// recallTimeout is the maximum duration of a direct read, and recallPause the time
// without another one after one had no answer: LoadSnapshot takes its place.
const (
	recallTimeout = time.Second
	recallPause   = time.Minute
)

// RecallSnapshot reads a session's snapshot of revision rev, which the caller wrote
// or read. It costs the server a third of LoadSnapshot, because any server that has
// the stream answers. ok is false if that server does not have the revision, or it
// cannot be read; LoadSnapshot then shows why. A later revision may exist: the
// condition of the next SnapshotPub shows it.
func (b *Broker) RecallSnapshot(ctx context.Context, p int, token string, rev uint64) (s Snapshot, ok bool) {
	if time.Now().UnixNano() < b.noRecall.Load() {
		return Snapshot{}, false
	}
	body, _ := json.Marshal(map[string]uint64{"seq": rev}) // cannot fail
	once, cancel := context.WithTimeout(ctx, recallTimeout)
	defer cancel()
	reply, err := b.nc.RequestWithContext(once, apiDirectGet+streamSnapshots, body)
	if err != nil {
		if ctx.Err() == nil {
			b.noRecall.Store(time.Now().Add(recallPause).UnixNano())
		}
		return Snapshot{}, false
	}
	h := reply.Header
	at, err := time.Parse(time.RFC3339Nano, h.Get(headerDirectAt))
	if err != nil || h.Get(headerDirectSeq) != strconv.FormatUint(rev, 10) || h.Get(headerDirectSubject) != snapshotSubject(p, token) || deleted(h) {
		return Snapshot{}, false
	}
	s, err = b.snapshot(ctx, &Message{Seq: rev, At: at, Subject: snapshotSubject(p, token), Header: h, Data: reply.Data})
	return s, err == nil
}
