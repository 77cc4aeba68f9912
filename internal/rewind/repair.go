package rewind

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"

	"streamer/internal/broker"
	"streamer/internal/inputs"
)

// Padder is what Pad needs of the input log.
type Padder interface {
	InputBounds(ctx context.Context) (first, last uint64, err error)
	Publish(p *broker.Pub, acks chan<- broker.Ack)
}

const (
	padBatch = 4096
	// maxPad bounds what a damaged event id or position can cost: some 1 GB.
	maxPad = 20_000_000
)

// Pad appends probes, which are no inputs of a session, until the log is at least need
// long. Several partitions may do so at the same time.
func Pad(ctx context.Context, log Padder, need uint64) error {
	_, last, err := log.InputBounds(ctx)
	if err != nil {
		return err
	}
	if need > last+maxPad {
		return fmt.Errorf("rewind: the input log ends at %d, and inputs up to %d were folded: the distance is too great to be filled (more than %d); restore a newer copy of the log", last, need, maxPad)
	}
	for last < need {
		n := min(need-last, padBatch)
		acks := make(chan broker.Ack, n)
		for range n {
			log.Publish(&broker.Pub{Subject: broker.SubjectProbe, RefuseFull: true}, acks)
		}
		for range n {
			a, err := outcome(ctx, acks)
			if err != nil {
				return fmt.Errorf("rewind: filling the input log up to %d: %w", need, err)
			}
			last = max(last, a.Seq)
		}
	}
	return nil
}

func outcome(ctx context.Context, acks <-chan broker.Ack) (broker.Ack, error) {
	select {
	case a := <-acks:
		return a, a.Err
	case <-ctx.Done():
		return broker.Ack{}, ctx.Err()
	}
}

// RepairLog is what Repair needs of the input log.
type RepairLog interface {
	Log
	Padder
	// InputsFrom reads the inputs of a partition from a sequence on, up to the log's
	// present end. The batches are not empty.
	InputsFrom(ctx context.Context, p int, from uint64, headersOnly bool, deliver func([]inputs.Input) error) error
	// DeleteInput deletes an input. It is no error if there is none.
	DeleteInput(ctx context.Context, seq uint64) error
}

// Report is what Repair did, or would do.
type Report struct {
	Verdict            // before
	Pads        uint64 // probes that were needed
	Inputs      int    // of the partition, at sequences from First to Through
	Moved       int    // inputs appended again, including later ones of the same sessions
	Interrupted int    // inputs that an earlier run had appended again
}

// Repair repairs the log for a partition that stopped: it makes the log so long that no
// sequence is assigned twice, appends the inputs that have such a sequence again at the
// end, and deletes them where they were. Inputs that were lost stay lost. With dry it
// changes nothing.
//
// Clients may publish meanwhile: later inputs of a session of which one is moved are moved
// too. All inputs are appended before the first is deleted, those whose sequences were
// assigned twice are deleted last, and until then Check reports them. So another run
// completes one that was interrupted.
func Repair(ctx context.Context, log RepairLog, p int, known []Evidence, dry bool) (Report, error) {
	var r Report
	v, err := Check(ctx, log, p, known)
	if r.Verdict = v; err != nil || v.Same() {
		return r, err
	}
	r.Pads = v.Need - min(v.Need, v.Last)
	if v.State == Shorter {
		if !dry {
			if err := Pad(ctx, log, v.Need); err != nil {
				return r, err
			}
		}
		// Others can be stored until the log is so long. All after Last are younger.
		r.First, r.Through = cmp.Or(v.First, v.Last+1), v.Need
	}
	m := move{log: log, p: p, first: r.First, through: r.Through, again: map[string]bool{}, end: map[string]uint64{}}
	if err := m.survey(ctx); err != nil {
		return r, err
	}
	r.Inputs, r.Interrupted = m.found, len(m.again)
	if dry || m.found == 0 {
		return r, nil
	}
	err = m.run(ctx)
	r.Moved = len(m.later) + len(m.twice)
	return r, err
}

// move appends inputs of one partition again.
type move struct {
	log            RepairLog
	p              int
	first, through uint64
	found          int               // inputs from first to through
	again          map[string]bool   // message ids of the inputs that were appended again
	end            map[string]uint64 // by session: the greatest sequence of those

	later, twice []uint64 // to be deleted: those behind through, and the others
}

// againRoot begins the message ids of inputs that are appended again. The sequence and
// the time of the first one follow, which a client cannot know, and then its message id.
const againRoot = "again:"

func againID(in *inputs.Input) string {
	return fmt.Sprintf("%s%d:%d:%s", againRoot, in.Seq, in.At.UnixNano(), in.Header.Get(broker.HeaderMsgID))
}

// FirstSequence returns the sequence at which an input was stored that was appended again
// since; ok is false for one that was not.
func FirstSequence(in *inputs.Input) (seq uint64, ok bool) {
	id, ok := strings.CutPrefix(in.Header.Get(broker.HeaderMsgID), againRoot)
	text, _, _ := strings.Cut(id, ":")
	seq, err := strconv.ParseUint(text, 10, 64)
	return seq, ok && err == nil
}

// survey finds what is to be moved, and what an interrupted run has appended.
func (m *move) survey(ctx context.Context) error {
	return m.log.InputsFrom(ctx, m.p, m.first, true, func(batch []inputs.Input) error {
		for i := range batch {
			in := &batch[i]
			if id := in.Header.Get(broker.HeaderMsgID); in.Seq > m.through && strings.HasPrefix(id, againRoot) {
				m.again[id], m.end[in.Token] = true, in.Seq
			} else if in.Seq <= m.through && !in.Foreign {
				m.found++
			}
		}
		return nil
	})
}

// run reads on until nothing is left that must be moved, and then deletes what was.
func (m *move) run(ctx context.Context) error {
	next, appended := m.first, -1
	for appended != len(m.again) { // what was appended is read too, and inputs stored before it
		appended = len(m.again)
		err := m.log.InputsFrom(ctx, m.p, next, false, func(batch []inputs.Input) error {
			next = batch[len(batch)-1].Seq + 1
			return m.batch(ctx, batch)
		})
		if err != nil {
			return err
		}
	}
	for _, seq := range append(m.later, m.twice...) {
		if err := m.log.DeleteInput(ctx, seq); err != nil {
			return err
		}
	}
	return nil
}

// batch appends those of a batch again that must be moved: one of each session at a time,
// as several publishes in flight can be stored in another order.
func (m *move) batch(ctx context.Context, batch []inputs.Input) error {
	for len(batch) > 0 {
		var pubs []*broker.Pub
		var left []inputs.Input
		under := map[string]bool{}
		for i := range batch {
			in := &batch[i]
			if under[in.Token] {
				left = append(left, *in)
			} else if p := m.take(in); p != nil {
				under[in.Token] = true
				pubs = append(pubs, p)
			}
		}
		if err := m.publish(ctx, pubs); err != nil {
			return err
		}
		batch = left
	}
	return nil
}

func (m *move) take(in *inputs.Input) *broker.Pub {
	if in.Foreign || in.Seq > max(m.through, m.end[in.Token]) || m.again[in.Header.Get(broker.HeaderMsgID)] {
		return nil
	}
	if in.Seq > m.through {
		m.later = append(m.later, in.Seq)
	} else {
		m.twice = append(m.twice, in.Seq)
	}
	id := againID(in)
	if m.again[id] {
		return nil
	}
	m.again[id] = true
	header := map[string][]string{broker.HeaderMsgID: {id}}
	for name, values := range in.Header {
		if !strings.HasPrefix(name, "Nats-") { // those are instructions to the server
			header[name] = values
		}
	}
	return &broker.Pub{Subject: in.Subject, Header: header, Data: in.Data, Key: in.Token, RefuseFull: true}
}

func (m *move) publish(ctx context.Context, pubs []*broker.Pub) error {
	acks := make(chan broker.Ack, len(pubs))
	for _, p := range pubs {
		m.log.Publish(p, acks)
	}
	for range pubs {
		a, err := outcome(ctx, acks)
		if err != nil {
			return fmt.Errorf("rewind: appending inputs of partition %d again: %w", m.p, err)
		}
		m.end[a.Pub.Key.(string)] = a.Seq
	}
	return nil
}
