package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"streamer/internal/bench"
)

// replay is the delivery of one history to many clients at once.
type replay struct {
	Streams int     `json:"streams"`
	Events  int     `json:"events_each"`
	MB      float64 `json:"mb_per_s"`
	Seconds float64 `json:"seconds"`
}

// replayTexts and replaySize are the number and the size of the texts of the history
// that is replayed, as in published measurements of other servers.
const (
	replayTexts = 2000
	replaySize  = 1000
)

// replay measures clients that read one history at once. A client that misses an
// event or receives one twice is an error.
func (o *options) replay(ctx context.Context) (r *replay, err error) {
	session := func(int) string { return "bench-replay" }
	r = &replay{Streams: o.Replays}
	return r, bench.OnServer(ctx, o.program, o.Replays, func(s *bench.Server) error {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		before, err := s.OpenAll(ctx, 1, 1, session)
		for range replayTexts {
			if err == nil {
				err = s.Text(ctx, session(0), strings.Repeat("x", replaySize))
			}
		}
		if err == nil {
			err = s.Text(ctx, session(0), bench.LastText)
		}
		if err == nil {
			err = before[0].ReadUntil(&before[0].Last)
		}
		if err != nil {
			return err
		}
		start := time.Now()
		all, err := s.OpenAll(ctx, o.Replays, o.Replays, session)
		if err != nil {
			return err
		}
		r.Seconds, r.Events = time.Since(start).Seconds(), before[0].Events
		var bytes int64
		for _, c := range all {
			if c.Events != r.Events || c.Twice > 0 {
				return fmt.Errorf("a client received %d of %d events, and %d twice", c.Events, r.Events, c.Twice)
			}
			bytes += c.Bytes
		}
		r.MB = float64(bytes) / r.Seconds / 1e6
		return nil
	})
}
