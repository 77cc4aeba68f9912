package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"streamer/internal/gateway/respond"
	"streamer/internal/inputs"
)

// slowBody reads a request body that arrives over a long time. Each read has a
// deadline, and the end of the context ends a read that waits.
type slowBody struct {
	body  io.Reader
	rc    *http.ResponseController
	idle  time.Duration
	cause func() error // why the context has ended, nil if it has not
	stop  func() bool
	err   error // of the first read that failed: each later one returns it
}

func newSlowBody(ctx context.Context, body io.Reader, rc *http.ResponseController, idle time.Duration) *slowBody {
	a := &slowBody{body: body, rc: rc, idle: idle, cause: func() error { return context.Cause(ctx) }}
	a.stop = context.AfterFunc(ctx, func() { _ = rc.SetReadDeadline(time.Unix(1, 0)) })
	return a
}

func (a *slowBody) Read(b []byte) (n int, err error) {
	if a.err != nil {
		return 0, a.err
	}
	defer func() { a.err = err }()
	// Writers without deadlines, such as recorders, are served without them.
	_ = a.rc.SetReadDeadline(time.Now().Add(a.idle))
	if err := a.cause(); err != nil { // the deadline above replaced the one of stop
		return 0, err
	}
	return a.body.Read(b)
}

// values cuts a body into its JSON values.
type values struct {
	dec   *json.Decoder
	limit limitedReader
	n     int
}

// newValues returns the JSON values of a body, which have at most limit bytes.
func newValues(body io.Reader, limit int) *values {
	v := &values{limit: limitedReader{body: body, max: limit}}
	v.dec = json.NewDecoder(&v.limit)
	return v
}

func (v *values) Next() (inputs.Piece, error) {
	v.n++
	v.limit.left = v.limit.max
	var value json.RawMessage
	err := v.dec.Decode(&value)
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return inputs.Piece{}, respond.Refuse(http.StatusBadRequest, fmt.Sprintf("value %d is not JSON: %s", v.n, syntax))
	}
	if err == nil && len(value) > v.limit.max {
		err = &inputs.LengthError{Limit: v.limit.max}
	}
	return inputs.Piece{Data: value, Line: v.n}, err
}

func (v *values) Binary() bool { return false }

// limitedReader reads at most left bytes of a body.
type limitedReader struct {
	body io.Reader
	max  int
	left int
}

func (b *limitedReader) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, &inputs.LengthError{Limit: b.max}
	}
	n, err := b.body.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}
