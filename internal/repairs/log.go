package repairs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"streamer/internal/events"
	"streamer/internal/patch"
)

// Log is what the desk needs of the event log. A token is what events.Token
// makes of a session.
type Log interface {
	// Events calls fn with the events of a session after sequence after, in
	// order, up to the log's present end. It returns fn's error or ctx's.
	Events(ctx context.Context, token string, after uint64, fn func(events.Record) error) error
	// Event reads one event: events.ErrNotFound if it is not stored.
	Event(ctx context.Context, token string, seq uint64) (events.Record, error)
	// Blob reads a large value: events.ErrNotFound if it is not stored.
	Blob(ctx context.Context, ref events.Ref) ([]byte, error)
}

// read collects what the log knows of the calls of a session.
func read(ctx context.Context, log Log, token string) (map[string][]patch.Outcome, error) {
	var known patch.Outcomes
	err := log.Events(ctx, token, 0, func(r events.Record) error {
		switch r.Type {
		case events.ToolCallStart, events.ToolCallArgsComplete, events.ToolCallResult, events.ToolCallLateResult, events.OrphanResult:
		default:
			return nil
		}
		var e events.Event
		if err := json.Unmarshal(r.Data, &e); err != nil {
			return fmt.Errorf("event %d: %w", r.Seq, err)
		}
		known.Take(r.Seq, &e)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("repairs: reading the events of session %s: %w", token, err)
	}
	return known.Log(), nil
}

// maxFetched bounds the results that are fetched for a repair, in bytes
// together.
const maxFetched = 64 << 20

// fetch puts results that a repair wants into what is known.
func fetch(ctx context.Context, log Log, token string, known map[string][]patch.Outcome, wanted []uint64) error {
	room := maxFetched
	got := make(map[uint64]json.RawMessage, len(wanted))
	for _, seq := range wanted {
		if got[seq] != nil {
			continue
		}
		content, err := result(ctx, log, token, seq, room)
		if err != nil {
			return fmt.Errorf("repairs: the result in event %d of session %s: %w", seq, token, err)
		}
		got[seq] = content
		room -= len(content)
	}
	for _, outcomes := range known {
		for i := range outcomes {
			if content := got[outcomes[i].At]; content != nil {
				outcomes[i].Content = content
			}
		}
	}
	return nil
}

// result reads the result in an event. Where it is not to be had, what stands
// in its place says so.
func result(ctx context.Context, log Log, token string, seq uint64, room int) (json.RawMessage, error) {
	r, err := log.Event(ctx, token, seq)
	if errors.Is(err, events.ErrNotFound) { // it was there a moment ago
		return events.Quote("[The result is not stored any more.]"), nil
	}
	if err != nil {
		return nil, err
	}
	var e events.Event
	if err := json.Unmarshal(r.Data, &e); err != nil {
		return nil, err
	}
	if ref := e.ToolResultRef; ref != nil {
		if ref.Size > room {
			return instead(ref, "too large to stand here"), nil
		}
		e.ToolResult, err = log.Blob(ctx, *ref)
		if errors.Is(err, events.ErrNotFound) {
			return instead(ref, "not stored any more"), nil
		}
		if err != nil {
			return nil, err
		}
		if !json.Valid(e.ToolResult) {
			return nil, fmt.Errorf("blob %.64q is no JSON", ref.SHA256)
		}
	}
	return patch.ResultOf(&e), nil
}

// instead is what stands for a result that is not there.
func instead(ref *events.Ref, why string) json.RawMessage {
	return events.Quote(fmt.Sprintf("[The result has %d bytes and is %s. It begins:]\n%s", ref.Size, why, ref.Preview))
}
