package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"streamer/internal/bench"
	"streamer/internal/events"
	"streamer/internal/lifecycle"
)

func TestUses(t *testing.T) {
	for _, c := range []struct {
		rows []string
		want string
	}{
		{nil, "paced-20 paced-50 paced-100 paced-300 backlog-20 backlog-50 backlog-100 backlog-300 off-20 off-50 off-100 off-300 once-20 returning-20 forgotten-20"},
		{[]string{"backlog-50", "once"}, "backlog-50 once-20"},
		{[]string{"none"}, ""},
	} {
		var got []string
		for _, u := range (&options{Rows: c.rows}).uses() {
			got = append(got, u.String())
		}
		if got := strings.Join(got, " "); got != c.want {
			t.Errorf("rows %q:\ngot  %s\nwant %s", c.rows, got, c.want)
		}
	}
}

// TestLimit checks that the minimal client stores the events that the worker
// stored: the same ids, types, calls and bytes for each session.
func TestLimit(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute) // each row starts a server and a worker
	defer cancel()
	o := &options{Sessions: 8, Returning: portions, LogSize: 1, RowInputs: 1, Rounds: 1}
	for _, u := range []usage{onceUsage, returningUsage, forgottenUsage} {
		err := o.onRig(ctx, func(ctx context.Context, r *rig) error {
			row, err := r.row(ctx, u)
			if err != nil {
				return err
			}
			if row.Path.Inputs <= 0 || row.Limit.Inputs <= 0 || row.PerInput <= 0 || row.Path.CPU <= 0 || row.Limit.CPU <= 0 {
				t.Errorf("%s: got %+v, want rates and costs", u, row)
			}
			path, limit := r.storedEvents(t, 1), r.storedEvents(t, 2)
			if path == "" || path != limit {
				t.Errorf("%s: the path stored\n%s\nthe limit stored\n%s", u, path, limit)
			}
			return nil
		})
		if err != nil {
			t.Fatalf("%s: %v", u, err)
		}
	}
}

// storedEvents returns the events of the sessions with the n-th prefix, except for those
// that follow the last input.
func (r *rig) storedEvents(t *testing.T, n int) string {
	t.Helper()
	prefix := fmt.Sprintf("bench-%s-%03d-", r.Nonce, n)
	sessions := map[string]*strings.Builder{}
	err := r.Broker.Events(t.Context(), "", 0, func(e events.Record) error {
		late := e.Type == events.MessageFinished || e.Type == events.RunFinished // can follow from clock inputs
		if rest, ok := strings.CutPrefix(e.Token, prefix); ok && !late {
			if sessions[rest] == nil {
				sessions[rest] = new(strings.Builder)
			}
			line := e.ID.String() + " " + string(e.Type) + " " + e.Call + " " + strings.ReplaceAll(string(e.Data), prefix, "") + "\n"
			sessions[rest].WriteString(line)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for i := range portions {
		for _, name := range []string{strconv.Itoa(i), portionOf(i) + "0"} {
			if s := sessions[name]; s != nil {
				all.WriteString(name + "\n" + s.String())
			}
		}
	}
	return all.String()
}

func portionOf(i int) string { _, suffix := portion(bench.Plan{}, i); return suffix }

func TestMedianRow(t *testing.T) {
	of := func(v float64) row {
		return row{Name: "a", Deltas: lifecycle.Off, Path: bench.Throughput{Inputs: v}, Ratio: v / 10}
	}
	got := medianRow([]row{of(5), of(1), of(2)})
	if got.Path.Inputs != 2 || got.Ratio != 0.2 || got.Name != "a" || got.Deltas != lifecycle.Off {
		t.Errorf("got %+v, want 2 inputs/s and a ratio of 0.2", got)
	}
}
