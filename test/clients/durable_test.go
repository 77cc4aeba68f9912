package clients

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"testing"

	"streamer/internal/events"
)

// ways are the ways in which a client of Durable Streams reads new events: "all" reads the
// stored ones too as Server-Sent Events.
func ways() []string { return []string{"sse", "long-poll", "all"} }

// startDurable starts a client that reads in one of the ways, for each number of frames
// after which its connection is cut off.
func (f *fixture) startDurable(t *testing.T, session, way string, runs int, after ...int) (list []watcher) {
	t.Helper()
	for _, n := range after {
		base, name := f.proxy.url(n)
		list = append(list, watcher{nil, f.processes["durable.mjs"].start(t, job{
			Kind: "durable", URL: base + "/v1/durable-streams/" + url.PathEscape(session), Session: session, Runs: runs, Live: way,
		}), name})
	}
	return list
}

// testDurable checks that clients get a session that has ended, with one connection and
// with others that are cut off.
func (f *fixture) testDurable(t *testing.T, s *session, runs int) {
	t.Helper()
	for _, way := range ways() {
		whole := f.startDurable(t, s.name, way, runs, 0)[0]
		checkDurable(t, s.log, whole)
		frames := f.proxy.framesOf(whole.name)
		for some := range slices.Chunk(cutsOf(frames, len(s.log.records)), 20) {
			for _, w := range f.startDurable(t, s.name, way, runs, some...) {
				checkDurable(t, s.log, w)
				if !f.proxy.wasCut(w.name) {
					t.Errorf("%s (%s): no connection was cut off", w.URL, way)
				}
			}
		}
	}
}

// checkDurable checks that a client of Durable Streams gets the log.
func checkDurable(t *testing.T, l *sessionLog, r watcher) {
	t.Helper()
	var got shown
	if !unmarshal(t, r.state(t), &got) {
		return
	}
	last, _, _ := strings.Cut(l.records[len(l.records)-1].line, " ")
	if tail := strings.Repeat("0", 20-len(last)) + last; got.Tail < tail { // events can follow the end of the last run
		t.Errorf("%s: the end is %s, want %s", r.URL, got.Tail, tail)
	}
	if !strings.Contains(got.Refused, "events are only read") {
		t.Errorf("%s: a client that writes gets %s", r.URL, got.Refused)
	}
	for name, list := range map[string][]json.RawMessage{"live": got.Durable, "stored": got.Stored} {
		if len(list) < len(l.records) {
			t.Errorf("%s (%s) reads %d %s events, want %d", r.URL, r.Live, len(list), name, len(l.records))
			return
		}
		for i, message := range list[:len(l.records)] {
			if want := durableMessage(t, &l.records[i], message); !sameJSON(message, want) {
				t.Errorf("%s (%s): %s event %d is\n%s\nwant\n%s", r.URL, r.Live, name, i, message, want)
				return
			}
		}
	}
}

// durableMessage returns the message of an event, whose large value is that which the
// client got.
func durableMessage(t *testing.T, r *record, got json.RawMessage) json.RawMessage {
	t.Helper()
	_, rest, _ := strings.Cut(r.line, " ")
	typ, body, _ := strings.Cut(rest, " ")
	if events.Type(typ) != events.Synthetic && !strings.Contains(body, `_ref":`) {
		return json.RawMessage(body)
	}
	var message map[string]json.RawMessage
	if err := json.Unmarshal(got, &message); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(body, `_ref":`) {
		return got
	}
	message["message"], message["type"] = json.RawMessage(body), json.RawMessage(`"synthetic"`)
	all, err := json.Marshal(message)
	if err != nil {
		t.Fatal(err)
	}
	return all
}
