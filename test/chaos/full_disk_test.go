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

	"streamer/internal/audit"
	"streamer/internal/broker"
	"streamer/internal/client"
	"streamer/test/local"
	"streamer/test/testkit"
)

// TestFullDisk fills the disk of a process with the embedded server several times.
// While the disk is full, inputs are refused and /readyz gives the reason. When it
// has free space again, the process continues without a restart. In the end every
// acknowledged input is in the log once, and the events are the fold of the inputs.
func TestFullDisk(t *testing.T) {
	testkit.Campaign(t)
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
	s.awaitReady(t, http.StatusServiceUnavailable, "no space left on device") // although no input arrives
	s.refuses(t, "the input is not stored: ", "no space left on device")
	if err := undo(); err != nil {
		t.Fatal(err)
	}
	s.awaitReady(t, http.StatusOK, "ready")
	s.check(t, acked)
}

// TestStoreLimit starts a process on a nearly full disk. Its streams reach the
// limit that it set at the start, and it refuses inputs with the reason. When the
// disk has free space, the process accepts inputs again without a restart.
func TestStoreLimit(t *testing.T) {
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

// single is a process with the embedded server, on a disk of limited size.
type single struct {
	dir, http string
	streamer  string // program
}

// newSingle mounts the disk, sets its size unless bytes is 0, and starts the
// process.
func newSingle(t *testing.T, bytes int64) *single {
	t.Helper()
	s := &single{dir: filepath.Join(t.TempDir(), "disk")}
	if !smallDisk(t, s.dir) {
		t.Skip("mounting a file system needs the permissions of root")
	}
	if bytes > 0 {
		if err := resize(s.dir, bytes); err != nil {
			t.Fatal(err)
		}
	}
	s.streamer = testkit.Program(t)
	s.start(t, "--partitions", "2")
	return s
}

// start starts the process, with more arguments, and waits until it is ready.
func (s *single) start(t *testing.T, more ...string) {
	t.Helper()
	ports := testkit.FreePorts(t, 2)
	s.http = ports[0]
	p := &process{t: t, name: "streamer", log: filepath.Join(logDir(t), "streamer.log"), args: func() []string {
		return append([]string{
			s.streamer, "serve", "--data-dir", s.data(), "--http-listen", s.http,
			"--nats-listen", ports[1], "--log-format", "json",
		}, more...)
	}}
	p.start()
	t.Cleanup(func() {
		p.end(syscall.SIGTERM)
		if text, err := os.ReadFile(p.log); err == nil && t.Failed() {
			t.Logf("%s", text[max(0, len(text)-8000):])
		}
	})
	s.awaitReady(t, http.StatusOK, "ready")
}

// open opens the logs of the process.
func (s *single) open(ctx context.Context, t *testing.T) *client.Broker {
	t.Helper()
	url, err := os.ReadFile(filepath.Join(s.data(), "nats-url"))
	if err != nil {
		t.Fatal(err)
	}
	b, err := client.OpenBroker(ctx, broker.Options{URL: strings.TrimSpace(string(url)), Existing: true})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// data returns the data directory.
func (s *single) data() string { return filepath.Join(s.dir, "data") }

// fill fills the disk until undo is called.
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
	testkit.Until(t, "the answer of /readyz", func() error {
		r, err := http.Get("http://" + s.http + "/readyz") //nolint:noctx // Until bounds it
		if err != nil {
			return err
		}
		defer r.Body.Close()
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return err
		}
		if r.StatusCode != status || !strings.Contains(string(body), text) {
			return fmt.Errorf("got %d %s, want %d with %q", r.StatusCode, body, status, text)
		}
		return nil
	})
}

// refuses posts an input and checks that the reason of its refusal has the texts.
func (s *single) refuses(t *testing.T, texts ...string) {
	t.Helper()
	r, err := http.Post("http://"+s.http+"/v1/sessions/refused/results", "", strings.NewReader(`{"tool_call_id":"x","content":1}`)) //nolint:noctx // the server bounds it
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range texts {
		if r.StatusCode != http.StatusServiceUnavailable || !strings.Contains(string(body), text) {
			t.Errorf("got %d %s, want 503 with %q", r.StatusCode, body, text)
		}
	}
}

// posts are publishers over HTTP. Each has its own session, and posts an input
// again with the same key until it is acknowledged.
type posts struct {
	stop     context.CancelFunc
	ended    sync.WaitGroup
	statuses chan int // statuses of the answers; dropped while the channel is full

	mu    sync.Mutex
	acked []string // Nats-Msg-Id
}

// post starts n publishers.
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

// await drops the buffered statuses and waits for an answer with the given status.
func (p *posts) await(t *testing.T, status int) {
	t.Helper()
	for len(p.statuses) > 0 {
		<-p.statuses
	}
	timeout := time.After(settleTime)
	for {
		select {
		case got := <-p.statuses:
			if got == status {
				return
			}
		case <-timeout:
			t.Fatalf("no input was answered %d within %v", status, settleTime)
		}
	}
}

// end stops the publishers and returns the ids of the acknowledged inputs.
func (p *posts) end() []string {
	p.stop()
	p.ended.Wait()
	return p.acked
}

// check waits until all inputs are folded, and compares both logs with the
// acknowledged inputs.
func (s *single) check(t *testing.T, acked []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), settleTime)
	defer cancel()
	b := s.open(ctx, t)
	defer b.Close()
	var r audit.Report
	waitFor(t, ctx, b, func() ([]string, error) { return local.Unread(ctx, b) })
	waitFor(t, ctx, b, func() (list []string, err error) {
		r, err = audit.Verification{Log: b}.Run(ctx)
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
