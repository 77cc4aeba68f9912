package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"streamer/internal/client"
	"streamer/internal/telemetry"

	"github.com/rs/zerolog"
)

// Logger returns a logger that writes to w in a format, text or json, and to others in JSON.
// Messages below the level are dropped.
func Logger(w io.Writer, level, format string, others ...io.Writer) (zerolog.Logger, error) {
	l, err := zerolog.ParseLevel(level)
	if err != nil || level == "" {
		return zerolog.Nop(), fmt.Errorf("invalid --log-level %q: need debug, info, warn or error", level)
	}
	switch format {
	case "json":
	case "text":
		w = zerolog.ConsoleWriter{Out: w, TimeFormat: time.TimeOnly, NoColor: true}
	default:
		return zerolog.Nop(), fmt.Errorf("invalid --log-format %q: need text or json", format)
	}
	return zerolog.New(zerolog.MultiLevelWriter(append(others, w)...)).Level(l).With().Timestamp().Logger(), nil
}

// Logger returns the logger of a server, which writes to w, and what sends its lines, nil if
// nothing does.
func (f *Flags) Logger(ctx context.Context, w io.Writer) (zerolog.Logger, *telemetry.Logs, error) {
	local, err := Logger(w, f.LogLevel, f.LogFormat)
	if err != nil {
		return local, nil, err
	}
	logs, err := telemetry.NewLogs(ctx, f.OTLPLogs, func(err error) { local.Warn().Err(err).Msg("log lines not sent") })
	if logs == nil {
		return local, nil, err
	}
	log, err := Logger(w, f.LogLevel, f.LogFormat, logs)
	return log, logs, err
}

// Logged is an error that the log has.
type Logged struct{ error }

// Unwrap returns the error.
func (l Logged) Unwrap() error { return l.error }

// LogFailure logs the error that ended a server if the log has the format json, whose
// readers accept no other lines, and returns it. That the server was stopped while it
// started is no error.
func (f *LogFlags) LogFailure(ctx context.Context, w io.Writer, err error) error {
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil
	}
	log, wrong := Logger(w, f.LogLevel, f.LogFormat)
	if err == nil || wrong != nil || f.LogFormat != "json" {
		return err
	}
	log.Error().Err(err).Msg("the server ended")
	return Logged{err}
}

// notices logs the notices of a connection. Those about missing permissions wait until
// it is known whether the connection fails for that reason: one error says it.
type notices struct {
	logger zerolog.Logger

	mu     sync.Mutex
	open   bool
	denied []error
	last   error
}

func (n *notices) log(msg string, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if err != nil {
		n.last = err
	}
	if !n.open && err != nil && strings.Contains(err.Error(), client.Violation) {
		n.denied = append(n.denied, err)
		return
	}
	n.logger.Warn().Err(err).Msg(msg)
}

// why returns the error of the last notice that had one.
func (n *notices) why() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.last
}

// flush logs the notices that waited. Later ones do not wait.
func (n *notices) flush() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.open = true
	for _, err := range n.denied {
		n.logger.Warn().Err(err).Msg("NATS denies a permission")
	}
	n.denied = nil
}
