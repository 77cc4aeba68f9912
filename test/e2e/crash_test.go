//go:build unix

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"streamer/internal/audit"
	"streamer/internal/broker"
	"streamer/internal/client"
	"streamer/internal/events"
	"streamer/internal/events/eventstest"
	"streamer/internal/inputs"
	"streamer/internal/lifecycle"
	"streamer/internal/natsserver"
	"streamer/test/local"
	"streamer/test/testkit"
)

// startGreedy runs a worker that carries all partitions.
func startGreedy(t *testing.T, s settings) *testkit.Process {
	t.Helper()
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), greedyEnv+"="+string(text))
	return testkit.StartCommand(t, cmd)
}

// crashes returns how many processes a crash test kills: STREAMER_CRASHES, or n in a
// campaign, otherwise two.
func crashes(t *testing.T, n int) int {
	if s := os.Getenv("STREAMER_CRASHES"); s != "" {
		v, err := strconv.Atoi(s)
		if err != nil {
			t.Fatal("STREAMER_CRASHES: ", err)
		}
		return v
	}
	return testkit.Of(2, n)
}

// schedule returns the random numbers of a test. STREAMER_SEED repeats a schedule.
func schedule(t *testing.T) *rand.Rand {
	seed := uint64(time.Now().UnixNano())
	if s := os.Getenv("STREAMER_SEED"); s != "" {
		v, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			t.Fatal("STREAMER_SEED: ", err)
		}
		seed = v
	}
	t.Logf("STREAMER_SEED=%d", seed)
	return rand.New(rand.NewPCG(seed, 1))
}

// random returns settings of which those differ that change the rules.
func random(rnd *rand.Rand, url string) settings {
	return settings{
		URL: url, Result: time.Duration(400+rnd.IntN(400)) * time.Millisecond,
		Deltas: []lifecycle.Deltas{lifecycle.Coalesced, lifecycle.Every, lifecycle.Off}[rnd.IntN(3)],
	}
}

// TestCrashEmbedded: the process with NATS, worker and gateway is killed at random
// moments of a replay. In the end the event log is what a fold of the inputs
// gives.
func TestCrashEmbedded(t *testing.T) {
	t.Parallel()
	rnd := schedule(t)
	dir, port := t.TempDir(), testkit.FreePort(t)
	next := func() *testkit.Process {
		s := random(rnd, "")
		return start(t, s.flags("--data-dir", dir, "--nats-listen", port)...)
	}
	p := next()
	b := reach(t, ownURL(t, dir))
	awaitRules(t, b)
	done := publishAll(t, b, rnd.Uint64())
	erased := eraseSome(t, b)
	for range crashes(t, 4) {
		time.Sleep(time.Duration(50+rnd.IntN(600)) * time.Millisecond) // a random moment is the point
		p.Kill()
		p = next()
	}
	<-done
	<-erased
	settled(t, b, &p.Log)
}

// TestCrashTwoWorkers: two processes with different settings carry the same
// partitions of one log. One after the other is killed, or stopped and continued.
func TestCrashTwoWorkers(t *testing.T) {
	t.Parallel()
	testkit.Campaign(t)
	crashWorkers(t, startGreedy, 2)
}

// TestCrashShared: three processes share the partitions and take over from each
// other.
func TestCrashShared(t *testing.T) {
	t.Parallel()
	crashWorkers(t, func(t *testing.T, s settings) *testkit.Process { return start(t, s.flags()...) }, 3)
}

func crashWorkers(t *testing.T, begin func(*testing.T, settings) *testkit.Process, n int) {
	rnd := schedule(t)
	b, url := workerless(t, broker.Options{})
	next := func() *testkit.Process { return begin(t, random(rnd, url)) }
	var owners []*testkit.Process
	for range n {
		owners = append(owners, next())
	}
	defer func() {
		for _, p := range owners {
			if t.Failed() {
				p.End(syscall.SIGABRT) // prints its stacks
				t.Log(p.Log.String())
			}
		}
	}()
	awaitRules(t, b)
	done := publishAll(t, b, rnd.Uint64())
	erased := eraseSome(t, b)
	for i := range crashes(t, 4) {
		time.Sleep(time.Duration(50+rnd.IntN(400)) * time.Millisecond)
		p := owners[i%n]
		if rnd.IntN(3) == 0 {
			p.Signal(syscall.SIGSTOP)
			time.Sleep(time.Duration(rnd.IntN(300)) * time.Millisecond)
			p.Signal(syscall.SIGCONT)
			continue
		}
		p.Kill()
		owners[i%n] = next()
	}
	<-done
	<-erased
	settled(t, b)
}

// TestCrashControl is the control: two workers without conditions damage the event
// log, and the check notices it.
func TestCrashControl(t *testing.T) {
	t.Parallel()
	testkit.Campaign(t)
	rnd := schedule(t)
	b, url := workerless(t, broker.Options{})
	for range 2 {
		s := random(rnd, url)
		s.Unguarded = true
		startGreedy(t, s)
	}
	awaitRules(t, b)
	<-publishAll(t, b, rnd.Uint64())
	// A call may stay open here: its start can follow its result in the log.
	testkit.Until(t, "the inputs are read", func() error { return testkit.Check(local.Unread(t.Context(), b)) })
	r, err := audit.Verification{Log: b}.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Differences) == 0 {
		t.Errorf("got no difference in %d sessions with %d events, want some without conditions", r.Sessions, r.Events)
	}
}

// workerless runs an embedded server without a worker.
func workerless(t *testing.T, opts broker.Options) (*client.Broker, string) {
	opts.Partitions = crashPartitions
	o := client.BrokerOptions{Options: opts, Config: natsserver.Config{DataDir: t.TempDir(), Listen: testkit.FreePort(t)}}
	b, err := client.OpenBroker(t.Context(), o.Embedding())
	if err == nil {
		err = b.Admit()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b, b.OwnURL()
}

// urlFile is the file of a data directory with the URL for streamer's commands.
const urlFile = "nats-url"

// ownURL waits for the URL that a process writes to its data directory.
func ownURL(t *testing.T, dir string) string {
	t.Helper()
	var text []byte
	testkit.Until(t, "the URL in the data directory", func() (err error) {
		text, err = os.ReadFile(filepath.Join(dir, urlFile))
		if err == nil && !bytes.HasSuffix(text, []byte("\n")) {
			err = errors.New("the file is not complete")
		}
		return err
	})
	return strings.TrimSpace(string(text))
}

// reach connects to streams with crashPartitions partitions.
func reach(t *testing.T, url string) *client.Broker {
	return reachWith(t, broker.Options{URL: url, Partitions: crashPartitions})
}

// reachAny connects to streams with any number of partitions.
func reachAny(t *testing.T, url string) *client.Broker {
	return reachWith(t, broker.Options{URL: url})
}

func reachWith(t *testing.T, opts broker.Options) *client.Broker {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	b, err := client.OpenBroker(ctx, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b
}

// awaitRules waits until the settings of a process are in force in every
// partition. Calls that begin earlier have other deadlines.
func awaitRules(t *testing.T, b *client.Broker) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	seen := errors.New("seen")
	for p := range b.Partitions() {
		err := b.Inputs(ctx, p, 1, func(batch []inputs.Input, _ uint64, _ bool) error {
			for i := range batch {
				if batch[i].Kind == inputs.Rules {
					return seen
				}
			}
			return nil
		})
		if !errors.Is(err, seen) {
			t.Fatalf("the settings are not in force in partition %d: %v", p, err)
		}
	}
}

// publishAll publishes the quirk streams, each to a session of its own and some
// with results, a call of 1 MiB, and messages whose ids repeat. It closes the
// channel after the last acknowledgement.
func publishAll(t *testing.T, b *client.Broker, nonce uint64) <-chan struct{} {
	files, err := filepath.Glob(filepath.Join("..", "..", "internal", "decode", "testdata", "quirks", "*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatal("no quirk streams", err)
	}
	var wg sync.WaitGroup
	play := func(token string, list []string) {
		wg.Go(func() {
			for i, in := range list {
				kind, data, _ := strings.Cut(in, " ")
				id := fmt.Sprintf("%s:%s:%d-%d", token, kind, nonce, i)
				if a := b.PublishWait(t.Context(), b.InputPub(token, inputs.Kind(kind), id, nil, []byte(data))); a.Err != nil {
					t.Errorf("%s %d: %v", token, i, a.Err)
					return
				}
				time.Sleep(5 * time.Millisecond) // spread over the processes
			}
		})
	}
	for i, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		var inputs []string
		for n, line := range strings.Split(strings.TrimSpace(string(data)), "\n") {
			if n == 200 {
				break
			}
			inputs = append(inputs, "delta "+line)
			if n == 5 && i%3 == 0 {
				inputs = append(inputs, `result {"tool_call_id":"call_a","content":"ok"}`)
			}
		}
		if i%5 == 0 {
			inputs = append(inputs, `interrupt {"reason":"user"}`)
		}
		play(fmt.Sprintf("quirk-%d", i), inputs)
	}
	play("large", large())
	play("repeat", repeated())
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	return done
}

// large returns the inputs of a call with 1 MiB of args and a result as large.
func large() []string {
	var inputs []string
	delta := func(format string, args ...any) {
		inputs = append(inputs, `delta {"id":"m","object":"chat.completion.chunk","choices":[{"index":0,"delta":`+fmt.Sprintf(format, args...)+`}]}`)
	}
	delta(`{"tool_calls":[{"index":0,"id":"big","function":{"name":"write","arguments":"{\"text\":\""}}]}`)
	piece := strings.Repeat("0123456789abcdef", 1<<10)
	for range 64 {
		delta(`{"tool_calls":[{"index":0,"function":{"arguments":"%s"}}]}`, piece)
	}
	delta(`{"tool_calls":[{"index":0,"function":{"arguments":"\"}"}}]},"finish_reason":"tool_calls"`)
	return append(inputs, `result {"tool_call_id":"big","content":"`+strings.Repeat(piece, 20)+`"}`)
}

// repeated returns messages that all use the same call id.
func repeated() []string {
	var inputs []string
	for i := range 40 {
		inputs = append(inputs, fmt.Sprintf(`delta {"id":"m%d","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"0","function":{"name":"f","arguments":"{\"n\":%d}"}}]},"finish_reason":"tool_calls"}]}`, i, i))
		if i%2 == 0 {
			inputs = append(inputs, `result {"tool_call_id":"0","content":"ok"}`)
		}
	}
	return inputs
}

// settled waits until every call is closed and the event log is what a fold of the
// inputs gives.
func settled(t *testing.T, b *client.Broker, logs ...fmt.Stringer) {
	t.Helper()
	testkit.Until(t, "calls and runs are closed", func() error {
		return testkit.Check(openItems(t.Context(), b))
	}, logs...)
	var r audit.Report
	testkit.Until(t, "the event log is the fold of the inputs", func() (err error) {
		var wrong []string
		r, err = audit.Verification{Log: b}.Run(t.Context())
		for _, d := range r.Differences {
			wrong = append(wrong, d.String())
		}
		return testkit.Check(wrong, err)
	}, logs...)
	t.Logf("%d inputs, %d sessions, %d events", r.Inputs, r.Sessions, r.Events)
	timeouts := 0
	schema := eventstest.ReadSchema(t)
	err := b.Events(t.Context(), "", 0, func(s events.Record) error {
		if err := schema.Check(s.Type, s.Data); err != nil {
			t.Errorf("event %d: %s\n%v", s.Seq, s.Data, err)
		}
		if s.Type == events.ToolCallResult && bytes.Contains(s.Data, []byte(`"status":"timeout"`)) {
			timeouts++
		}
		return nil
	})
	if err != nil || timeouts == 0 {
		t.Errorf("no call timed out (%v)", err)
	}
	if r.Sessions < 70 || r.Events < 500 {
		t.Errorf("got %d sessions and %d events, want all streams", r.Sessions, r.Events)
	}
}

// openItems returns the calls without a result and the runs without an end.
func openItems(ctx context.Context, b *client.Broker) ([]string, error) {
	items := map[string]bool{}
	err := b.Events(ctx, "", 0, func(s events.Record) error {
		if s.Type == events.Synthetic {
			return nil
		}
		var e events.Event
		if err := json.Unmarshal(s.Data, &e); err != nil {
			return fmt.Errorf("%s: %w", s.Data, err)
		}
		switch e.Type {
		case events.ToolCallStart:
			items[s.Token+" call "+e.Call] = true
		case events.ToolCallResult:
			delete(items, s.Token+" call "+e.Call)
		case events.RunStarted:
			items[s.Token+" run "+e.Run] = true
		case events.RunFinished:
			delete(items, s.Token+" run "+e.Run)
		case events.SessionErased: // what is before it may be there in part
			maps.DeleteFunc(items, func(item string, _ bool) bool { return strings.HasPrefix(item, s.Token+" ") })
		}
		return nil
	})
	var open []string
	for k := range items {
		open = append(open, k)
	}
	return open, err
}
