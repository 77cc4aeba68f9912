package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"

	"streamer/internal/events"
)

// TestInterruptResult: the wait ends with the event that answers the interrupt, or with one of a
// later input.
func TestInterruptResult(t *testing.T) {
	const result, answer = `{"type":"tool_call_result","call":"2.0","id":"a"}`, `{"type":"interrupted","closed":1,"input":7}`
	for _, c := range []struct {
		name     string
		events   []string // of input 7
		then     uint64   // input of a further event
		complete bool
		closed   int
		missing  []string
	}{
		{"a call and the answer", []string{result, answer}, 0, true, 1, []string{"b"}},
		{"the answer alone", []string{answer}, 0, true, 0, []string{"a", "b"}},
		{"a result is not the last", []string{result}, 0, false, 1, []string{"b"}},
		{"a call is not open", []string{result, `{"type":"unmatched","input":7}`}, 0, false, 1, []string{"b"}},
		{"the run ends", []string{result, `{"type":"run_finished","run":"1.0"}`}, 0, false, 1, []string{"b"}},
		{"a rejected interrupt", []string{`{"type":"rejected","reason":{"code":"bad_shape","text":"x"},"input":7}`}, 0, true, 0, []string{"a", "b"}},
		{"a later input", []string{result}, 9, true, 1, []string{"b"}},
		{"an earlier input", nil, 6, false, 0, []string{"a", "b"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := InterruptResult{seq: 7, calls: []string{"a", "b"}}
			var err error
			for i, data := range c.events {
				var e events.Event
				if err := json.Unmarshal([]byte(data), &e); err != nil {
					t.Fatal(err)
				}
				err = o.take(&events.Record{Seq: uint64(10 + i), ID: events.ID{Seq: 7, N: i}, Type: e.Type, Data: []byte(data)})
			}
			if c.then != 0 {
				err = o.take(&events.Record{Seq: 20, ID: events.ID{Seq: c.then}, Type: events.RunStarted, Data: []byte("{}")})
			}
			if errors.Is(err, errComplete) != c.complete || len(o.closed) != c.closed || !slices.Equal(o.Missing(), c.missing) {
				t.Errorf("%s: got %v, %d closed, missing %v; want complete %t, %d, %v", c.name, err, len(o.closed), o.Missing(), c.complete, c.closed, c.missing)
			}
		})
	}
}

// TestTrackingNamesLines: a rejection counts for the line that the event names, once, also
// if later inputs were read before.
func TestTrackingNamesLines(t *testing.T) {
	w := Tracking{}
	for line := 1; line <= 3; line++ {
		w.Stored(uint64(10+line), line)
	}
	w.end(20)
	for i, input := range []uint64{12, 11, 13, 13, 99} {
		e := events.Record{Seq: uint64(1 + i), ID: events.ID{Seq: 20, N: i}, Type: events.Rejected}
		e.Data = fmt.Appendf(nil, `{"type":"rejected","offset":0,"reason":{"code":"bad_json","text":"fault %d"},"input":%d}`, input, input)
		if err := w.take(e, true); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 3 * maxRecent {
		w.Stored(uint64(100+i), 4+i)
	}
	if err := w.take(events.Record{Seq: 9, ID: events.ID{Seq: 100 + 3*maxRecent}, Type: events.RunStarted}, true); err != nil {
		t.Fatal(err)
	}
	if _, known := w.find(100 + 2*maxRecent); !known || len(w.recent) != maxRecent {
		t.Errorf("got %d recent inputs, want the last %d", len(w.recent), maxRecent)
	}
	var lines []int
	for _, r := range w.rejections.Reasons {
		lines = append(lines, r.Line)
	}
	if w.rejected != 3 || w.inputs != 3+3*maxRecent || !slices.Equal(lines, []int{1, 2, 3}) {
		t.Errorf("got %d of %d inputs rejected, lines %v; want 3, lines 1 to 3", w.rejected, w.inputs, lines)
	}
}
