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
func read(ctx context.Context, log Log, token string) ([]patch.Outcome, error) {
	var known patch.Outcomes
	err := log.Events(ctx, token, 0, func(r events.Record) error {
		switch r.Type {
		case events.ToolCallStart, events.ToolCallArgsDelta, events.ToolCallArgsComplete, events.ToolCallAnswered,
			events.ToolCallResult, events.ToolCallLateResult, events.OrphanResult:
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

// maxFetched bounds the total size of the results and args that are fetched for a
// repair, in bytes.
const maxFetched = 64 << 20

// fetch reads what the events of wanted refer to, at most free bytes, and stores it in
// known. It returns how many bytes are left.
func fetch(ctx context.Context, log Log, token string, known []patch.Outcome, wanted []uint64, free int) (int, error) {
	got := make(map[uint64]json.RawMessage, len(wanted))
	for _, seq := range wanted {
		if _, ok := got[seq]; ok {
			continue
		}
		content, err := value(ctx, log, token, seq, free)
		if err != nil {
			return free, fmt.Errorf("repair: the result or the args in event %d of session %s: %w", seq, token, err)
		}
		got[seq] = content
		free -= len(content)
	}
	for i := range known {
		o := &known[i]
		if content, ok := got[o.At]; ok && o.Content == nil {
			o.Content = content
		}
		if args, ok := got[o.ArgsAt]; ok {
			o.SetArgs(args)
		}
	}
	return free, nil
}

// value reads the result or the args in an event. Of a result that is not stored any more,
// or larger than free bytes, it returns a text that states this, and nil of such args.
func value(ctx context.Context, log Log, token string, seq uint64, free int) (json.RawMessage, error) {
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
	switch {
	case e.ArgsRef != nil:
		args, _, err := blob(ctx, log, e.ArgsRef, free)
		return args, err
	case e.ToolResultRef != nil:
		content, why, err := blob(ctx, log, e.ToolResultRef, free)
		switch {
		case err != nil:
			return nil, err
		case why != "":
			return instead(e.ToolResultRef, why), nil
		case !json.Valid(content):
			return nil, fmt.Errorf("blob %.64q is not JSON", e.ToolResultRef.SHA256)
		}
		e.ToolResult = content
	}
	return patch.ResultOf(&e), nil
}

// blob reads a large value, nil and why if there is none of at most free bytes.
func blob(ctx context.Context, log Log, ref *events.Ref, free int) (content []byte, why string, err error) {
	if ref.Size > free {
		return nil, "too large to stand here", nil
	}
	content, err = log.Blob(ctx, *ref)
	if errors.Is(err, events.ErrNotFound) {
		return nil, "not stored any more", nil
	}
	return content, "", err
}

func instead(ref *events.Ref, why string) json.RawMessage {
	return events.Quote(fmt.Sprintf("[The result has %d bytes and is %s. It begins:]\n%s", ref.Size, why, ref.Preview))
}
