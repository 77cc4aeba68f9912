package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"streamer/internal/client"
	"streamer/internal/gateway"
	"streamer/internal/inputs"
	"streamer/internal/natsservice"
	"streamer/internal/repair"
)

type store struct {
	*client.Broker
	problem func() error // why this process is not ready
	// overload returns how far an overloaded partition is behind, 0 for others.
	overload func(partition int) time.Duration
	opened   <-chan struct{} // closed when inputs are accepted
	pause    *pause
	// announced are the sessions of Server.Announced.
	announced *[]gateway.SessionInfo
}

// Sessions returns at most limit sessions: the announced ones that have no events, then the
// newest.
func (s store) Sessions(ctx context.Context, limit int) ([]gateway.SessionInfo, error) {
	list, err := s.Broker.Sessions(ctx, limit)
	for _, a := range *s.announced {
		if err == nil && !slices.ContainsFunc(list, func(b gateway.SessionInfo) bool { return a.Session == b.Session }) {
			list = append(list, a)
		}
	}
	return list[:min(limit, len(list))], err
}

func (s *Server) store() store {
	return store{s.Broker, s.Problem, s.Worker.Overload, s.opened, &s.pause, &s.Announced}
}

var errPaused = errors.New("new sessions are refused: streamer is paused or ends")

// Publish stores an input as inputlog.Append does. It waits until inputs are accepted.
func (s store) Publish(ctx context.Context, token string, kind inputs.Kind, msgID string, header inputs.Header, data []byte) (seq uint64, repeated bool, err error) {
	select {
	case <-s.opened:
		if err := s.Broken(); err != nil {
			return 0, false, &gateway.NotStoredError{Why: err}
		}
		if late := s.overload(s.Partition(token)); late > 0 && kind == inputs.Delta {
			return 0, false, &gateway.NotStoredError{Why: fmt.Errorf("the worker is %s behind; deltas are accepted again when it has caught up", late.Round(time.Second)), Busy: true}
		}
		if kind == inputs.Delta {
			paused, err := s.pause.look(ctx, s.Broker, pauseKnown)
			known := err == nil && !paused && !s.pause.ending.Load()
			if err == nil && !known {
				known, err = s.Exists(ctx, token)
			}
			if err != nil || !known {
				return 0, false, &gateway.NotStoredError{Why: cmp.Or(err, errPaused)}
			}
		}
		return s.Append(ctx, token, kind, msgID, header, data)
	case <-ctx.Done():
		return 0, false, gateway.ErrNotOpen
	}
}

func (s store) Track(ctx context.Context, token string) (gateway.Tracking, error) {
	return s.Broker.Track(ctx, token)
}

// Ready returns an error if the streams do not answer, a partition has stopped or
// is far behind, or inputs are not accepted yet.
func (s store) Ready(ctx context.Context) error {
	if err := errors.Join(s.Broker.Ready(ctx), s.problem()); err != nil {
		return err
	}
	select {
	case <-s.opened:
		if s.pause.ending.Load() {
			return errors.New("the server ends when no call is open")
		}
		return nil
	default:
		return gateway.ErrNotOpen
	}
}

// repairService returns the NATS service that answers as POST /v1/repair does.
func repairService(service *repair.Service) natsservice.Service {
	return natsservice.Service{
		Name: "streamer-repair", Version: client.Semantic(client.Version()),
		Description: "Repairs histories with unanswered tool calls",
		Endpoints: []natsservice.Endpoint{{Name: "repair", Subject: "streamer.repair", Answer: func(ctx context.Context, request []byte, limit int) ([]byte, error) {
			leave, err := service.Enter(ctx, len(request))
			if err != nil {
				return nil, err
			}
			defer leave()
			answer, err := service.Within(ctx, request, limit)
			return answer.Bytes(), err
		}}},
		Status: func(err error) (int, string) {
			if refused, ok := errors.AsType[*repair.Refusal](err); ok {
				return refused.Status, refused.Text
			}
			return 503, "the event log cannot be read just now; ask again"
		},
	}
}
