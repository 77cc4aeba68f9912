package chaos

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"streamer/internal/app"
	"streamer/internal/broker"
	"streamer/internal/worker"
)

// TestFullDisk: the disk of a process with the embedded server is full for a
// while, several times. Inputs are refused and /readyz names the reason; with
// room again the process works by itself, every input that was acknowledged is
// in the log once, and the events are those of the inputs.
func TestFullDisk(t *testing.T) {
	if testing.Short() {
		t.Skip("a process and its full disk take half a minute")
	}
	s := newSingle(t, 0)
	posts := s.post(t, 3)
	for range 2 {
		posts.await(t, http.StatusAccepted)
		undo := s.fill(t)
		s.awaitReady(t, http.StatusServiceUnavailable, "no space left on device")
		posts.await(t, http.StatusServiceUnavailable)
		if err := undo(); err != nil {
			t.Fatal(err)
		}
		s.awaitReady(t, http.StatusOK, "ready")
		posts.await(t, http.StatusAccepted)
	}
	acked := posts.end()
	undo := s.fill(t)
	s.awaitReady(t, http.StatusServiceUnavailable, "no space left on device") // though idle
	if err := undo(); err != nil {
		t.Fatal(err)
	}
	s.awaitReady(t, http.StatusOK, "ready")
	s.check(t, acked)
}

// TestStoreLimit: the streams of a process that began on a nearly full disk
// reach the limit it set then. It refuses inputs with the reason; with more room
// it takes them again by itself.
func TestStoreLimit(t *testing.T) {
	if testing.Short() {
		t.Skip("a process and its full disk take half a minute")
	}
	s := newSingle(t, 4<<20)
	posts := s.post(t, 3)
	posts.await(t, http.StatusAccepted)
	s.awaitReady(t, http.StatusServiceUnavailable, "limit of storage")
	if err := resize(s.dir, roomy); err != nil {
		t.Fatal(err)
	}
	s.awaitReady(t, http.StatusOK, "ready")
	posts.await(t, http.StatusAccepted)
	s.check(t, posts.end())
}

// single is one process with the embedded server on a small disk.
type single struct {
	dir, http string
	streamer  string // program
}

// newSingle mounts the disk, bounds it to so many bytes if not 0, and starts
// the process.
func newSingle(t *testing.T, bytes int64) *single {
	t.Helper()
	ports := freePorts(t, 2)
	s := &single{dir: filepath.Join(t.TempDir(), "disk"), http: ports[0]}
	if !smallDisk(t, s.dir) {
		t.Skip("no file system can be mounted here: this takes the rights of root")
	}
	if bytes > 0 {
		if err := resize(s.dir, bytes); err != nil {
			t.Fatal(err)
		}
	}
	s.streamer = build(t, "").streamer
	p := &process{t: t, name: "streamer", log: filepath.Join(logDir(t), "streamer.log"), args: func() []string {
		return []string{
			s.streamer, "serve", "--data-dir", s.data(), "--http-listen", s.http,
			"--nats-listen", ports[1], "--partitions", "2", "--log-format", "json",
		}
	}}
	p.start()
	t.Cleanup(func() {
		p.end(syscall.SIGTERM)
		if text, err := os.ReadFile(p.log); err == nil && t.Failed() {
			t.Logf("%s", text[max(0, len(text)-8000):])
		}
	})
	s.awaitReady(t, http.StatusOK, "ready")
	return s
}

func (s *single) data() string { return filepath.Join(s.dir, "data") }

func (s *single) fill(t *testing.T) (undo func() error) {
	t.Helper()
	undo, err := fillUp(s.dir)
	if err != nil {
		t.Fatal(err)
	}
	return undo
}

// awaitReady waits until /readyz answers with a status and a text.
func (s *single) awaitReady(t *testing.T, status int, text string) {
	t.Helper()
	var got int
	var body []byte
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(50 * time.Millisecond) { // between looks
		r, err := http.Get("http://" + s.http + "/readyz")
		if err != nil {
			continue
		}
		got = r.StatusCode
		body, _ = io.ReadAll(r.Body) // an error shows as another text
		r.Body.Close()
		if got == status && strings.Contains(string(body), text) {
			return
		}
	}
	t.Fatalf("/readyz: got %d %s, want %d with %q", got, body, status, text)
}

// posts are publishers over HTTP, each with a session of its own. What is not
// acknowledged is posted again with the same key.
type posts struct {
	stop     context.CancelFunc
	ended    sync.WaitGroup
	statuses chan int // all of them, as far as there is room

	mu    sync.Mutex
	acked []string // Nats-Msg-Id
}

func (s *single) post(t *testing.T, n int) *posts {
	ctx, stop := context.WithCancel(t.Context())
	p := &posts{stop: stop, statuses: make(chan int, 64)}
	t.Cleanup(func() { p.end() })
	for i := range n {
		p.ended.Go(func() {
			for k := 0; ctx.Err() == nil; {
				session, key := fmt.Sprintf("disk%d", i), fmt.Sprintf("key%d", k)
				if p.once(ctx, s.http, session, key, k) {
					k++
				}
			}
		})
	}
	return p
}

// once posts an input and reports whether it was acknowledged.
func (p *posts) once(ctx context.Context, addr, session, key string, k int) bool {
	body := fmt.Sprintf(`{"tool_call_id":"call%d","content":"%s"}`, k, strings.Repeat("x", 3000))
	r, err := http.NewRequestWithContext(ctx, "POST", "http://"+addr+"/v1/sessions/"+session+"/results", strings.NewReader(body))
	if err != nil {
		return false
	}
	r.Header.Set("Idempotency-Key", key)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return false
	}
	defer answer.Body.Close()
	var stored struct{ Seq uint64 }
	ok := answer.StatusCode == http.StatusAccepted && json.NewDecoder(answer.Body).Decode(&stored) == nil
	if ok {
		p.mu.Lock()
		p.acked = append(p.acked, session+":result:"+key)
		p.mu.Unlock()
	}
	select {
	case p.statuses <- answer.StatusCode:
	default:
	}
	return ok
}

// await waits for an answer with a status, later than all that waited already.
func (p *posts) await(t *testing.T, status int) {
	t.Helper()
	for len(p.statuses) > 0 {
		<-p.statuses
	}
	timeout := time.After(patience)
	for {
		select {
		case got := <-p.statuses:
			if got == status {
				return
			}
		case <-timeout:
			t.Fatalf("no input was answered %d within %v", status, patience)
		}
	}
}

// end stops the publishers and returns the ids of what was acknowledged.
func (p *posts) end() []string {
	p.stop()
	p.ended.Wait()
	return p.acked
}

// check waits until all inputs are folded, and compares both logs with what was
// acknowledged.
func (s *single) check(t *testing.T, acked []string) {
	t.Helper()
	url, err := os.ReadFile(filepath.Join(s.data(), "nats-url"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	b, err := app.OpenBroker(ctx, broker.Options{URL: strings.TrimSpace(string(url)), Existing: true})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	var r worker.Report
	waitFor(t, ctx, b, func() ([]string, error) { return unread(ctx, b) })
	waitFor(t, ctx, b, func() (list []string, err error) {
		r, err = worker.Verify(ctx, b)
		for _, d := range r.Differences {
			list = append(list, d.String())
		}
		return list, err
	})
	if out, err := exec.CommandContext(ctx, s.streamer, "verify", "--data-dir", s.data()).CombinedOutput(); err != nil {
		t.Errorf("verify: %v\n%s", err, out)
	}
	for _, m := range missing(stored(t, b), acked) {
		t.Error(m)
	}
	t.Logf("%d inputs acknowledged, %d in the log, %d events", len(acked), r.Inputs, r.Events)
	if len(acked) == 0 || r.Events < len(acked) {
		t.Errorf("%d events of %d inputs", r.Events, len(acked))
	}
}
