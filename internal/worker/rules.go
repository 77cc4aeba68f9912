package worker

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"streamer/internal/broker"
	"streamer/internal/events"
	"streamer/internal/lifecycle"
	"streamer/internal/session"
)

// rulesLog is the rules of a partition as the log has them, from the mark on.
type rulesLog struct {
	places []place // oldest first; the last is in force
}

// place is where rules came into force.
type place struct {
	seq   uint64
	at    events.Time
	rules *session.Rules
	raw   json.RawMessage // nil for those before the first rules input
}

// begin takes the rules in force at the mark.
func (r *rulesLog) begin(m broker.Mark) error {
	if len(m.Rules) == 0 {
		d := lifecycle.DefaultRules()
		r.places = []place{{rules: &d}}
		return nil
	}
	rules, err := parseRules(m.Rules)
	if errors.Is(err, ErrVersion) {
		return err
	}
	if err != nil {
		return fmt.Errorf("%w: rules of the checkpoint: %w", broker.ErrDamaged, err)
	}
	r.places = []place{{rules: rules, raw: m.Rules}}
	return nil
}

// set takes a rules input. One that is refused changes nothing, here and on
// every worker.
func (r *rulesLog) set(in *broker.Input) error {
	rules, err := parseRules(in.Data)
	if err != nil {
		return err
	}
	r.places = append(r.places, place{in.Seq, events.At(in.At), rules, bytes.Clone(in.Data)})
	return nil
}

// parseRules reads rules; those of a newer fold are an ErrVersion. A field that
// this fold version does not have is refused: such rules are not streamer's.
func parseRules(data []byte) (*session.Rules, error) {
	rules := lifecycle.DefaultRules()
	if err := json.Unmarshal(data, &rules); err != nil {
		return nil, fmt.Errorf("worker: rules: %w", err)
	}
	if rules.Version > lifecycle.FoldVersion {
		return nil, fmt.Errorf("%w: version %d is in force, this program knows %d", ErrVersion, rules.Version, lifecycle.FoldVersion)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(new(session.Rules)); err != nil {
		return nil, fmt.Errorf("worker: rules: %w", err)
	}
	if err := rules.Check(); err != nil {
		return nil, err
	}
	return &rules, nil
}

func (r *rulesLog) last() *place { return &r.places[len(r.places)-1] }

func (r *rulesLog) inForce() *session.Rules { return r.last().rules }

// at returns the rules in force for the input seq, as the log has them.
func (r *rulesLog) at(seq uint64) json.RawMessage { return r.placeOf(seq).raw }

// before returns the rules in force for the input seq.
func (r *rulesLog) before(seq uint64) *session.Rules { return r.placeOf(seq).rules }

func (r *rulesLog) placeOf(seq uint64) *place {
	for i := len(r.places) - 1; i > 0; i-- {
		if r.places[i].seq < seq {
			return &r.places[i]
		}
	}
	return &r.places[0]
}

// forget drops the rules that no input from seq on was folded under.
func (r *rulesLog) forget(seq uint64) {
	for len(r.places) > 1 && r.places[1].seq < seq {
		r.places = r.places[1:]
	}
}

// repeatEvery is how often the rules in force are said again, so that the log
// can be folded from any place after one.
const repeatEvery = time.Hour

// askRules asks, once, for this instance's settings where others are in force at
// the end of the log, and returns when they are stored there. It never answers
// another worker's change: two instances with different settings must not
// quarrel.
func (q *partition) askRules(ctx context.Context) error {
	in, ok, err := q.log.LastRules(ctx, q.p)
	if err != nil {
		return err
	}
	theirs := q.rules.inForce()
	if ok && in.Seq >= q.pos {
		switch last, err := parseRules(in.Data); {
		case errors.Is(err, ErrVersion):
			return err
		case err == nil: // one that is refused changes nothing
			theirs = last
		}
	}
	ours, err := json.Marshal(q.opts.Rules)
	if err != nil {
		return fmt.Errorf("worker: rules: %w", err)
	}
	if data, err := json.Marshal(theirs); err == nil && bytes.Equal(ours, data) {
		return nil
	}
	if a := q.log.PublishWait(ctx, q.rulesPub(ours, q.opts.Nonce)); a.Err != nil {
		return fmt.Errorf("worker: asking for the settings of this instance: %w", a.Err)
	}
	return nil
}

// repeatRules says the rules in force again now and then.
func (q *partition) repeatRules() {
	last := q.rules.last()
	if last.raw != nil && q.read > last.at+events.Time(repeatEvery.Milliseconds()) && last.at != 0 {
		q.publish(q.rulesPub(last.raw, fmt.Sprint(int64(q.read)/repeatEvery.Milliseconds())))
	}
}

func (q *partition) rulesPub(data []byte, nonce string) *broker.Pub {
	sum := sha256.Sum256(data)
	return q.log.RulesPub(q.p, fmt.Sprintf("rules:%d:%s:%s", q.p, hex.EncodeToString(sum[:8]), nonce), data)
}
