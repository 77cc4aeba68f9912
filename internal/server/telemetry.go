package server

import (
	"context"
	"time"

	"streamer/internal/telemetry"
	"streamer/internal/worker"
)

const traceTime = 5 * time.Second

// observer returns what receives the stored events: the histograms of calls, and the
// spans if traces are configured.
func (s *Server) observer(ctx context.Context, calls *telemetry.Calls) (worker.Observer, error) {
	if s.config.OTLPEndpoint == "" && !telemetry.Configured() {
		return calls, nil
	}
	var err error
	if s.spans, err = telemetry.NewSpans(ctx, s.config.OTLPEndpoint, s.config.OTLPContent); err != nil {
		return nil, err
	}
	return telemetry.Observers{calls, s.spans}, nil
}

func (s *Server) closeSpans() {
	if s.spans == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), traceTime)
	defer cancel()
	if err := s.spans.Close(ctx); err != nil {
		s.log.Warn().Err(err).Msg("traces not sent")
	}
}
