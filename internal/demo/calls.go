package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"streamer/internal/client"
	"streamer/internal/events"
)

// callLog is the state of a session's calls according to its event log.
type callLog struct {
	expected int    // number of calls of the session
	seq      uint64 // of the last event read
	calls    []call
}

// call is one call. Its status is not terminal while it is open.
type call struct {
	call, tool string
	status     events.Status
}

func (l *callLog) read(ctx context.Context, b *client.Broker, name string) error {
	token, err := events.Token(name)
	if err != nil {
		return err
	}
	return b.Events(ctx, token, l.seq, func(stored events.Record) error {
		l.seq = stored.Seq
		if stored.Type != events.ToolCallStart && stored.Type != events.ToolCallResult {
			return nil
		}
		var e events.Event
		if err := json.Unmarshal(stored.Data, &e); err != nil {
			return fmt.Errorf("session %s: event %d: %w", name, stored.Seq, err)
		}
		i := slices.IndexFunc(l.calls, func(c call) bool { return c.call == e.Call })
		if i < 0 {
			i, l.calls = len(l.calls), append(l.calls, call{call: e.Call, tool: e.ToolName})
		}
		l.calls[i].status = e.Status
		return nil
	})
}

// open returns a text for each call that is open, and one for calls that have not
// begun.
func (l *callLog) open() []string {
	var open []string
	for _, c := range l.calls {
		if !c.status.Terminal() {
			open = append(open, "call "+c.call+" of "+c.tool)
		}
	}
	if missing := l.expected - len(l.calls); missing > 0 {
		open = append(open, fmt.Sprintf("%d calls have not begun", missing))
	}
	return open
}
