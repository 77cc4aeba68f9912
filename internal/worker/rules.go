package worker

import (
	"bytes"
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
	wanted bool    // ours were asked for, or are in force: never again
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

// at gives the rules in force for the input seq.
func (r *rulesLog) at(seq uint64) json.RawMessage {
	for i := len(r.places) - 1; i > 0; i-- {
		if r.places[i].seq < seq {
			return r.places[i].raw
		}
	}
	return r.places[0].raw
}

// forget drops the rules that no input from seq on was folded under.
func (r *rulesLog) forget(seq uint64) {
	for len(r.places) > 1 && r.places[1].seq < seq {
		r.places = r.places[1:]
	}
}

// marshal gives the rules in force as an input that changes nothing.
func (r *rulesLog) marshal() ([]byte, error) {
	if raw := r.last().raw; raw != nil {
		return raw, nil
	}
	data, err := json.Marshal(r.inForce())
	if err != nil {
		return nil, fmt.Errorf("worker: rules: %w", err)
	}
	return data, nil
}

// repeatEvery is how often the rules in force are said again, so that the log
// can be folded from any place after one.
const repeatEvery = time.Hour

// wantRules asks, once, for this instance's settings where others are in
// force, and repeats those in force now and then. It never answers another
// worker's change: two instances with different settings must not quarrel.
func (q *partition) wantRules() {
	r := &q.rules
	last := r.last()
	if !r.wanted {
		r.wanted = true
		ours, err := json.Marshal(q.opts.Rules)
		theirs, err2 := json.Marshal(r.inForce())
		if err == nil && err2 == nil && !bytes.Equal(ours, theirs) {
			q.publishRules(ours, q.opts.Nonce)
			return
		}
	}
	if last.raw != nil && q.read > last.at+events.Time(repeatEvery.Milliseconds()) && last.at != 0 {
		q.publishRules(last.raw, fmt.Sprint(int64(q.read)/repeatEvery.Milliseconds()))
	}
}

func (q *partition) publishRules(data []byte, nonce string) {
	sum := sha256.Sum256(data)
	id := fmt.Sprintf("rules:%d:%s:%s", q.p, hex.EncodeToString(sum[:8]), nonce)
	q.publish(q.log.RulesPub(q.p, id, data))
}
