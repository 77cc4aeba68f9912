package worker

import (
	"encoding/json"
	"testing"
	"time"

	"streamer/internal/events"
	"streamer/internal/session"
	"streamer/internal/snapshot"
)

// TestTimersFollowRules checks that timers which were set under rules that allow
// more silence are moved when other rules come into force, whether the session is
// known from memory or from a listing.
func TestTimersFollowRules(t *testing.T) {
	old, short := session.DefaultRules(), session.DefaultRules()
	short.RunIdle = 2_000
	data, err := json.Marshal(&short)
	if err != nil {
		t.Fatal(err)
	}
	var rules session.RulesLog
	if err := rules.Begin(data); err != nil {
		t.Fatal(err)
	}
	const now, silence = events.Time(1_000_000), events.Time(2_000)
	c := clock{timers: newTimers(), rules: &rules, began: now.Std()}
	c.set("later", now+events.Time(old.RunIdle))
	c.set("soon", now+1)
	c.rulesChanged(&old, now, now.Std())
	c.scheduleStored(&listedSession{"listed", snapshot.Header{Timer: now + events.Time(old.RunIdle), At: now.Std(), Time: now}}, now.Std())
	c.scheduleStored(&listedSession{"call", snapshot.Header{Timer: now + events.Time(time.Hour.Milliseconds()), At: now.Std(), Time: now, Open: 1}}, now.Std())
	for token, want := range map[string]events.Time{"later": now + silence, "soon": now + 1, "listed": now + silence, "call": now + events.Time(time.Hour.Milliseconds())} {
		if got := c.at[token]; got != want {
			t.Errorf("%s: got a timer at %d, want %d", token, got, want)
		}
	}
	c.rulesChanged(&short, now, now.Std()) // nothing changed
	if got := c.at["later"]; got != now+silence {
		t.Errorf("the same rules: got a timer at %d, want %d", got, now+silence)
	}
}
