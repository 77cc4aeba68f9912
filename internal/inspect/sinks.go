package inspect

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"streamer/internal/cli"
	"streamer/internal/client"
	"streamer/internal/server"
	"streamer/internal/sink"

	"github.com/rs/zerolog"
)

// Sinks writes the sinks or, with a name, the dead letters of one.
func Sinks(ctx context.Context, b *client.Broker, o Output, name string) error {
	e := json.NewEncoder(o.W)
	if name != "" {
		if err := mustExist(ctx, b, name); err != nil {
			return err
		}
		rows := [][]cell{header("SESSION", "EVENT", "TYPE", "WHY")}
		err := sink.Letters(ctx, b, name, func(_ uint64, d sink.Dead) error {
			rows = append(rows, []cell{{text: cli.Clean(d.Session)}, {text: d.EventID}, {text: d.Type}, {text: cli.Clean(d.Why)}})
			if o.JSON {
				return e.Encode(d)
			}
			return nil
		})
		if err != nil || o.JSON {
			return err
		}
		return writeTable(o.W, o.Paint, rows)
	}
	list, err := sink.List(ctx, b)
	if err != nil {
		return err
	}
	rows := [][]cell{header("SINK", "NOT READ", "UNDER WAY", "DEAD LETTERS")}
	for _, s := range list {
		rows = append(rows, []cell{
			{text: cli.Clean(s.Name)},
			{text: strconv.FormatUint(s.Pending, 10), right: true},
			{text: strconv.Itoa(s.Open), right: true},
			{text: strconv.FormatUint(s.Dead, 10), right: true},
		})
		if o.JSON {
			if err := e.Encode(s); err != nil {
				return err
			}
		}
	}
	if o.JSON {
		return nil
	}
	return writeTable(o.W, o.Paint, rows)
}

// mustExist returns an error for a sink that does not exist, with the names of those that do.
func mustExist(ctx context.Context, b *client.Broker, name string) error {
	list, err := sink.List(ctx, b)
	var names []string
	for _, s := range list {
		names = append(names, s.Name)
	}
	if err != nil || slices.Contains(names, name) {
		return err
	}
	return fmt.Errorf("there is no sink %.50q; sinks: %s", name, cmp.Or(cli.Clean(strings.Join(names, ", ")), "none"))
}

// Redeliver delivers the dead letters of a sink once more, and writes how many were accepted.
// It is an error if others stay.
func Redeliver(ctx context.Context, b *client.Broker, w io.Writer, f *server.SinkFlags) error {
	if f.SinkURL == "" {
		return errors.New("--again needs --sink-url")
	}
	s, err := f.New(b, zerolog.Nop())
	if err != nil {
		return err
	}
	if err := mustExist(ctx, b, s.Name); err != nil {
		return err
	}
	accepted, left, err := s.Again(ctx)
	fmt.Fprintf(w, "dead letters of sink %s: %d accepted and removed, %d refused, not selected or expired\n", s.Name, accepted, left)
	if err == nil && left > 0 {
		err = fmt.Errorf("%d dead letters of sink %s stay", left, s.Name)
	}
	return err
}
