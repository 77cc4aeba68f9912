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

// rulesLog has the rules of a partition from the checkpoint on, by the inputs that
// put them into force.
type rulesLog struct {
	changes []rulesChange // oldest first; the last is in force
}

// rulesChange is a rules input. Its rules are in force for the inputs after it.
type rulesChange struct {
	seq   uint64
	at    events.Time
	rules *session.Rules
	raw   json.RawMessage // nil for those before the first rules input
}

// begin sets the rules to those in force at the checkpoint. It returns an error
// that wraps ErrVersion for those of a newer fold, and broker.ErrDamaged for others
// that cannot be read. The log is unchanged then.
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

// set adds a rules input. If it returns an error, the log is unchanged. Every
// worker refuses the same inputs.
func (r *rulesLog) set(in *inputs.Input) error {
	rules, err := parseRules(in.Data)
	if err != nil {
		return err
	}
	r.changes = append(r.changes, rulesChange{in.Seq, events.At(in.At), rules, bytes.Clone(in.Data)})
	return nil
}

// parseRules returns the rules in data. It returns an error that wraps ErrVersion
// for those of a newer fold. It refuses unknown fields: only streamer writes rules.
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

// last returns the rules in force.
func (r *rulesLog) last() *rulesChange { return &r.changes[len(r.changes)-1] }

func (r *rulesLog) inForce() *session.Rules { return r.last().rules }

// rawBefore returns the rules in force for the input seq as they are stored, nil for
// those before the first rules input.
func (r *rulesLog) rawBefore(seq uint64) json.RawMessage { return r.changeBefore(seq).raw }

// before returns the rules in force for the input seq.
func (r *rulesLog) before(seq uint64) *session.Rules { return r.changeBefore(seq).rules }

// changeBefore returns the last change below seq, or the oldest one.
func (r *rulesLog) changeBefore(seq uint64) *rulesChange {
	for i := len(r.changes) - 1; i > 0; i-- {
		if r.changes[i].seq < seq {
			return &r.changes[i]
		}
	}
	return &r.changes[0]
}

// forget removes the rules that are not in force for any input from seq on.
func (r *rulesLog) forget(seq uint64) {
	for len(r.changes) > 1 && r.changes[1].seq < seq {
		r.changes = r.changes[1:]
	}
}

// readRules returns the rules of a partition by all rules inputs that are in the
// log. If the first inputs of the log have expired, it assumes that the first rules
// input repeats the rules before it.
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
			past.changes[0].rules = past.changes[1].rules
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

// rulesPub returns the message of a rules input. The message id depends on the rules
// and the nonce.
func (q *partition) rulesPub(data []byte, nonce string) *broker.Pub {
	sum := sha256.Sum256(data)
	return q.log.RulesPub(q.p, fmt.Sprintf("rules:%d:%s:%s", q.p, hex.EncodeToString(sum[:8]), nonce), data)
}
