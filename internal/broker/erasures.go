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

// BeginErasure records that an erasure begins. If one has begun and is not complete, it
// returns the record of that.
func (b *Broker) BeginErasure(ctx context.Context, token string) (Erasure, error) {
	last, _, err := b.StreamEnd(ctx, StreamInputs)
	if err != nil {
		return Erasure{}, err
	}
	header := nats.Header{HeaderPrev: {"0"}} // which also says that it is ours
	a := b.PublishWait(ctx, &Pub{Subject: keyErasures + token, Header: header, Data: strconv.AppendUint(nil, last, 10)})
	if a.Err != nil && !errors.Is(a.Err, ErrConflict) {
		return Erasure{}, fmt.Errorf("broker: recording an erasure: %w", a.Err)
	}
	e, ok, err := b.Erasure(ctx, token)
	if err == nil && !ok {
		err = fmt.Errorf("broker: recording an erasure: %w", ErrConflict)
	}
	return e, err
}

// Erasure returns the record of an erasure that is not complete, if there is one.
func (b *Broker) Erasure(ctx context.Context, token string) (Erasure, bool, error) {
	m, err := b.LastMessage(ctx, streamCheckpoints, keyErasures+token)
	if err != nil || m == nil || !own(m.Header, ownCheckpoint) {
		return Erasure{}, false, err
	}
	after, err := strconv.ParseUint(string(m.Data), 10, 64)
	if err != nil {
		return Erasure{}, false, b.damaged("record of an erasure", m.Subject, m.Seq, err)
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
