// Package inputlog reads and appends the inputs of sessions.
//
// It promises:
//   - Inputs of a partition come in stream order, without gap or duplicate,
//     through restarts of the server. An input that was lost is an error, never a
//     gap.
//   - A log that was rewound, as a power loss can do, is an error before another
//     input is delivered in place of one that was read.
//   - An input that is appended with the same id twice is stored once, within the
//     stream's window of duplicates.
//   - A crash of the reading process loses nothing: a reader has no state in the
//     server that matters, and starts again at any sequence.
package inputlog

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	"streamer/internal/broker"
	"streamer/internal/inputs"

	"github.com/nats-io/nats.go"
)

// Log is the input log of one broker. A process has one for each broker, because
// its readers share a catch-up reader. Its methods may be called from any
// goroutine.
type Log struct {
	b          *broker.Broker
	age        time.Duration // retention of inputs
	replicated bool
	catchUp    *catchUp
}

// New returns the input log of b.
func New(b *broker.Broker) *Log {
	age, _ := b.Retention()
	l := &Log{b: b, age: age, replicated: b.Replicated()}
	l.catchUp = newCatchUp(l, b.Partitions())
	return l
}

// CatchUps returns how often one consumer read for many partitions.
func (l *Log) CatchUps() uint64 { return l.catchUp.runs.Load() }

// input parses a stored message that was read for a partition. Its subject is
// _llm.<partition>.<token>.<kind> or _llm.<partition>.rules.
func (l *Log) input(m *broker.Message, partition int) inputs.Input {
	in := inputs.Input{Seq: m.Seq, At: m.At, Subject: m.Subject, Header: inputs.Header(m.Header), Data: m.Data, Partition: partition, Foreign: true}
	if m.Subject == broker.SubjectProbe {
		in.Kind = inputs.Probe
		return in
	}
	p, rest := partitionOf(m.Subject)
	if p != partition {
		return in
	}
	token, kind, more := strings.Cut(rest, ".")
	switch {
	case !more && token == string(inputs.Rules):
		in.Kind, in.Foreign = inputs.Rules, !l.b.OwnInput(m)
	case more && inputs.Kind(kind).OfSession():
		in.Token, in.Kind = token, inputs.Kind(kind)
		in.Foreign = l.b.Partition(token) != partition || !broker.Answerable(token) || in.Kind.Own() && !l.b.OwnInput(m)
	}
	return in
}

const noPartition = 1 << 30

func partitionOf(subject string) (partition int, rest string) {
	text, rest, dotted := strings.Cut(strings.TrimPrefix(subject, "_llm."), ".")
	p, err := strconv.Atoi(text)
	if err != nil || p < 0 || !dotted || text != strconv.Itoa(p) {
		return noPartition, ""
	}
	return p, rest
}

func partitionRoot(p int) string { return "_llm." + strconv.Itoa(p) + "." }

// InputPub returns the publish of an input as a client publishes it, on
// llm.<token>.<kind>. msgID must be unique in the stream.
func (l *Log) InputPub(token string, kind inputs.Kind, msgID string, header inputs.Header, data []byte) *broker.Pub {
	h := make(nats.Header, len(header)+1)
	maps.Copy(h, header)
	h[broker.HeaderMsgID] = []string{msgID}
	return &broker.Pub{Subject: "llm." + token + "." + string(kind), Header: h, Data: data}
}

// ClockPub returns the publish of a clock input of a session.
func (l *Log) ClockPub(token, msgID string, data []byte) *broker.Pub {
	return ownPub(partitionRoot(l.b.Partition(token))+token+"."+string(inputs.Clock), msgID, data)
}

// ErasePub returns the publish of an input that erases a session.
func (l *Log) ErasePub(token, msgID string) *broker.Pub {
	return ownPub(partitionRoot(l.b.Partition(token))+token+"."+string(inputs.Erase), msgID, nil)
}

// EraseInputs deletes the inputs of a session before a sequence and returns their number.
func (l *Log) EraseInputs(ctx context.Context, token string, before uint64) (int, error) {
	return l.b.Purge(ctx, broker.StreamInputs, partitionRoot(l.b.Partition(token))+token+".>", before)
}

// RulesPub returns the publish of new settings of partition p.
func (l *Log) RulesPub(p int, msgID string, data []byte) *broker.Pub {
	return ownPub(partitionRoot(p)+string(inputs.Rules), msgID, data)
}

func ownPub(subject, msgID string, data []byte) *broker.Pub {
	return &broker.Pub{Subject: subject, Header: nats.Header{broker.HeaderMsgID: {msgID}}, Data: data}
}

const maxTaken = 8

var errTaken = errors.New("messages of other sessions or kinds bear the input's Nats-Msg-Id")

// Append stores an input as a client publishes it and returns its sequence. The
// same msgID twice is stored once; repeated reports that it was stored before. It
// returns inputs.ErrTooLarge or inputs.ErrFull where the log refuses the input.
//
// Message ids are one space for all publishers of the stream: the server treats
// an input as a repetition of any message with its id, also of one on another
// session's subject. Such an input is stored under the id with the sequence of
// that message added, which is the same id when the same request is repeated.
func (l *Log) Append(ctx context.Context, token string, kind inputs.Kind, msgID string, header inputs.Header, data []byte) (seq uint64, repeated bool, err error) {
	for range maxTaken {
		p := l.InputPub(token, kind, msgID, header, data)
		p.RefuseFull = true
		a := l.b.PublishWait(ctx, p)
		if a.Err != nil || !a.Duplicate {
			return a.Seq, false, refused(a.Err)
		}
		switch same, err := l.isInput(ctx, a.Seq, token, kind); {
		case err != nil:
			return 0, false, err
		case same:
			return a.Seq, true, nil
		}
		msgID = fmt.Sprintf("%s~%d", msgID, a.Seq)
	}
	return 0, false, fmt.Errorf("%w: %.80q", errTaken, msgID)
}

func refused(err error) error {
	switch {
	case errors.Is(err, broker.ErrTooLarge):
		return errors.Join(inputs.ErrTooLarge, err)
	case errors.Is(err, broker.ErrFull):
		return errors.Join(inputs.ErrFull, err)
	}
	return err
}

// isInput reports whether the message at a sequence of the log is an input of a
// session and kind. It reports true where the message is gone: it was read then.
func (l *Log) isInput(ctx context.Context, seq uint64, token string, kind inputs.Kind) (bool, error) {
	m, err := l.b.MessageAt(ctx, broker.StreamInputs, seq)
	if err != nil || m == nil {
		return err == nil, err
	}
	return m.Subject == partitionRoot(l.b.Partition(token))+token+"."+string(kind), nil
}
