// Package repair answers requests to repair a history, through whichever door
// they come: it reads the request, asks the event log of the session, and
// writes the answer. The repair itself is patch's.
//
// It promises that an answer has the messages of the request byte for byte,
// but for those the repair changed, and that the requests under way never hold
// more than Service.MaxAtOnce bytes of histories together: others wait a bounded
// time and are refused then. It writes nothing anywhere, so that a request may
// be repeated.
package repair

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"streamer/internal/events"
	"streamer/internal/patch"
)

// Service takes requests from any goroutine. The zero value takes those that name
// no session.
type Service struct {
	// Log is asked about the calls of a session. If nil, a request that names
	// one is refused.
	Log Log

	MaxBytes  int           // of a request; if zero, 64 MiB
	MaxAtOnce int           // bytes of all requests under way; if zero, MaxBytes
	Wait      time.Duration // for others to leave; if zero, 5 s
	LogTime   time.Duration // for reading the log of a session; if zero, 10 s

	once  sync.Once
	limit *limit
}

// Refusal is a request that is not answered because of what it is, or of how
// many there are. Status is HTTP's: 400, 413, 422 or 503.
type Refusal struct {
	Status int
	Text   string
}

func (r *Refusal) Error() string { return r.Text }

func refuse(status int, format string, args ...any) error {
	return &Refusal{status, fmt.Sprintf(format, args...)}
}

// The statuses of a Refusal.
const (
	statusBad        = 400 // the request is not one
	statusTooLarge   = 413
	statusNoHistory  = 422 // the request is one, its messages are no history
	statusOverloaded = 503
)

// leastShare is what a request counts for at least: it needs memory besides
// its bytes.
const leastShare = 1 << 20

// Bound gives the largest request in bytes.
func (s *Service) Bound() int {
	if s.MaxBytes <= 0 {
		return 64 << 20
	}
	return s.MaxBytes
}

// Enter waits until a request of that many bytes may be held in memory. Its
// holder calls leave, once, when the answer is sent.
func (s *Service) Enter(ctx context.Context, bytes int) (leave func(), err error) {
	if bytes > s.Bound() {
		return nil, s.TooLarge()
	}
	s.once.Do(func() {
		s.limit = newLimit(max(s.MaxAtOnce, s.Bound(), leastShare))
	})
	wait, cancel := context.WithTimeout(ctx, orDefault(s.Wait, 5*time.Second))
	defer cancel()
	leave, err = s.limit.take(wait, max(bytes, leastShare))
	if err != nil && ctx.Err() == nil {
		return nil, refuse(statusOverloaded, "too many histories are being repaired just now; try again")
	}
	return leave, err
}

// TooLarge is the refusal of a request that is larger than Bound.
func (s *Service) TooLarge() error {
	return refuse(statusTooLarge, "the request has more than %d bytes", s.Bound())
}

// Answer answers a request as it stands in a body. What is wrong with it is a
// Refusal; any other error is the log's.
func (s *Service) Answer(ctx context.Context, body []byte) (Answer, error) {
	r, err := parse(body)
	if err != nil {
		return Answer{}, err
	}
	done, err := s.Repair(ctx, r)
	if err != nil {
		return Answer{}, err
	}
	return answer(r, done)
}

// Within is Answer for a door that takes at most limit bytes. Where the
// repaired history is larger and was not asked for in so many words, the
// answer has the steps that lead to it.
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

// Repair repairs a history. What is wrong with it is a Refusal that names the
// place in the history.
func (s *Service) Repair(ctx context.Context, r Request) (patch.Repaired, error) {
	o := r.Options
	o.Limits.Bytes = s.Bound()
	if err := o.Check(); err != nil {
		return patch.Repaired{}, refuse(statusBad, "%s", words(err))
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
	ctx, cancel := context.WithTimeout(ctx, orDefault(s.LogTime, 10*time.Second))
	defer cancel()
	known, err := read(ctx, s.Log, token)
	if err != nil {
		return patch.Repaired{}, err
	}
	o.Log = known
	done, err := repair(&r, o)
	if err != nil || len(done.Wanted) == 0 {
		return done, err
	}
	if err := fetch(ctx, s.Log, token, o.Log, done.Wanted); err != nil {
		return patch.Repaired{}, err
	}
	return repair(&r, o)
}

func repair(r *Request, o patch.Options) (patch.Repaired, error) {
	done, err := patch.Repair(r.Format, r.Messages, o)
	switch {
	case errors.Is(err, patch.ErrLimit):
		return done, refuse(statusTooLarge, "%s", words(err))
	case err != nil:
		return done, refuse(statusNoHistory, "%s", words(err))
	}
	return done, nil
}

// maxWords bounds the words about a request, which may quote it.
const maxWords = 1 << 10

// words are an error's, without the name of the package it is from.
func words(err error) string {
	s := strings.TrimPrefix(err.Error(), "patch: ")
	if len(s) > maxWords {
		s = strings.ToValidUTF8(s[:maxWords], "") + "…"
	}
	return s
}

func orDefault(d, otherwise time.Duration) time.Duration {
	if d == 0 {
		return otherwise
	}
	return d
}
