package gateway

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"streamer/internal/encode"
	"streamer/internal/events"
)

// maxBatch is the number of bytes at which a batch takes no further event.
const maxBatch = 256 << 10

// errBatch ends the reading of a batch.
var errBatch = errors.New("gateway: the batch is complete")

// Last returns the sequence of the last event of the session in the path, 0 if there is
// none.
func (f foreignAPI) Last(r *http.Request) (uint64, error) {
	_, token, err := sessionOf(r)
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(r.Context(), f.g.opts.StoreTimeout)
	defer cancel()
	_, last, err := f.g.store.Head(ctx, token)
	if err != nil {
		return 0, fmt.Errorf("gateway: last event: %w", err)
	}
	return last.Seq, nil
}

// OpeningAt returns the opening of a stream of the events of the session in the path after
// a sequence.
func (f foreignAPI) OpeningAt(w http.ResponseWriter, r *http.Request, from uint64) (encode.Opening, error) {
	_, token, err := sessionOf(r)
	if err != nil {
		return encode.Opening{}, err
	}
	return f.g.opening(w, r, &selection{tokens: []string{token}}, from)
}

// Batch returns stored events of the session in the path after a sequence, with their
// large values, and whether they are all. If there are none and wait is set, it waits for
// the next ones until a heartbeat would be due, or the server or the token of the client
// ends. It counts as a stream.
func (f foreignAPI) Batch(w http.ResponseWriter, r *http.Request, from uint64, wait bool) (list []events.Record, all bool, err error) {
	_, token, err := sessionOf(r)
	if err != nil {
		return nil, false, err
	}
	ctx, end := context.WithCancelCause(r.Context())
	defer end(nil)
	leave, err := f.Hold(w, r, end)
	if err != nil {
		return nil, false, err
	}
	defer leave()
	limit := f.g.opts.StoreTimeout
	if wait {
		limit = f.g.opts.Heartbeat
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	size := 0
	err = f.g.store.Tail(ctx, token, from, func(e events.Record, _ bool) error {
		if e.Seq == 0 {
			if all = true; len(list) > 0 || !wait {
				return errBatch
			}
			return nil
		}
		e, err := f.g.whole(ctx, e)
		if err != nil {
			return err
		}
		list = append(list, e)
		if size += len(e.Data); size >= maxBatch {
			all = false
			return errBatch
		}
		return nil
	}, func() error {
		if len(list) > 0 {
			return errBatch
		}
		return nil
	})
	if !errors.Is(err, errBatch) && !(all && ctx.Err() != nil) {
		return nil, false, fmt.Errorf("gateway: events after %d: %w", from, err)
	}
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(f.g.opts.WriteTimeout))
	return list, all, nil
}
