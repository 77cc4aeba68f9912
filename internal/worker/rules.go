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
	"streamer/internal/inputs"
	"streamer/internal/session"
)

// rulesLog is the rules of a partition as the log has them, from the checkpoint
// on.
type rulesLog struct {
	changes []rulesChange // oldest first; the last is in force
}

// rulesChange is the input from which rules are in force.
type rulesChange struct {
	seq   uint64
	at    events.Time
	rules *session.Rules
	raw   json.RawMessage // nil for those before the first rules input
}

// begin takes the rules in force at the checkpoint.
func (r *rulesLog) begin(m broker.Checkpoint) error {
	if len(m.Rules) == 0 {
		d := session.DefaultRules()
		r.changes = []rulesChange{{rules: &d}}
		return nil
	}
	rules, err := parseRules(m.Rules)
	if errors.Is(err, ErrVersion) {
		return err
	}
	if err != nil {
		return fmt.Errorf("%w: rules of the checkpoint: %w", broker.ErrDamaged, err)
	}
	r.changes = []rulesChange{{rules: rules, raw: m.Rules}}
	return nil
}

// set takes a rules input. One that is refused changes nothing, here and on
// every worker.
func (r *rulesLog) set(in *inputs.Input) error {
	rules, err := parseRules(in.Data)
	if err != nil {
		return err
	}
	r.changes = append(r.changes, rulesChange{in.Seq, events.At(in.At), rules, bytes.Clone(in.Data)})
	return nil
}

// parseRules reads rules; those of a newer fold are an ErrVersion. A field that
// this fold version does not have is refused: such rules are not streamer's.
func parseRules(data []byte) (*session.Rules, error) {
	rules := session.DefaultRules()
	if err := json.Unmarshal(data, &rules); err != nil {
		return nil, fmt.Errorf("worker: rules: %w", err)
	}
	if rules.Version > session.FoldVersion {
		return nil, fmt.Errorf("%w: version %d is in force, this program knows %d", ErrVersion, rules.Version, session.FoldVersion)
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

func (r *rulesLog) last() *rulesChange { return &r.changes[len(r.changes)-1] }

func (r *rulesLog) inForce() *session.Rules { return r.last().rules }

// at returns the rules in force for the input seq, as the log has them.
func (r *rulesLog) at(seq uint64) json.RawMessage { return r.changeBefore(seq).raw }

// before returns the rules in force for the input seq.
func (r *rulesLog) before(seq uint64) *session.Rules { return r.changeBefore(seq).rules }

func (r *rulesLog) changeBefore(seq uint64) *rulesChange {
	for i := len(r.changes) - 1; i > 0; i-- {
		if r.changes[i].seq < seq {
			return &r.changes[i]
		}
	}
	return &r.changes[0]
}

// forget drops the rules that no input from seq on was folded under.
func (r *rulesLog) forget(seq uint64) {
	for len(r.changes) > 1 && r.changes[1].seq < seq {
		r.changes = r.changes[1:]
	}
}

// readRules reads all changes of settings of a partition that are in the log.
func readRules(ctx context.Context, log Log, partition int) (*rulesLog, error) {
	past := new(rulesLog)
	if err := past.begin(broker.Checkpoint{}); err != nil {
		return nil, err
	}
	first, _, err := log.InputBounds(ctx)
	if err != nil {
		return nil, err
	}
	err = log.RulesInputs(ctx, partition, func(in *inputs.Input) error {
		if err := past.set(in); errors.Is(err, ErrVersion) {
			return err
		}
		if len(past.changes) == 2 && first > 1 {
			past.changes[0].rules = past.changes[1].rules // as repeated
		}
		return nil
	})
	return past, err
}

// repeatEvery is how often the rules in force are repeated, so that the log can
// be folded from any position after one.
const repeatEvery = time.Hour

// repeatRules repeats the rules in force once in repeatEvery.
func (q *partition) repeatRules() {
	last, read := q.rules.last(), q.reading.at
	if last.raw != nil && read > last.at+events.Time(repeatEvery.Milliseconds()) && last.at != 0 {
		q.appender.publish(q.rulesPub(last.raw, fmt.Sprint(int64(read)/repeatEvery.Milliseconds())))
	}
}

func (q *partition) rulesPub(data []byte, nonce string) *broker.Pub {
	sum := sha256.Sum256(data)
	return q.log.RulesPub(q.p, fmt.Sprintf("rules:%d:%s:%s", q.p, hex.EncodeToString(sum[:8]), nonce), data)
}
