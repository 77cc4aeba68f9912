package repair

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"streamer/internal/events"
	"streamer/internal/patch"
)

// Log reads the event log. A token is the result of events.Token for a session.
type Log interface {
	// Events calls fn with the events of a session after sequence after, in
	// order, up to the log's present end. It returns fn's error or ctx's.
	Events(ctx context.Context, token string, after uint64, fn func(events.Record) error) error
	// Event reads one event: events.ErrNotFound if it is not stored.
	Event(ctx context.Context, token string, seq uint64) (events.Record, error)
	// Blob reads a large value: events.ErrNotFound if it is not stored.
	Blob(ctx context.Context, ref events.Ref) ([]byte, error)
}

// read returns the outcomes of a session's calls that its event log holds.
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
		known.Add(r.Seq, &e)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("repair: reading the events of session %s: %w", token, err)
	}
	return known.Log(), nil
}

// maxFetched bounds the total size of the results that are fetched for a repair,
// in bytes.
const maxFetched = 64 << 20

// fetch reads the results in the events of wanted and stores them in known.
func fetch(ctx context.Context, log Log, token string, known map[string][]patch.Outcome, wanted []uint64) error {
	free := maxFetched
	got := make(map[uint64]json.RawMessage, len(wanted))
	for _, seq := range wanted {
		if got[seq] != nil {
			continue
		}
		content, err := result(ctx, log, token, seq, free)
		if err != nil {
			return fmt.Errorf("repair: the result in event %d of session %s: %w", seq, token, err)
		}
		got[seq] = content
		free -= len(content)
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

// result reads the result in an event. If the result is not stored any more, or
// larger than free bytes, it returns a text that states this.
func result(ctx context.Context, log Log, token string, seq uint64, free int) (json.RawMessage, error) {
	r, err := log.Event(ctx, token, seq)
	if errors.Is(err, events.ErrNotFound) { // it expired after read
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
		if ref.Size > free {
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
			return nil, fmt.Errorf("blob %.64q is not JSON", ref.SHA256)
		}
	}
	return patch.ResultOf(&e), nil
}

func instead(ref *events.Ref, why string) json.RawMessage {
	return events.Quote(fmt.Sprintf("[The result has %d bytes and is %s. It begins:]\n%s", ref.Size, why, ref.Preview))
}
