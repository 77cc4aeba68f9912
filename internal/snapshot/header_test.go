package snapshot

import (
	"fmt"
	"maps"
	"reflect"
	"testing"
	"time"

	"streamer/internal/broker"
	"streamer/internal/events"
)

// TestHeader checks that headers are read as they were written, and their stored
// form, which others read too.
func TestHeader(t *testing.T) {
	at := time.Unix(1_772_000_000, 5).UTC()
	for _, c := range []struct {
		name   string
		header Header
		want   map[string]string
	}{
		{"of a new session", Header{}, map[string]string{"Input": "0", "Head": "0.0", "HeadSeq": "0"}},
		{
			"all",
			Header{Input: 7, At: at, Head: events.ID{Seq: 7, N: 1}, HeadSeq: 9, Open: 2, Timer: 20, Time: 10},
			map[string]string{
				"Input": "7", "At": "1772000000000000005", "Head": "7.1", "HeadSeq": "9", "Open": "2", "Timer": "20", "Time": "10",
			},
		},
		{"held", Header{Held: "why"}, map[string]string{"Held": "why"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := map[string]string{}
			for key, value := range c.want {
				want[broker.SnapshotHeader+key] = value
			}
			stored := c.header.Map()
			if !maps.Equal(stored, want) {
				t.Errorf("got %q, want %q", stored, want)
			}
			if got := ParseHeader(stored); !reflect.DeepEqual(got, c.header) {
				t.Errorf("got %+v, want %+v", got, c.header)
			}
		})
	}
	unreadable := map[string]string{}
	for key := range (&Header{Input: 1, At: at, Open: 1, Timer: 1, Time: 1}).Map() {
		unreadable[key] = "?"
	}
	if got := ParseHeader(unreadable); !reflect.DeepEqual(got, Header{}) {
		t.Errorf("headers that cannot be read: got %+v, want none", got)
	}
}

// TestHasEvents checks what a listing of sessions shows.
func TestHasEvents(t *testing.T) {
	for _, c := range []struct {
		header Header
		want   bool
	}{
		{Header{Input: 3}, false},
		{Header{Input: 3, Head: events.ID{Seq: 3}}, true},
		{Header{Held: "why"}, true},
	} {
		t.Run(fmt.Sprint(c.header), func(t *testing.T) {
			if got := c.header.HasEvents(); got != c.want {
				t.Errorf("%+v: got %t, want %t", c.header, got, c.want)
			}
		})
	}
}
