package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"streamer/internal/encode"
	"streamer/internal/events"
)

// inline returns an event with its large value in place of the reference, for
// protocols that have no references. A value that is no longer stored is replaced
// by its beginning and a note. The event passed to it is not changed.
func (g *Gateway) inline(ctx context.Context, stored *events.Event) (*events.Event, error) {
	if stored.ArgsRef == nil && stored.ToolResultRef == nil {
		return stored, nil
	}
	e := *stored
	if e.ArgsRef != nil {
		value, err := g.value(ctx, *e.ArgsRef)
		if err != nil {
			return nil, err
		}
		inlineArgs(&e, string(value))
	}
	if e.ToolResultRef != nil {
		value, err := g.value(ctx, *e.ToolResultRef)
		if err != nil {
			return nil, err
		}
		if e.ToolResult, e.ToolResultRef = value, nil; !json.Valid(value) {
			e.ToolResult = events.Quote(string(value))
		}
	}
	return &e, nil
}

// refMark is in each body with a reference to a large value. A body that has it otherwise
// only takes longer.
var refMark = []byte(`_ref":`)

// whole returns an event with its large value in its body, in place of the reference.
func (g *Gateway) whole(ctx context.Context, r events.Record) (events.Record, error) {
	if r.Type == events.Synthetic || !bytes.Contains(r.Data, refMark) {
		return r, nil
	}
	stored := encode.Parse(r)
	e, err := g.inline(ctx, stored)
	if err != nil || e == stored {
		return r, err
	}
	r.Data, err = e.Body()
	return r, err
}

// value reads a large value with the timeout of a request to the store.
func (g *Gateway) value(ctx context.Context, ref events.Ref) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, g.opts.StoreTimeout)
	defer cancel()
	value, err := g.store.Blob(ctx, ref)
	if errors.Is(err, events.ErrNotFound) {
		return fmt.Appendf(nil, "%s… (%d bytes, no longer stored)", ref.Preview, ref.Size), nil
	}
	if err != nil {
		return nil, fmt.Errorf("gateway: value of %d bytes: %w", ref.Size, err)
	}
	return value, nil
}

// inlineArgs sets the args of an event: their text and, if they are valid, their
// JSON. Text that is not JSON has none.
func inlineArgs(e *events.Event, text string) {
	e.ArgsText, e.ArgsRef = &text, nil
	if e.ArgsValid == nil || !*e.ArgsValid {
		return
	}
	object := text
	if e.DoubleEncoded && json.Unmarshal([]byte(text), &object) != nil {
		return
	}
	if json.Valid([]byte(object)) {
		e.ToolArgs = json.RawMessage(object)
	}
}
