package gateway

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"streamer/internal/gateway/langgraph"
	"streamer/internal/inputs"
)

const threadPath = "/v1/langgraph/threads/s"

// sseFrames reads the frames of a stream.
type sseFrames struct {
	t testing.TB
	r *bufio.Reader
}

// next returns the next frame without comments, or the error of reading.
func (f sseFrames) next() (id, event, data string) {
	f.t.Helper()
	for {
		line, err := f.r.ReadString('\n')
		if err != nil {
			return "", err.Error(), ""
		}
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case name == "id":
			id = value
		case name == "event":
			event = value
		case name == "data":
			data = value
		case line == "\n" && event != "":
			return id, event, data
		}
	}
}

// until reads frames up to an event and returns the ids and all data.
func (f sseFrames) until(event string) (ids []string, data string) {
	f.t.Helper()
	for {
		id, name, d := f.next()
		if id != "" {
			ids = append(ids, id)
		}
		data += d + "\n"
		if name == event {
			return ids, data
		}
		if name == "EOF" {
			f.t.Fatalf("the stream ends before %s: %s", event, data)
		}
	}
}

func openFrames(t testing.TB, method, url, body string, headers ...string) (sseFrames, *http.Response) {
	t.Helper()
	resp := start(t, method, url, body, headers...)
	if resp.StatusCode != 200 {
		b, _ := io.ReadAll(resp.Body)
		t.Fatalf("%s: got %d %s", url, resp.StatusCode, b)
	}
	return sseFrames{t, bufio.NewReader(resp.Body)}, resp
}

// TestJoinRun checks that a client gets a run from its start to its end, and the rest
// of it after any of its frames.
func TestJoinRun(t *testing.T) {
	store := newMemory()
	f := &folded{t: t, store: store}
	f.message("m0", "before", "")
	f.message("m1", "Look:", oneCall)
	url := serve(t, Options{}, store) + threadPath
	live, resp := openFrames(t, "GET", url+"/runs/4.0/stream?cancel_on_disconnect=0", "")
	for name, want := range map[string]string{
		"Location": "/threads/s/runs/4.0/stream", "Content-Location": "/threads/s/runs/4.0", "Content-Type": "text/event-stream",
	} {
		t.Run(name, func(t *testing.T) {
			if got := resp.Header.Get(name); got != want {
				t.Errorf("header %s: got %q, want %q", name, got, want)
			}
		})
	}
	if _, event, data := live.next(); event != "metadata" || data != `{"run_id":"4.0","thread_id":"s"}` {
		t.Errorf("got %s %s, want metadata", event, data)
	}
	f.add(inputs.Result, `{"tool_call_id":"call_a","content":"42"}`)
	f.message("m2", "done", "")
	ids, all := live.until("end")
	if strings.Contains(all, "before") || strings.Count(all, `"Look:"`) != 1 || strings.Count(all, `"type":"tool","id":"result-4.0","content":"42"`) != 1 || !strings.Contains(all, `"done"`) {
		t.Errorf("got %s", all)
	}
	if _, event, _ := live.next(); event != "EOF" {
		t.Errorf("after the end: got %s, want the end of the body", event)
	}
	for i, id := range ids {
		rest, _ := openFrames(t, "GET", url+"/runs/4.0/stream", "", "Last-Event-ID: "+id)
		// Frames of the history can be joined, but the last is the same.
		got, data := rest.until("end")
		if i < len(ids)-1 && got[len(got)-1] != ids[len(ids)-1] || i == len(ids)-1 && len(got) != 0 {
			t.Errorf("after %s: got %v, want the end of %v", id, got, ids)
		}
		if strings.HasPrefix(data, `{"run_id"`) {
			t.Errorf("after %s: got %s", id, data)
		}
	}
}

// TestRefusedRuns checks the answers to requests for what is not there.
func TestRefusedRuns(t *testing.T) {
	store := newMemory()
	(&folded{t: t, store: store}).message("m1", "one", "")
	url := serve(t, Options{}, store) + threadPath
	for _, c := range []struct {
		method, path, body string
		status             int
		want               string
	}{
		{"GET", "/runs/9.0/stream", "", 404, "no run"},
		{"GET", "/runs/9.0", "", 404, "no run"},
		{"GET", "/runs/1.0/stream?last_event_id=900", "", 400, "another log"},
		{"GET", "/runs/1.0/stream?last_event_id=x", "", 400, "not the id"},
		{"POST", "/runs/1.0/cancel?action=rollback", "", 400, "only interrupt"},
		{"POST", "/stream/events", "", 400, "not a filter"},
		{"POST", "/stream/events", `{"channels":[]}`, 400, "channels is empty"},
		{"POST", "/stream/events", `{"channels":["messages"],"since":-1}`, 400, "not a filter"},
		{"POST", "/stream/events", `{"channels":["messages"],"since":900}`, 400, "another log"},
		{"POST", "/stream/events", `{"channels":["` + strings.Repeat("x", langgraph.MaxFilter) + `"]}`, 413, "more than"},
		{"POST", "/stream/events", `{"channels":["m"` + strings.Repeat(`,"m"`, langgraph.MaxPrefixes) + `]}`, 400, "more than"},
		{"GET", "/runs?limit=x", "", 400, "limit"},
		{"PUT", "/state", "", 405, "not allowed"},
	} {
		t.Run(c.method+" "+c.path+" "+c.body, func(t *testing.T) {
			if resp, body := do(t, c.method, url+c.path, c.body); resp.StatusCode != c.status || !strings.Contains(body, c.want) {
				t.Errorf("%s %s: got %d %s, want %d with %q", c.method, c.path, resp.StatusCode, body, c.status, c.want)
			}
		})
	}
}

// TestThread checks what clients read beside the streams.
func TestThread(t *testing.T) {
	store := newMemory()
	f := &folded{t: t, store: store}
	url := serve(t, Options{}, store) + threadPath
	status := func(want string) {
		t.Helper()
		_, body := do(t, "GET", url, "")
		var got struct{ Status string }
		if json.Unmarshal([]byte(body), &got) != nil || got.Status != want {
			t.Errorf("got %s, want status %s", body, want)
		}
	}
	status("idle")
	f.message("m1", "one", oneCall)
	status("busy")
	if _, body := do(t, "GET", url+"/runs/1.0", ""); !strings.Contains(body, `"status":"running"`) {
		t.Errorf("run: got %s", body)
	}
	f.add(inputs.End, `{"reason":"error"}`)
	status("error")
	f.message("m2", "two", "")
	status("idle")
	_, body := do(t, "GET", url+"/runs?limit=5", "")
	var runs []struct{ Status string }
	if json.Unmarshal([]byte(body), &runs) != nil || len(runs) != 2 || runs[0].Status != "success" || runs[1].Status != "error" {
		t.Errorf("runs: got %s, want the newest first", body)
	}
	for _, c := range []struct{ method, path string }{{"GET", "/state"}, {"POST", "/history"}} {
		t.Run(c.method+" "+c.path, func(t *testing.T) {
			if resp, body := do(t, c.method, url+c.path, "{}"); resp.StatusCode != 200 || !strings.Contains(body, `"checkpoint_ns"`) {
				t.Errorf("%s: got %d %s", c.path, resp.StatusCode, body)
			}
		})
	}
}

// TestThreadWaits: a thread is interrupted only while a call of its last run waits.
func TestThreadWaits(t *testing.T) {
	f := asking(t)
	url := serve(t, Options{}, f.store) + threadPath
	for _, c := range []struct{ call, decision, status string }{
		{"", "", "interrupted"}, {"c1", "approve", "interrupted"}, {"c2", "deny", "interrupted"}, {"c3", "deny", "idle"},
	} {
		if c.call != "" {
			f.add(inputs.Answer, `{"tool_call_id":"`+c.call+`","decision":"`+c.decision+`"}`)
		}
		if _, body := do(t, "GET", url, ""); !strings.Contains(body, `"status":"`+c.status+`"`) {
			t.Errorf("after %s of %s: got %s, want status %s", c.decision, c.call, body, c.status)
		}
	}
}

// TestCancelRun checks that a cancel is stored as an interrupt of its run.
func TestCancelRun(t *testing.T) {
	store := newMemory()
	url := serve(t, Options{}, store) + threadPath
	if resp, body := do(t, "POST", url+"/runs/r%221/cancel?wait=0&action=interrupt", ""); resp.StatusCode != 204 {
		t.Fatalf("got %d %s, want 204", resp.StatusCode, body)
	}
	if n := len(store.inputs); n != 1 || store.inputs[0].data != `{"reason":"user","run":"r\"1"}` || store.inputs[0].kind != inputs.Interrupt {
		t.Errorf("got %+v, want one interrupt of the run", store.inputs)
	}
}

// TestThreadEvents checks that a thread stream has all runs, ends with none of them,
// shows the terminal of the last run of the history only, and keeps to its filter.
func TestThreadEvents(t *testing.T) {
	store := newMemory()
	f := &folded{t: t, store: store}
	f.message("m1", "one", "")
	f.message("m2", "two", "")
	url := serve(t, Options{}, store) + threadPath + "/stream/events"
	all, _ := openFrames(t, "POST", url, `{"channels":["messages","lifecycle","tools","input"]}`)
	for {
		_, event, data := all.next()
		if event == "lifecycle" && strings.Contains(data, `"completed"`) {
			if !strings.Contains(data, `"run_id":"4.0"`) {
				t.Errorf("got the terminal of an earlier run: %s", data)
			}
			break
		}
	}
	f.message("m3", "three", "")
	if _, data := all.until("lifecycle"); !strings.Contains(data, `"running"`) {
		t.Errorf("got %s, want the start of the next run", data)
	}
	if _, data := all.until("lifecycle"); !strings.Contains(data, `"three"`) || !strings.Contains(data, `"completed"`) {
		t.Errorf("got %s, want the next run", data)
	}
	some, _ := openFrames(t, "POST", url, `{"channels":["lifecycle"],"since":5}`)
	if _, event, _ := some.next(); event != "lifecycle" {
		t.Errorf("got %s, which the filter does not select", event)
	}
}
