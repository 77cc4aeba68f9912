package clients

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"streamer/internal/events"
)

// record is an event with the form in which an EventSource gets it.
type record struct {
	events.Event
	line string // "<sequence> <type> <data>"
}

// sessionLog is the event log of a session as far as it was read.
type sessionLog struct {
	t       *testing.T
	next    chan record
	records []record
}

// follow reads the events of a session until the end of the test.
func follow(t *testing.T, server, session string, header http.Header) *sessionLog {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	timer := time.AfterFunc(within, cancel) // until the stream is open
	defer timer.Stop()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, server+"/v1/sessions/"+url.PathEscape(session)+"/events", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header = header.Clone()
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("events of %s: %s", session, resp.Status)
	}
	if resp.Close {
		t.Error("the answer has Connection: close, so that fetch in node takes a lost connection for the end")
	}
	l := &sessionLog{t: t, next: make(chan record, 1000)}
	go func() {
		defer resp.Body.Close()
		defer close(l.next)
		readEvents(bufio.NewScanner(resp.Body), l.next)
	}()
	return l
}

// readEvents reads the events of a native stream.
func readEvents(lines *bufio.Scanner, to chan<- record) {
	lines.Buffer(nil, 1<<20)
	id, kind := "", ""
	for lines.Scan() {
		switch name, value, _ := strings.Cut(lines.Text(), ": "); name {
		case "":
			id, kind = "", ""
		case "id":
			id = value
		case "event":
			kind = value
		case "data":
			if id == "" {
				continue // a frame about the stream
			}
			r := record{line: id + " " + kind + " " + value}
			// A synthetic message has other fields.
			if kind == string(events.Synthetic) || json.Unmarshal([]byte(value), &r.Event) != nil {
				r.Event = events.Event{Type: events.Type(kind)}
			}
			to <- r
		}
	}
}

// await reads events until one is found.
func (l *sessionLog) await(what string, found func(*events.Event) bool) {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(l.t.Context(), within)
	defer cancel()
	for {
		select {
		case r, ok := <-l.next:
			if !ok {
				l.t.Fatalf("the log ends before %s", what)
			}
			l.records = append(l.records, r)
			if r.Type == events.Rejected || r.Type == events.Unmatched || r.Type == events.OrphanResult {
				l.t.Errorf("an input of the script is not used: %s", r.line)
			}
			if found(&r.Event) {
				return
			}
		case <-ctx.Done():
			l.t.Fatalf("waiting for %s:\n%s", what, l)
		}
	}
}

// String returns the lines of the log.
func (l *sessionLog) String() string {
	var b strings.Builder
	for _, r := range l.records {
		b.WriteString(r.line + "\n")
	}
	return b.String()
}

// run is a run in the log.
type run struct {
	after, to int // the records after the run before, and of its end
	end       events.Event
}

// runs returns the runs that have ended, in order.
func (l *sessionLog) runs() (list []run) {
	after := 0
	for i, r := range l.records {
		if r.Type == events.RunFinished {
			list = append(list, run{after, i, r.Event})
			after = i + 1
		}
	}
	return list
}

// turn returns the runs of the last turn: a run continues the run before it if a call
// that this left open was answered, or if all of them wait for a person.
func (l *sessionLog) turn() []run {
	runs := l.runs()
	from := len(runs) - 1
	for ; from > 0; from-- {
		end := runs[from-1].end
		closed, answered := 0, false
		for _, r := range l.records {
			if r.Type == events.ToolCallResult && slices.Contains(end.Pending, r.Call) {
				closed++
				answered = answered || !r.Synthetic || r.Status == events.Denied
			}
		}
		if !answered && (len(end.Pending) == 0 || end.Status != events.Interrupted || closed > 0) {
			break
		}
	}
	return runs[from:]
}

// inTime returns a context for one request.
func inTime(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}
