package server

import (
	"fmt"
	"io"
	"time"

	"github.com/rs/zerolog"
)

// Logger returns a logger that writes to w in a format, text or json. Messages
// below the level are dropped.
func Logger(w io.Writer, level, format string) (zerolog.Logger, error) {
	l, err := zerolog.ParseLevel(level)
	if err != nil || level == "" {
		return zerolog.Nop(), fmt.Errorf("invalid --log-level %q: need debug, info, warn or error", level)
	}
	switch format {
	case "json":
		return zerolog.New(w).Level(l).With().Timestamp().Logger(), nil
	case "text":
		c := zerolog.ConsoleWriter{Out: w, TimeFormat: time.TimeOnly, NoColor: true}
		return zerolog.New(c).Level(l).With().Timestamp().Logger(), nil
	}
	return zerolog.Nop(), fmt.Errorf("invalid --log-format %q: need text or json", format)
}
