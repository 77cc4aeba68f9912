package broker

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
)

// keyErasures is the root of the keys, among the checkpoints, of erasures that have begun and
// are not complete. The token of the session follows.
const keyErasures = rootCheckpoints + "erasure."

// Erasure is the record of an erasure that has begun and is not complete.
type Erasure struct {
	Token string
	After uint64 // its input is stored behind this input, or not at all
	At    time.Time
	rev   uint64
}

// BeginErasure records that an erasure begins. A record of one that has begun and is not
// complete is replaced, so that the completion of that one does not remove this one.
func (b *Broker) BeginErasure(ctx context.Context, token string) (Erasure, error) {
	last, _, err := b.StreamEnd(ctx, StreamInputs)
	if err != nil {
		return Erasure{}, err
	}
	for try := 0; ; try++ {
		e, ok, err := b.Erasure(ctx, token)
		if err != nil {
			return Erasure{}, err
		}
		if !ok {
			e.Token, e.After = token, last
		}
		header := nats.Header{HeaderPrev: {strconv.FormatUint(e.rev, 10)}} // which also says that it is ours
		a := b.PublishWait(ctx, &Pub{Subject: keyErasures + token, Header: header, Data: strconv.AppendUint(nil, e.After, 10)})
		if a.Err == nil {
			e.rev = a.Seq
			return e, nil
		}
		if !errors.Is(a.Err, ErrConflict) || b.Backoff(ctx, try) != nil { // a conflict: with another, or with a try whose ack was lost
			return Erasure{}, fmt.Errorf("broker: recording an erasure: %w", a.Err)
		}
	}
}

// Erasure returns the record of an erasure that is not complete, if there is one. Of a damaged
// record, After is 0: an erasure that is complete can be completed again.
func (b *Broker) Erasure(ctx context.Context, token string) (Erasure, bool, error) {
	m, err := b.LastMessage(ctx, streamCheckpoints, keyErasures+token)
	if err != nil || m == nil {
		return Erasure{}, false, err
	}
	after, err := strconv.ParseUint(string(m.Data), 10, 64)
	if err != nil || !own(m.Header, ownCheckpoint) {
		after = 0
	}
	return Erasure{token, after, m.At, m.Seq}, true, nil
}

// Erasures returns the tokens of the sessions whose erasures are not complete. It reads no
// session.
func (b *Broker) Erasures(ctx context.Context) (map[string]bool, error) {
	list := map[string]bool{}
	err := b.Subjects(ctx, streamCheckpoints, keyErasures+"*", func(subject string, _ int) {
		list[strings.TrimPrefix(subject, keyErasures)] = true
	})
	return list, err
}

// EndErasure removes the record of an erasure that is complete, or was never stored.
func (b *Broker) EndErasure(ctx context.Context, e Erasure) error {
	_, err := b.Purge(ctx, streamCheckpoints, keyErasures+e.Token, e.rev+1)
	return err
}
