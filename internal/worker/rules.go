package worker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"streamer/internal/broker"
	"streamer/internal/events"
	"streamer/internal/inputs"
	"streamer/internal/session"
)

// readRules returns the rules of a partition by all rules inputs that are in the
// log. If the first inputs of the log have expired, it assumes that the first rules
// input repeats the rules before it.
func readRules(ctx context.Context, log Log, partition int) (*session.RulesLog, error) {
	past := new(session.RulesLog)
	if err := past.Begin(nil); err != nil {
		return nil, err
	}
	first, _, err := log.InputBounds(ctx)
	if err != nil {
		return nil, err
	}
	err = log.RulesInputs(ctx, partition, func(in *inputs.Input) error {
		if err := past.Set(in); errors.Is(err, session.ErrVersion) {
			return err
		}
		return nil
	})
	if first > 1 {
		past.Repeated()
	}
	return past, err
}

// repeatEvery is how often the rules in force are repeated, so that the log can
// be folded from any position after one.
const repeatEvery = time.Hour

func (q *partition) repeatRules() {
	last, read := q.rules.Last(), q.reading.at
	if last.At == 0 {
		last.At = read // they are those of the checkpoint
	}
	if last.Raw != nil && read > last.At+events.Time(repeatEvery.Milliseconds()) && last.At != 0 {
		q.appender.publish(q.rulesPub(last.Raw, fmt.Sprint(int64(read)/repeatEvery.Milliseconds())))
	}
}

// rulesPub returns the message of a rules input. The message id depends on the rules
// and the nonce.
func (q *partition) rulesPub(data []byte, nonce string) *broker.Pub {
	sum := sha256.Sum256(data)
	return q.log.RulesPub(q.p, fmt.Sprintf("rules:%d:%s:%s", q.p, hex.EncodeToString(sum[:8]), nonce), data)
}
