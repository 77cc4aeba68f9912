//go:build unix

package worker

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"streamer/internal/broker"
	"streamer/internal/broker/brokertest"
	"streamer/internal/events"
	"streamer/internal/inputs"
	"streamer/internal/lifecycle"

	"github.com/rs/zerolog"
)

const (
	frozenCalls = 30
	frozenDelta = `{"id":"m","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_1","function":{"name":"f%d","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`
)

// TestDeadlineWhileLeaderIsStopped checks that results which were published while the
// leader of the input log did not answer win against the deadlines that passed
// meanwhile, and that a call without a result still times out. No connection is lost.
// STREAMER_FREEZES is the number of rounds with a leader that is stopped for 1 to 8 s.
func TestDeadlineWhileLeaderIsStopped(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("three servers take some seconds")
	}
	lengths := []time.Duration{1500 * time.Millisecond, 4 * time.Second}
	if s := os.Getenv("STREAMER_FREEZES"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatal("STREAMER_FREEZES: ", err)
		}
		lengths = nil
		for range n {
			lengths = append(lengths, time.Second+rand.N(7*time.Second))
		}
	}
	f := newFreezer(t, lengths)
	for round, length := range lengths {
		f.round(round, length)
	}
}

// freezer stops the leader of the input log.
type freezer struct {
	*fixture
	servers brokertest.Processes
	agent   *testBroker
}

func newFreezer(t *testing.T, lengths []time.Duration) *freezer {
	servers := brokertest.NewProcesses(t)
	options := broker.Options{URL: servers.URL, Replicas: 3, Partitions: 2}
	f := &freezer{fixture: open(t, options), servers: servers}
	var err error
	if f.agent, err = openBroker(brokertest.Deadline(t), broker.Options{URL: servers.URL, Existing: true}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.agent.Close() })
	rules := lifecycle.DefaultRules()
	for round, length := range lengths { // the deadlines of a round are spread over it
		rules.Tools = append(rules.Tools, lifecycle.ToolRule{Pattern: fmt.Sprint("f", round), ResultTimeout: lifecycle.Of(length)})
	}
	w := &Worker{Log: f.broker, Options: Options{Nonce: "w", Rules: &rules}, Logger: zerolog.New(zerolog.NewTestWriter(t)).Level(zerolog.InfoLevel)}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = w.RunShared(ctx, f.broker, f.broker.Partitions()) }()
	t.Cleanup(func() { cancel(); <-done })
	f.settled(w)
	return f
}

// leader returns the process that leads the input log.
func (f *freezer) leader() *os.Process {
	var info struct {
		Cluster struct {
			Leader string `json:"leader"`
		} `json:"cluster"`
	}
	for deadline := time.Now().Add(brokertest.Within); time.Now().Before(deadline); {
		answer := brokertest.Request(f.t, brokertest.Connect(f.t, f.agent.Broker), "$JS.API.STREAM.INFO."+broker.StreamInputs, "")
		var i int
		if _, err := fmt.Sscanf(info.Cluster.Leader, "n%d", &i); err == nil {
			return f.servers.Of[i]
		}
		if err := json.Unmarshal(answer, &info); err != nil {
			f.t.Fatal(err)
		}
	}
	f.t.Fatal("the input log has no leader")
	return nil
}

// send publishes an input until it is stored, as agents do.
func (f *freezer) send(token, kind, body string) {
	a := f.agent.PublishWait(brokertest.Deadline(f.t), f.agent.InputPub(token, inputs.Kind(kind), token+":"+kind, nil, []byte(body)))
	if a.Err != nil {
		f.t.Errorf("session %s: %s: %v", token, kind, a.Err)
	}
}

// round stops the leader for a while, in which the deadlines of all calls pass.
func (f *freezer) round(round int, length time.Duration) {
	var all sync.WaitGroup
	leader, began := f.leader(), time.Now()
	froze := began.Add(length - 400*time.Millisecond) // before the first result, and that before its deadline
	at := func(t time.Time, do func()) { all.Go(func() { time.Sleep(time.Until(t)); do() }) }
	signal := func(s syscall.Signal) {
		if err := leader.Signal(s); err != nil {
			f.t.Error(err)
		}
	}
	token := func(i int) string { return fmt.Sprintf("r%d-%d", round, i) }
	for i := range frozenCalls + 1 {
		opened := began.Add(time.Duration(i) * (length - 600*time.Millisecond) / frozenCalls)
		at(opened, func() { f.send(token(i), "delta", fmt.Sprintf(frozenDelta, round)) })
		if i < frozenCalls {
			result := opened.Add(length - 250*time.Millisecond)
			at(result, func() { f.send(token(i), "result", `{"tool_call_id":"call_1","content":"ok"}`) })
		}
	}
	at(froze, func() { signal(syscall.SIGSTOP) })
	at(froze.Add(length), func() { signal(syscall.SIGCONT) })
	all.Wait()
	for i := range frozenCalls + 1 {
		want := events.Completed
		if i == frozenCalls { // it has no result
			want = events.TimedOut
		}
		e := f.wait(token(i), ofType(events.ToolCallResult))
		var got events.Event
		if err := json.Unmarshal(e.Data, &got); err != nil {
			f.t.Fatal(err)
		}
		if got.Status != want {
			f.t.Errorf("round %d, stopped for %v: call %d is %s, want %s", round, length, i, got.Status, want)
		}
	}
}
