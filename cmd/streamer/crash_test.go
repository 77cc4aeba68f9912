//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"streamer/internal/broker"
	"streamer/internal/events"
	"streamer/internal/inputs"
	"streamer/internal/worker"
)

// childEnv makes the test binary a streamer process: "serve"; "greedy", which
// carries all partitions whoever else does; "control", which is greedy and
// appends without conditions; or "command", which is the program itself.
const childEnv = "STREAMER_TEST_CHILD"

func TestMain(m *testing.M) {
	mode := os.Getenv(childEnv)
	if mode == "" {
		os.Exit(m.Run())
	}
	std := stdio{os.Stdin, os.Stdout, os.Stderr}
	if mode == "command" {
		os.Exit(run(context.Background(), std, os.Args[1:]))
	}
	fs := flags("serve")
	s := serveFlags{noCondition: mode == "control", greedy: mode != "serve"}
	s.register(fs)
	if _, err := parse(std, fs, os.Args[1:]); err != nil {
		os.Exit(exitUsage)
	}
	h, err := open(context.Background(), std, &s)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(exitFailed)
	}
	_ = h.run(context.Background())
}

// process is a streamer process that a test kills.
type process struct {
	cmd *exec.Cmd
	log *bytes.Buffer
}

func start(t *testing.T, mode string, args ...string) *process {
	t.Helper()
	p := &process{cmd: exec.Command(os.Args[0], args...), log: new(bytes.Buffer)}
	p.cmd.Env = append(os.Environ(), childEnv+"="+mode)
	p.cmd.Stdout, p.cmd.Stderr = p.log, p.log
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	return p
}

func (p *process) kill() {
	if p.cmd.ProcessState == nil {
		_ = p.cmd.Process.Signal(syscall.SIGCONT)
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
	}
}

// lives gives how many processes a crash test kills; STREAMER_CRASHES asks for
// more.
func lives(t *testing.T, n int) int {
	if s := os.Getenv("STREAMER_CRASHES"); s != "" {
		v, err := strconv.Atoi(s)
		if err != nil {
			t.Fatal("STREAMER_CRASHES: ", err)
		}
		return v
	}
	return n
}

// schedule is the seeded randomness of a test; STREAMER_SEED repeats one.
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

// settings are the flags of one life: states saved all the time, sessions
// evicted at once, calls that time out soon, and rules that change.
func settings(rnd *rand.Rand, args ...string) []string {
	return append([]string{
		"--http-listen", "127.0.0.1:0", "--save-every", "10ms", "--evict-after", "1ms", "--partitions", "4",
		"--args-timeout", "1s", "--result-timeout", fmt.Sprintf("%dms", 400+rnd.IntN(400)),
		"--run-idle", "2s", "--deltas", []string{"coalesced", "every", "off"}[rnd.IntN(3)], "--log-level", "warn",
	}, args...)
}

// TestCrashEmbedded: the process that holds NATS, worker and gateway is killed
// at random moments of a replay. When all is quiet the event log is what the
// inputs give.
func TestCrashEmbedded(t *testing.T) {
	rnd := schedule(t)
	dir, port := t.TempDir(), freePort(t)
	life := func() *process {
		return start(t, "serve", settings(rnd, "--data-dir", dir, "--nats-listen", port)...)
	}
	p := life()
	b := reach(t, ownURL(t, dir))
	ruled(t, b)
	done := publishAll(t, b, rnd.Uint64())
	for range lives(t, 8) {
		time.Sleep(time.Duration(50+rnd.IntN(600)) * time.Millisecond) // a random moment is the point
		p.kill()
		p = life()
	}
	<-done
	quiet(t, b, p.log)
}

// TestCrashTwoWorkers: two processes with different settings carry the same
// partitions of one log; one after the other is killed, or frozen and woken.
func TestCrashTwoWorkers(t *testing.T) { crashWorkers(t, "greedy", 2) }

// TestCrashShared: three processes share the partitions, and take over from
// each other.
func TestCrashShared(t *testing.T) { crashWorkers(t, "serve", 3) }

func crashWorkers(t *testing.T, mode string, n int) {
	rnd := schedule(t)
	b, url := server(t, broker.Options{})
	life := func() *process { return start(t, mode, settings(rnd, "--nats-url", url)...) }
	var owners []*process
	for range n {
		owners = append(owners, life())
	}
	ruled(t, b)
	done := publishAll(t, b, rnd.Uint64())
	for i := range lives(t, 10) {
		time.Sleep(time.Duration(50+rnd.IntN(400)) * time.Millisecond)
		p := owners[i%n]
		if rnd.IntN(3) == 0 {
			_ = p.cmd.Process.Signal(syscall.SIGSTOP)
			time.Sleep(time.Duration(rnd.IntN(300)) * time.Millisecond)
			_ = p.cmd.Process.Signal(syscall.SIGCONT)
			continue
		}
		p.kill()
		owners[i%n] = life()
	}
	<-done
	quiet(t, b, owners[0].log)
}

// TestCrashControl: without the condition two workers do harm, and the check
// notices. Were it to pass, the tests above would say nothing.
func TestCrashControl(t *testing.T) {
	rnd := schedule(t)
	b, url := server(t, broker.Options{NoCondition: true})
	for range 2 {
		start(t, "control", settings(rnd, "--nats-url", url)...)
	}
	ruled(t, b)
	<-publishAll(t, b, rnd.Uint64())
	// Nothing says that every call ends here: a start may stand behind its result.
	waitFor(t, nil, func() ([]string, error) { return unread(t.Context(), b) })
	r, err := worker.Verify(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Differences) == 0 {
		t.Errorf("%d sessions and %d events agree although nothing guards them", r.Sessions, r.Events)
	}
}

func server(t *testing.T, opts broker.Options) (*broker.Broker, string) {
	opts.DataDir, opts.Listen, opts.Partitions = t.TempDir(), freePort(t), 4
	b, err := broker.Open(t.Context(), opts)
	if err == nil {
		err = b.Admit()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b, b.OwnURL()
}

// ownURL returns the URL that a process writes to its data directory.
func ownURL(t *testing.T, dir string) string {
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		text, err := os.ReadFile(filepath.Join(dir, urlFile))
		if err == nil && bytes.HasSuffix(text, []byte("\n")) {
			return strings.TrimSpace(string(text))
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

func reach(t *testing.T, url string) *broker.Broker {
	return reachWith(t, broker.Options{URL: url, Partitions: 4})
}

// reachAny reaches streams of any number of partitions.
func reachAny(t *testing.T, url string) *broker.Broker {
	return reachWith(t, broker.Options{URL: url})
}

func reachWith(t *testing.T, opts broker.Options) *broker.Broker {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	b, err := broker.Open(ctx, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b
}

// ruled waits until the settings of a first life are in force in every
// partition, or calls there would have the deadlines from before.
func ruled(t *testing.T, b *broker.Broker) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	seen := errors.New("seen")
	for p := range b.Partitions() {
		err := b.Inputs(ctx, p, 1, func(batch []broker.Input, _ uint64, _ bool) error {
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

// publishAll publishes the quirk streams, each to a session of its own and
// some with results, a call of 1 MiB, and messages whose ids repeat.
func publishAll(t *testing.T, b *broker.Broker, nonce uint64) <-chan struct{} {
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
				time.Sleep(5 * time.Millisecond) // spread over the lives
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

// large is a call with 1 MiB of args, and a result as large.
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

// repeated is messages that all use the same call id.
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

// quiet waits until every call is closed and the log is what the inputs give.
func quiet(t *testing.T, b *broker.Broker, log *bytes.Buffer) {
	t.Helper()
	waitFor(t, log, func() ([]string, error) { return openThings(t.Context(), b) })
	var r worker.Report
	waitFor(t, log, func() (open []string, err error) {
		r, err = worker.Verify(t.Context(), b)
		for _, d := range r.Differences {
			open = append(open, d.String())
		}
		return open, err
	})
	t.Logf("%d inputs, %d sessions, %d events", r.Inputs, r.Sessions, r.Events)
	timeouts := 0
	err := b.Events(t.Context(), "", 0, func(s broker.Stored) error {
		if s.Type == events.ToolCallResult && bytes.Contains(s.Data, []byte(`"status":"timeout"`)) {
			timeouts++
		}
		return nil
	})
	if err != nil || timeouts == 0 {
		t.Errorf("no call timed out (%v)", err)
	}
	if r.Sessions < 70 || r.Events < 500 {
		t.Errorf("only %d sessions and %d events: the streams did not arrive", r.Sessions, r.Events)
	}
}

// waitFor waits until nothing is wrong any more.
func waitFor(t *testing.T, log *bytes.Buffer, wrong func() ([]string, error)) {
	t.Helper()
	deadline := time.Now().Add(60 * time.Second)
	for {
		list, err := wrong()
		if err != nil {
			t.Fatal(err)
		}
		if len(list) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d things are wrong: %s\n%v", len(list), strings.Join(list[:min(5, len(list))], "\n"), log)
		}
		time.Sleep(50 * time.Millisecond) // between polls
	}
}

// openThings lists the calls without a result and the runs without an end.
func openThings(ctx context.Context, b *broker.Broker) ([]string, error) {
	things := map[string]bool{}
	err := b.Events(ctx, "", 0, func(s broker.Stored) error {
		if s.Type == events.Synthetic {
			return nil
		}
		var e events.Event
		if err := json.Unmarshal(s.Data, &e); err != nil {
			return fmt.Errorf("%s: %w", s.Data, err)
		}
		switch e.Type {
		case events.ToolCallStart:
			things[s.Token+" call "+e.Call] = true
		case events.ToolCallResult:
			delete(things, s.Token+" call "+e.Call)
		case events.RunStarted:
			things[s.Token+" run "+e.Run] = true
		case events.RunFinished:
			delete(things, s.Token+" run "+e.Run)
		}
		return nil
	})
	var open []string
	for k := range things {
		open = append(open, k)
	}
	return open, err
}

// unread lists the partitions whose mark is not past the last input.
func unread(ctx context.Context, b *broker.Broker) (behind []string, err error) {
	_, last, err := b.InputBounds(ctx)
	for p := range b.Partitions() {
		m, _, err := b.LoadMark(ctx, p)
		if err != nil {
			return nil, err
		}
		if m.Seq <= last {
			behind = append(behind, fmt.Sprintf("partition %d is at %d of %d", p, m.Seq, last))
		}
	}
	return behind, err
}

func freePort(t *testing.T) string {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return ln.Addr().String()
}
