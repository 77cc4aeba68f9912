package gateway

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"streamer/internal/events"
	"streamer/internal/gateway/replies"
	"streamer/internal/gateway/respond"
	"streamer/internal/gateway/turns"
	"streamer/internal/inputs"
)

// answeredBefore refuses an answer that is stored as input seq if its calls were answered by
// another. It is stored before that is read, so that a repeated request finds itself.
func (g *Gateway) answeredBefore(ctx context.Context, token string, seq uint64, body []byte) error {
	known, err := turns.ReadAnswers(ctx, g.store, token)
	if err != nil {
		g.log.Warn().Err(err).Msg("answers of a session not read")
		return nil // the input is stored
	}
	if first, found := known.First(body); found && first.Input < seq {
		return refuseAnswer(first)
	}
	return nil
}

func refuseAnswer(first events.Event) error {
	by := ""
	if first.By != "" {
		by = fmt.Sprintf(" by %.200q", first.By)
	}
	at := time.UnixMilli(int64(first.Timestamp)).UTC().Format(time.RFC3339)
	return respond.Refuse(http.StatusConflict, fmt.Sprintf("the call was answered already%s at %s: %s", by, at, first.Decision))
}

// unknown returns the answers and results that the log of a session lacks, and a refusal of
// those that contradict it, if any.
func (g *Gateway) unknown(ctx context.Context, token string, list []replies.Input) (rest []replies.Input, refusal, err error) {
	ctx, cancel := context.WithTimeout(ctx, g.opts.StoreTimeout)
	defer cancel()
	var answers turns.Answers
	var results turns.Results
	has := func(kind inputs.Kind) bool {
		return err == nil && slices.ContainsFunc(list, func(in replies.Input) bool { return in.Kind == kind })
	}
	if has(inputs.Answer) {
		answers, err = turns.ReadAnswers(ctx, g.store, token)
	}
	if has(inputs.Result) {
		results, err = turns.ReadResults(ctx, g.store, token)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("gateway: answers of a session: %w", err)
	}
	for _, in := range list {
		if in.Kind == inputs.Result {
			if !results.Has(in.Body) {
				rest = append(rest, in)
			}
			continue
		}
		switch first, found := answers.First(in.Body); {
		case !found:
			rest = append(rest, in)
		case !turns.Repeats(in.Body, first):
			refusal = refuseAnswer(first)
		}
	}
	return rest, refusal, nil
}
