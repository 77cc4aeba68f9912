package bench

import (
	"fmt"
	"testing"
	"time"

	"streamer/internal/events"
	"streamer/internal/inputs"
	"streamer/internal/session"
)

// TestCallInputs checks that the inputs of a call start it, complete it with
// valid args, and close it.
func TestCallInputs(t *testing.T) {
	var state session.State
	var list []events.Event
	seq := uint64(0)
	for n := range 3 {
		for i := range 5 {
			kind, body := callInput("s", n, i, 5)
			seq++
			list = session.Fold(list, &state, session.Input{Input: inputs.Input{Seq: seq, At: time.Unix(0, 0), Token: "s", Kind: kind, Data: []byte(body)}})
			if want := map[bool]inputs.Kind{false: inputs.Delta, true: inputs.Result}[i == 4]; kind != want {
				t.Errorf("input %d: got kind %s, want %s", i, kind, want)
			}
		}
	}
	got := map[events.Type]int{}
	for _, e := range list {
		got[e.Type]++
		if e.Type == events.ToolCallArgsComplete && !*e.ArgsValid {
			t.Errorf("call %s: invalid args %s", e.Call, *e.ArgsText)
		}
	}
	for _, typ := range []events.Type{events.ToolCallStart, events.ToolCallArgsComplete, events.ToolCallResult} {
		if got[typ] != 3 {
			t.Errorf("%s: got %d events, want 3", typ, got[typ])
		}
	}
}

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		of   []float64
		want float64
	}{{[]float64{3}, 3}, {[]float64{5, 1, 2}, 2}, {[]float64{4, 1, 9, 2}, 3}} {
		t.Run(fmt.Sprint(c.want), func(t *testing.T) {
			if got := Median(c.of, func(v float64) float64 { return v }); got != c.want {
				t.Errorf("%v: got %v, want %v", c.of, got, c.want)
			}
		})
	}
}
