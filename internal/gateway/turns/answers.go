package turns

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"slices"

	"streamer/internal/events"

	"github.com/tidwall/gjson"
)

// maxRead is the maximum number of events of one type that are read to find what is new.
const maxRead = 1000

// errMany ends the reading of more events than maxRead.
var errMany = errors.New("gateway: too many events")

// Answers are the questions of a session to people, and the answers that count.
type Answers struct {
	asked    []event
	answered map[string]event // the last of each call
}

// ReadAnswers reads the answers of a session. Of a session with very many questions it
// returns none, so that nothing is taken for answered.
func ReadAnswers(ctx context.Context, log Log, token string) (Answers, error) {
	a := Answers{answered: map[string]event{}}
	list, err := some(ctx, log, token, events.ToolCallAnswered, 0) // before the questions: a newer question waits
	if err == nil && len(list) > 0 {
		a.asked, err = some(ctx, log, token, events.ToolCallAwaiting, 0)
	}
	for _, e := range list {
		a.answered[e.Call] = e
	}
	if errors.Is(err, errMany) {
		return Answers{}, nil
	}
	return a, err
}

// First returns the answer that counts for the calls that an answer means, which is the
// body of an input. found is false where one of them waits, or ended without an answer.
func (a Answers) First(body []byte) (first events.Event, found bool) {
	in := gjson.ParseBytes(body)
	call, id, interrupt := in.Get("call").Str, in.Get("tool_call_id").Str, in.Get("interrupt_id").Str
	for i, q := range a.asked {
		named := q.Call == call || call == "" && (id == "" || q.ID == id || q.UID == id)
		if !named || interrupt != "" && q.InterruptID != interrupt {
			continue
		}
		if slices.ContainsFunc(a.asked[i+1:], func(later event) bool { return later.Call == q.Call }) {
			continue // the later question counts
		}
		e, ok := a.answered[q.Call]
		if !ok || e.seq < q.seq {
			return events.Event{}, false
		}
		if !found {
			first, found = e.Event, true
		}
	}
	return first, found
}

// Repeats reports whether an answer, the body of an input, decides what an earlier one did.
// The reasons of an approval and of a denial are no part of it.
func Repeats(body []byte, first events.Event) bool {
	in := gjson.ParseBytes(body)
	same := func(name string, value json.RawMessage) bool {
		return reflect.DeepEqual(in.Get(name).Value(), gjson.ParseBytes(value).Value())
	}
	return in.Get("decision").Str == first.Decision && same("args", first.ToolArgs) && (first.Decision != "reply" || same("value", first.Value))
}

// Results has the uids of the calls of a turn that have ended: true with a real result.
type Results map[string]bool

// ReadResults reads the results of the last turn of a session. Of one with very many
// results it returns none, so that each result is taken for new.
func ReadResults(ctx context.Context, log Log, token string) (Results, error) {
	last, found, err := Last(ctx, log, token, 0)
	if err != nil || !found {
		return nil, err
	}
	list := Results{}
	for _, typ := range []events.Type{events.ToolCallResult, events.ToolCallLateResult} {
		results, err := some(ctx, log, token, typ, last.From)
		if errors.Is(err, errMany) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		for _, e := range results {
			list[e.UID] = list[e.UID] || !e.Synthetic && e.ToolState == ""
		}
	}
	starts, err := some(ctx, log, token, events.ToolCallStart, last.From)
	for _, e := range starts {
		if e.UID != e.ID {
			delete(list, e.ID) // which several calls have
		}
	}
	if errors.Is(err, errMany) {
		return nil, nil
	}
	return list, err
}

// Has reports whether nothing is new in a result, which is the body of an input: its call
// has a real result, or has ended and this is an error, as clients show each end.
func (r Results) Has(body []byte) bool {
	real, ended := r[gjson.GetBytes(body, "tool_call_id").Str]
	return real || ended && gjson.GetBytes(body, "status").Str == "error"
}

// some returns the events of a type after a sequence, or errMany.
func some(ctx context.Context, log Log, token string, typ events.Type, after uint64) (list []event, err error) {
	err = log.EventsOf(ctx, token, typ, after, func(r events.Record) error {
		if len(list) == maxRead {
			return errMany
		}
		e, err := parse(r)
		list = append(list, e)
		return err
	})
	return list, err
}
