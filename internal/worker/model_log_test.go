package worker

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"streamer/internal/broker"
	"streamer/internal/broker/eventlog"
	"streamer/internal/events"
	"streamer/internal/inputs"

	"github.com/nats-io/nats.go"
)

// The methods below are the Log of an owner in the model: logs in memory, of which the
// model decides what is stored, lost and answered.

func (o *modelOwner) Inputs(context.Context, int, uint64, func([]inputs.Input, uint64, bool) error) error {
	return nil
}

func (o *modelOwner) Partition(string) int { return 0 }

func (o *modelOwner) Partitions() int { return 1 }

func (o *modelOwner) Outage() (from, until time.Time) { return from, until }

func (o *modelOwner) Replicated() bool { return o.m.replicated }

func (o *modelOwner) Input(_ context.Context, seq uint64) (in inputs.Input, ok bool, err error) {
	if seq < o.m.first || seq > uint64(len(o.m.inputs)) {
		return in, false, nil
	}
	return o.m.inputs[seq-1], true, nil
}

func (o *modelOwner) SessionInputs(_ context.Context, token string, from uint64, fn func(*inputs.Input) error) error {
	for i := range o.m.inputs {
		if in := &o.m.inputs[i]; in.Token == token && in.Kind.OfSession() && in.Seq >= max(from, o.m.first) {
			if err := fn(in); err != nil {
				return err
			}
		}
	}
	return nil
}

func (o *modelOwner) RulesInputs(_ context.Context, _ int, fn func(*inputs.Input) error) error {
	for i := range o.m.inputs {
		if in := &o.m.inputs[i]; in.Kind == inputs.Rules {
			if err := fn(in); err != nil {
				return err
			}
		}
	}
	return nil
}

func (o *modelOwner) LastRules(ctx context.Context, p int) (last inputs.Input, ok bool, err error) {
	err = o.RulesInputs(ctx, p, func(in *inputs.Input) error { last, ok = *in, true; return nil })
	return last, ok, err
}

func (m *model) event(i int) events.Record {
	s := &m.log[i]
	prev := i
	for prev > 0 && m.log[prev-1].token != s.token {
		prev--
	}
	return events.Record{Seq: uint64(i + 1), Prev: uint64(prev), Token: s.token, ID: s.id, Type: s.kind, Call: s.call, At: s.at, Data: s.body}
}

func (o *modelOwner) Events(_ context.Context, token string, after uint64, fn func(events.Record) error) error {
	for i := range o.m.log {
		if e := o.m.event(i); e.Seq > after && e.Token != "" && !o.m.log[i].forged && (token == "" || e.Token == token) {
			if err := fn(e); err != nil {
				return err
			}
		}
	}
	return nil
}

func (o *modelOwner) RecentEvents(_ context.Context, t time.Time) (map[int]eventlog.Recent, error) {
	recent := eventlog.Recent{Ends: map[string]*eventlog.End{}}
	for i := range o.m.log {
		e := o.m.event(i)
		if e.At.Before(t) || e.Token == "" || o.m.log[i].forged {
			continue
		}
		if recent.Ends[e.Token] == nil {
			recent.Ends[e.Token] = new(eventlog.End)
		}
		recent.Ends[e.Token].Add(&e)
		if e.ID.After(recent.Top.ID) {
			recent.Top = e
		}
	}
	return map[int]eventlog.Recent{0: recent}, nil
}

func (o *modelOwner) OpenEvents(context.Context) (map[string]eventlog.Opened, error) {
	open := map[string]eventlog.Opened{}
	for _, s := range o.m.log {
		n := open[s.token]
		switch s.kind {
		case events.ToolCallStart:
			n.Calls++
		case events.ToolCallResult:
			n.Calls--
		case events.RunStarted:
			n.Runs++
		case events.RunFinished:
			n.Runs--
		}
		open[s.token] = n
	}
	maps.DeleteFunc(open, func(_ string, n eventlog.Opened) bool { return n.Calls <= 0 && n.Runs <= 0 })
	return open, nil
}

func (o *modelOwner) InputPosition(_ context.Context, _ int, next uint64) (uint64, error) {
	return next, nil
}

func (o *modelOwner) InputBounds(context.Context) (first, last uint64, err error) {
	if o.m.blind {
		return o.m.first, 1 << 20, nil
	}
	return o.m.first, uint64(len(o.m.inputs)), nil
}

func (o *modelOwner) EventBounds(context.Context) (first, last uint64, err error) {
	return 1, uint64(len(o.m.log)), nil
}

func (o *modelOwner) Event(_ context.Context, token string, seq uint64) (events.Record, error) {
	if seq == 0 || seq > uint64(len(o.m.log)) || o.m.log[seq-1].token != token {
		return events.Record{}, events.ErrNotFound
	}
	return o.m.event(int(seq - 1)), nil
}

func (o *modelOwner) Head(_ context.Context, token string) (uint64, events.Record, error) {
	seq, last, err := o.m.last(token)
	o.meanwhile()
	return seq, last, err
}

// meanwhile stores something of the other owner, so that what was read is outdated
// when it is used.
func (o *modelOwner) meanwhile() {
	for _, other := range o.m.owners {
		if other != nil && other != o && o.m.rnd.IntN(4) == 0 {
			other.arrive()
		}
	}
}

func (o *modelOwner) Epoch() uint64 { return o.m.epoch }

// Publish is used while an owner waits.
func (o *modelOwner) Publish(p *broker.Pub, acks chan<- broker.Ack) {
	seq, err := o.m.apply(p)
	acks <- broker.Ack{Pub: p, Seq: seq, Err: err}
}

// publish takes a publish that the owner asks for.
func (o *modelOwner) publish(p *broker.Pub) {
	if p.Epoch != 0 && p.Epoch != o.m.epoch {
		o.acks = append(o.acks, broker.Ack{Pub: p, Err: broker.ErrConflict})
		return
	}
	o.flying = append(o.flying, p)
}

func (o *modelOwner) PublishWait(_ context.Context, p *broker.Pub) broker.Ack {
	seq, err := o.m.apply(p)
	return broker.Ack{Pub: p, Seq: seq, Err: err}
}

func (o *modelOwner) EventPub(token string, e *events.Event, body []byte, _ map[string]string, prev uint64) *broker.Pub {
	return &broker.Pub{Subject: "event", Data: body, Header: header("token", token, "prev", fmt.Sprint(prev), "id", e.EventID.String(), "type", string(e.Type), "call", e.Call)}
}

func (o *modelOwner) ClockPub(token, msgID string, data []byte) *broker.Pub {
	return &broker.Pub{Subject: string(inputs.Clock), Data: data, Header: header("token", token, "id", msgID)}
}

func (o *modelOwner) InputAfter(_ context.Context, t time.Time) (uint64, error) {
	for i := range o.m.inputs {
		if o.m.inputs[i].At.After(t) {
			return uint64(i + 1), nil
		}
	}
	return uint64(len(o.m.inputs) + 1), nil
}

func (o *modelOwner) NextInput(ctx context.Context, p int, seq uint64) (next inputs.Input, ok bool, err error) {
	err = o.InputsFrom(ctx, p, seq, false, func(batch []inputs.Input) error {
		if !ok {
			next, ok = batch[0], true
		}
		return nil
	})
	return next, ok, err
}

func (o *modelOwner) InputsFrom(_ context.Context, _ int, from uint64, _ bool, deliver func([]inputs.Input) error) error {
	for _, in := range slices.Clone(o.m.inputs) {
		if in.Seq >= max(from, o.m.first) && !in.Foreign {
			if err := deliver([]inputs.Input{in}); err != nil {
				return err
			}
		}
	}
	return nil
}

func (o *modelOwner) DeleteInput(_ context.Context, seq uint64) error {
	o.m.inputs[seq-1] = inputs.Input{Seq: seq, Foreign: true, Kind: inputs.Probe}
	return nil
}

func (o *modelOwner) RulesPub(_ int, msgID string, data []byte) *broker.Pub {
	return &broker.Pub{Subject: string(inputs.Rules), Data: data, Header: header("id", msgID)}
}

func (o *modelOwner) BlobPubs(events.Blob) []*broker.Pub { return nil }

func (o *modelOwner) LoadSnapshot(_ context.Context, _ int, token string) (broker.Snapshot, bool, error) {
	k, ok := o.m.answering()[token]
	o.meanwhile()
	return broker.Snapshot{Rev: k.rev, Header: k.header, Data: k.data}, ok, nil
}

// answering returns the snapshots of the server that answers, which may be outdated.
func (m *model) answering() map[string]modelSnapshot {
	if n := len(m.past); n > 0 && m.replicated && m.rnd.IntN(4) == 0 {
		return m.past[m.rnd.IntN(n)].of
	}
	return m.snapshots
}

func (o *modelOwner) SnapshotPub(_ int, token string, rev uint64, h map[string]string, data []byte) (*broker.Pub, []*broker.Pub) {
	text, err := json.Marshal(h)
	if err != nil {
		panic(err)
	}
	return &broker.Pub{Subject: "state", Data: data, Header: header("token", token, "rev", fmt.Sprint(rev), "header", string(text))}, nil
}

// ListSnapshots may return an older listing.
func (o *modelOwner) ListSnapshots(_ context.Context, _ int, fn func(string, uint64, map[string]string, time.Time) error) (complete bool, err error) {
	rev := uint64(0)
	states := o.m.answering()
	for _, token := range []string{"a", "b"} {
		if k, ok := states[token]; ok {
			rev = max(rev, k.rev)
			if err := fn(token, k.rev, k.header, time.Time{}); err != nil {
				return false, err
			}
		}
	}
	return rev >= lastRev(o.m.snapshots), nil
}

// lastRev returns the revision of the snapshot that was written last.
func lastRev(snapshots map[string]modelSnapshot) (rev uint64) {
	for _, k := range snapshots {
		rev = max(rev, k.rev)
	}
	return rev
}

func (o *modelOwner) LoadCheckpoint(context.Context, int) (broker.Checkpoint, uint64, error) {
	c := o.m.checkpoints[len(o.m.checkpoints)-1]
	return c.Checkpoint, c.rev, nil
}

func (o *modelOwner) WriteCheckpoint(_ context.Context, _ int, c broker.Checkpoint, rev uint64) (uint64, error) {
	last := o.m.checkpoints[len(o.m.checkpoints)-1]
	switch {
	case rev != last.rev:
		return 0, broker.ErrConflict
	case c.Seq < last.Seq:
		return 0, broker.ErrBackwards
	}
	o.m.trace("checkpoint %d", c.Seq)
	o.m.checkpoints = append(o.m.checkpoints, modelCheckpoint{c, rev + 1, o.m.now})
	return rev + 1, nil
}

func header(pairs ...string) nats.Header {
	h := nats.Header{}
	for i := 0; i < len(pairs); i += 2 {
		h.Set(pairs[i], pairs[i+1])
	}
	return h
}
