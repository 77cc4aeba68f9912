// Package repair is the repair service: it parses a request to repair a history,
// searches the event log of the session, repairs with package patch and returns
// the answer. HTTP, NATS and the command line use it.
//
// An answer has the messages of the request byte for byte, except those that the
// repair changed. The requests in progress never hold more than
// Service.MaxAtOnce bytes of histories together; a request beyond that waits for a
// bounded time and is then refused. The service stores nothing, so a request can be
// repeated.
package repair

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"streamer/internal/events"
	"streamer/internal/patch"

	"golang.org/x/sync/semaphore"
)

// Service answers requests from any goroutine. The zero value answers requests
// without a session.
type Service struct {
	// Log is the event log that is searched for the calls of a session. If nil,
	// requests with a session are refused.
	Log Log

	MaxBytes  int           // maximum size of a request; if zero, 64 MiB
	MaxAtOnce int           // maximum size of all requests in progress; if zero, MaxBytes
	Wait      time.Duration // maximum wait for other requests; if zero, 5 s
	LogTime   time.Duration // maximum time to read the log of a session; if zero, 10 s

	once  sync.Once
	limit *semaphore.Weighted
}

// Refusal is the error for a request that is invalid, too large or one of too
// many. Status is an HTTP status: 400, 413, 422 or 503.
type Refusal struct {
	Status int
	Text   string
}

// Error returns Text.
func (r *Refusal) Error() string { return r.Text }

func refuse(status int, format string, args ...any) error {
	return &Refusal{status, fmt.Sprintf(format, args...)}
}

// The statuses of a Refusal.
const (
	statusBad        = 400 // not a request
	statusTooLarge   = 413
	statusNoHistory  = 422 // a request whose messages are not a history
	statusOverloaded = 503
)

// leastShare is the minimum number of bytes that a request counts as, because it
// needs memory besides its own bytes.
const leastShare = 1 << 20

// Bound returns the maximum size of a request in bytes.
func (s *Service) Bound() int {
	if s.MaxBytes <= 0 {
		return 64 << 20
	}
	return s.MaxBytes
}

// Enter waits until a request of that many bytes can be held in memory. The caller
// calls leave after it has sent the answer.
func (s *Service) Enter(ctx context.Context, bytes int) (leave func(), err error) {
	if bytes > s.Bound() {
		return nil, s.TooLarge()
	}
	s.once.Do(func() {
		s.limit = semaphore.NewWeighted(int64(max(s.MaxAtOnce, s.Bound(), leastShare)))
	})
	wait, cancel := context.WithTimeout(ctx, cmp.Or(s.Wait, 5*time.Second))
	defer cancel()
	share := int64(max(bytes, leastShare))
	switch err := s.limit.Acquire(wait, share); {
	case err == nil:
		return sync.OnceFunc(func() { s.limit.Release(share) }), nil
	case ctx.Err() == nil:
		return nil, refuse(statusOverloaded, "too many histories are being repaired just now; try again")
	default:
		return nil, err
	}
}

// TooLarge returns the refusal of a request that is larger than Bound.
func (s *Service) TooLarge() error {
	return refuse(statusTooLarge, "the request has more than %d bytes", s.Bound())
}

// Answer answers the request in body. allow returns an error if the client has no
// right to read the session of the request; if it is nil, the client has all rights.
// The error is that of allow, a Refusal if
// the request is at fault, and otherwise an error of the log.
func (s *Service) Answer(ctx context.Context, body []byte, allow func(session string) error) (Answer, error) {
	r, err := parse(body)
	if err != nil {
		return Answer{}, err
	}
	if r.Session != "" && allow != nil {
		if err := allow(r.Session); err != nil {
			return Answer{}, err
		}
	}
	done, err := s.Repair(ctx, r)
	if err != nil {
		return Answer{}, err
	}
	return answer(r, done)
}

// Within answers like Answer, for a transport with a limit of bytes per answer. If
// the repaired history is larger, and the request does not ask for it explicitly,
// the answer has the edit script instead.
func (s *Service) Within(ctx context.Context, body []byte, limit int) (Answer, error) {
	r, err := parse(body)
	if err != nil {
		return Answer{}, err
	}
	explicit := r.Options.Output != ""
	for {
		done, err := s.Repair(ctx, r)
		if err != nil {
			return Answer{}, err
		}
		a, err := answer(r, done)
		switch {
		case err != nil || a.Len() <= limit:
			return a, err
		case explicit && r.Options.Output == "full":
			return Answer{}, refuse(statusTooLarge, `the answer has %d bytes, and a message takes %d: ask for "output":"ops", or use HTTP`, a.Len(), limit)
		case r.Options.Output == "ops" || explicit:
			return Answer{}, refuse(statusTooLarge, "the answer has %d bytes, and a message takes %d: use HTTP", a.Len(), limit)
		}
		r.Options.Output = "ops"
	}
}

// Repair repairs a history. If the history is at fault, the error is a Refusal that
// names the place.
func (s *Service) Repair(ctx context.Context, r Request) (patch.Repaired, error) {
	o := r.Options
	o.Limits.Bytes = s.Bound()
	if err := o.Check(); err != nil {
		return patch.Repaired{}, refuse(statusBad, "%s", text(err))
	}
	if r.Session == "" {
		return repair(&r, o)
	}
	token, err := events.Token(r.Session)
	if err != nil {
		return patch.Repaired{}, refuse(statusBad, "session: %s", strings.TrimPrefix(err.Error(), "events: "))
	}
	if s.Log == nil {
		return patch.Repaired{}, refuse(statusBad, "session: there is no event log here")
	}
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(s.LogTime, 10*time.Second))
	defer cancel()
	known, err := read(ctx, s.Log, token)
	if err != nil {
		return patch.Repaired{}, err
	}
	o.Log = known
	for free := maxFetched; ; {
		done, err := repair(&r, o)
		if err != nil || len(done.Wanted) == 0 {
			return done, err
		}
		if free, err = fetch(ctx, s.Log, token, o.Log, done.Wanted, free); err != nil {
			return patch.Repaired{}, err
		}
	}
}

func repair(r *Request, o patch.Options) (patch.Repaired, error) {
	done, err := patch.Repair(r.Format, r.Messages, o)
	switch {
	case errors.Is(err, patch.ErrLimit):
		return done, refuse(statusTooLarge, "%s", text(err))
	case err != nil:
		return done, refuse(statusNoHistory, "%s", text(err))
	}
	return done, nil
}

// maxText bounds the text of a refusal, which may quote the request, in bytes.
const maxText = 1 << 10

func text(err error) string {
	s := strings.TrimPrefix(err.Error(), "patch: ")
	if len(s) > maxText {
		s = strings.ToValidUTF8(s[:maxText], "") + "…"
	}
	return s
}
