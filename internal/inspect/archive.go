package inspect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"streamer/internal/archive"
	"streamer/internal/broker"
	"streamer/internal/client"
	"streamer/internal/events"
	"streamer/internal/gateway"
)

// ArchiveOptions name an archive and the sessions that are copied to it.
type ArchiveOptions struct {
	To   string        `required:"" placeholder:"PLACE" help:"directory, or s3://bucket/prefix; docs/operations.md lists the variables of S3"`
	Idle time.Duration `placeholder:"DURATION" default:"1h" help:"time without events after which a session without open calls is finished"`
	All  bool          `help:"also what the other sessions have so far; a later run writes the rest to another file"`
}

// archiver copies the events of sessions to an archive.
type archiver struct {
	ArchiveOptions
	out           io.Writer
	broker        *client.Broker
	place         *archive.Archive
	latest        map[string]archive.File // by label: the newest file
	files, events int                     // that were written
}

// partSize is the number of compressed bytes of a file above which a session continues in
// another one. They are in memory.
const partSize = 64 << 20

// Archive writes the events of finished sessions that an archive lacks, and prints the
// names of the files.
func Archive(ctx context.Context, b *client.Broker, w io.Writer, opts ArchiveOptions) error {
	place, err := archive.Open(opts.To)
	if err != nil {
		return err
	}
	a := archiver{ArchiveOptions: opts, out: w, broker: b, place: place}
	if err := a.list(ctx); err != nil {
		return err
	}
	sessions, err := b.Sessions(ctx, math.MaxInt)
	if err != nil {
		return err
	}
	erased, err := b.ErasedSessions(ctx)
	if err != nil {
		return err
	}
	for _, s := range erased { // their archive ends with that
		token, err := events.Token(s.Session)
		if _, archived := a.latest[archive.Label(token)]; err == nil && archived {
			sessions = append(sessions, s)
		}
	}
	left, now := 0, time.Now()
	for _, s := range sessions {
		if !a.All && (s.Open > 0 || now.Sub(s.Last) < a.Idle) {
			left++
			continue
		}
		if err := a.session(ctx, s); err != nil {
			return fmt.Errorf("session %s: %w", s.Session, err)
		}
	}
	_, err = fmt.Fprintf(w, "new files: %d, with %d events; sessions: %d, not finished: %d\n", a.files, a.events, len(sessions), left)
	return err
}

// list reads the files that end with events that may still be stored. The time of an event
// is that of its input, which can be hours before it was stored.
func (a *archiver) list(ctx context.Context) error {
	const before = 72 * time.Hour
	reports, err := a.broker.StreamReports(ctx)
	if err != nil {
		return err
	}
	var since time.Time
	for _, r := range reports {
		if r.Name == broker.StreamEvents && r.MaxAge > 0 {
			since = time.Now().Add(-r.MaxAge - before)
		}
	}
	files, err := a.place.Files(ctx, since, "")
	a.latest = map[string]archive.File{}
	for _, f := range files {
		a.latest[f.Label] = f
	}
	return err
}

// session writes the events of a session behind those of its newest file; all of them if
// the last one of that file is no longer stored.
func (a *archiver) session(ctx context.Context, s gateway.SessionInfo) error {
	token, err := events.Token(s.Session)
	if err != nil {
		return err
	}
	skip, complete := false, false
	latest, archived := a.latest[archive.Label(token)]
	if archived {
		if skip, complete, err = a.archived(ctx, s.Session, token, latest); err != nil || complete {
			return err
		}
	}
	part := archive.NewPart(token)
	err = lines(ctx, a.broker, s.Session, true, func(_ *events.Record, e *events.Event, body []byte) error {
		if skip {
			skip = !latest.EndsWith(e)
			return nil
		}
		if err := part.Add(e, body); err != nil || part.Size() < partSize {
			return err
		}
		full := part
		part = archive.NewPart(token)
		return a.write(ctx, full)
	})
	if _, none := errors.AsType[*NoEventsError](err); none {
		return nil // all have expired
	}
	if err == nil && part.Len() > 0 {
		err = a.write(ctx, part)
	}
	return err
}

// archived reports whether the last event of a file is stored, and whether it is the last
// one of its session.
func (a *archiver) archived(ctx context.Context, session, token string, latest archive.File) (found, last bool, err error) {
	_, head, err := a.broker.Head(ctx, token)
	if err != nil {
		return false, false, err
	}
	var e events.Event
	if head.Type != events.Synthetic && json.Unmarshal(head.Data, &e) == nil && latest.EndsWith(&e) {
		return true, true, nil
	}
	err = each(ctx, a.broker, session, func(_ *events.Record, e *events.Event) error {
		last = latest.EndsWith(e)
		found = found || last
		return nil
	})
	if _, none := errors.AsType[*NoEventsError](err); none {
		return false, true, nil
	}
	return found, last, err
}

func (a *archiver) write(ctx context.Context, p *archive.Part) error {
	f, err := a.place.Write(ctx, p)
	if err != nil {
		return err
	}
	a.files++
	a.events += f.Count
	_, err = fmt.Fprintln(a.out, f.Name())
	return err
}

// WriteArchived writes the events of an archive, or of one file, of a session and of the
// types; of all if these are empty.
func WriteArchived(ctx context.Context, place string, o Output, session string, types []string) error {
	found := false
	err := writeEvents(o, types, func(fn eventFunc) error {
		return archive.Lines(ctx, place, session, func(line []byte) error {
			var e events.Event
			if err := json.Unmarshal(line, &e); err != nil {
				return err
			}
			if e.Type == "" {
				return fmt.Errorf("%.40q is no event: it has no type", line)
			}
			if session != "" && e.Session != session {
				return nil
			}
			found = true
			return fn(e.EventID.String(), line, &e)
		})
	})
	if err == nil && !found {
		err = fmt.Errorf("%s has no event of the session", place)
	}
	return err
}
