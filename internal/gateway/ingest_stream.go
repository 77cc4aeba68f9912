package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"time"

	"streamer/internal/events"
	"streamer/internal/gateway/respond"
	"streamer/internal/inputs"
)

// Tracking follows what becomes of the inputs of one request.
type Tracking interface {
	// Stored records that the input of a line is stored, with its sequence.
	Stored(seq uint64, line int)
	// Outcome waits until the inputs are folded, for at most the time in which no
	// event comes. It returns how many inputs were rejected and why, and whether all
	// are folded.
	Outcome(ctx context.Context, limit time.Duration) (rejected int, why events.Rejections, complete bool)
	// Close ends the tracking.
	Close()
}

// ingestion is a request whose body is stored as it arrives: each SSE event or line
// of deltas, and each JSON value of other kinds, is an input.
type ingestion struct {
	g         *Gateway
	session   string
	token     string
	kind      inputs.Kind
	msgID     string // message id of a single input; the ids of several begin with it
	retryable bool   // the client gave a key for it
	header    inputs.Header
	strict    bool
	trial     func(format string, delta []byte) *events.Event // nil unless strict
	tracking  Tracking
	storer    string // whose rates are in force

	inputs  int    // that were stored
	refused int    // that were not
	seq     uint64 // of the last stored input
	faults  events.Rejections
}

func (g *Gateway) ingestStream(w http.ResponseWriter, r *http.Request, in *ingestion) error {
	leave, err := g.admit(w, r)
	if err != nil {
		return err
	}
	defer leave()
	if err := g.begin(r.Context(), w, r, in); err != nil {
		return err
	}
	ctx, end := context.WithCancelCause(r.Context())
	defer end(nil)
	if err := g.ingests.add(in, end); err != nil {
		w.Header().Set("Retry-After", strconv.Itoa(1+rand.IntN(5)))
		return respond.Refuse(http.StatusServiceUnavailable, unavailableText(err, "bodies", g.opts.MaxIngests))
	}
	defer g.ingests.remove(in)
	tracking, err := g.store.Track(ctx, in.token)
	if err != nil {
		return fmt.Errorf("gateway: events of the inputs: %w", err)
	}
	defer tracking.Close()
	in.g, in.tracking, in.storer = g, tracking, g.storer(r)
	if in.strict && g.opts.Trial != nil {
		in.trial = g.opts.Trial()
	}
	rc := http.NewResponseController(w)
	body := newSlowBody(ctx, r.Body, rc, g.opts.IngestIdle)
	defer body.stop()
	failed := in.storeAll(ctx, in.splitter(body))
	_ = rc.SetWriteDeadline(time.Now().Add(g.opts.StoreTimeout + g.opts.WriteTimeout))
	in.answer(w, r, failed)
	return nil
}

// pieces is a body that is cut into inputs.
type pieces interface {
	Next() (inputs.Piece, error)
	Binary() bool
}

func (in *ingestion) splitter(body *slowBody) pieces {
	if in.kind == inputs.Delta {
		return inputs.NewSplitter(body, in.g.opts.MaxBody)
	}
	return newValues(body, in.g.opts.MaxBody)
}

// storeAll stores the inputs of a body. It returns why it ended before the end of
// the body, nil if it did not.
func (in *ingestion) storeAll(ctx context.Context, body pieces) error {
	for n := 1; ; n++ {
		p, err := body.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return in.bodyError(ctx, err)
		}
		if body.Binary() && in.retryable {
			return respond.Refuse(http.StatusBadRequest, "Idempotency-Key is not possible with a binary body that is stored as it arrives: the cuts between its inputs are not the same each time")
		}
		if err := in.store(ctx, p, n); err != nil {
			return err
		}
	}
}

func (in *ingestion) store(ctx context.Context, p inputs.Piece, n int) error {
	if fault := in.check(p); fault != nil {
		in.refused++
		in.faults.Add(fault.Reason, fault.Offset.Bytes(), p.Line)
		if in.strict {
			return respond.Refuse(http.StatusBadRequest, fmt.Sprintf("line %d: %s", p.Line, fault.Reason.Text))
		}
		return nil
	}
	if err := in.g.pace(ctx, in.storer, len(p.Data)); err != nil {
		return in.bodyError(ctx, err)
	}
	publishing, cancel := context.WithTimeout(ctx, in.g.opts.StoreTimeout)
	defer cancel()
	id := in.msgID + "~" + strconv.Itoa(n)
	seq, repeated, err := in.g.store.Publish(publishing, in.token, in.kind, id, in.header, p.Data)
	if err != nil {
		return err
	}
	in.g.rates.count(in.storer, repeated)
	in.inputs++
	in.seq = seq
	in.tracking.Stored(seq, p.Line)
	return nil
}

func (in *ingestion) check(p inputs.Piece) *events.Event {
	if in.kind == inputs.Delta {
		if in.trial == nil {
			return nil
		}
		return in.trial(in.header.Get(inputs.HeaderFormat), p.Data)
	}
	if in.g.opts.Check == nil {
		return nil
	}
	err := in.g.opts.Check(in.kind, p.Data)
	if err == nil {
		return nil
	}
	return &events.Event{Reason: &events.Reason{Code: events.BadShape, Text: err.Error()}, Offset: events.OffsetAt(0)}
}

// errIncomplete ends a body of which the client did not send the end.
var errIncomplete = respond.Refuse(http.StatusBadRequest, "the body is incomplete; what follows its last complete input is not stored")

func (in *ingestion) bodyError(ctx context.Context, err error) error {
	_, refused := errors.AsType[*respond.Refusal](err)
	_, long := errors.AsType[*inputs.LengthError](err)
	switch {
	case errors.Is(context.Cause(ctx), errShutdown):
		return respond.Refuse(http.StatusServiceUnavailable, "the server is shutting down; the rest of the body is not stored")
	case errors.Is(context.Cause(ctx), errExpired):
		return respond.Refuse(http.StatusUnauthorized, "the token has expired; the rest of the body is not stored")
	case refused:
		return err
	case long:
		return tooLarge(in.g.opts.MaxBody)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return respond.Refuse(http.StatusRequestTimeout, fmt.Sprintf("no data arrived for %s; the rest of the body is not stored", in.g.opts.IngestIdle))
	}
	return errIncomplete
}
