package inspect

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"streamer/internal/broker"
	"streamer/internal/broker/brokertest"
	"streamer/internal/client"
	"streamer/internal/events"
	"streamer/internal/gateway"
	"streamer/internal/server"
	"streamer/internal/snapshot"
)

// failing returns the checks of findings that have a state.
func failing(fs Findings, state State) (names []string) {
	for _, f := range fs {
		if f.State == state {
			names = append(names, f.Check+": "+f.Text)
		}
	}
	return names
}

// TestDiagnose: nothing is wrong with a server that runs, and its clients can do what
// their roles need. Without a worker, and without a server, this is the finding.
func TestDiagnose(t *testing.T) {
	ctx := brokertest.Deadline(t)
	if fs := Diagnose(ctx, client.BrokerOptions{Options: broker.Options{URL: "nats://127.0.0.1:1"}}); fs.Healthy() || len(fs) != 1 || fs[0].Fix == "" {
		t.Errorf("no server: got %+v", fs)
	}
	b := serving(t)
	begin(t, b, "s", 10)
	await(t, b, "s", events.ToolCallArgsComplete)
	fs := Diagnose(ctx, client.BrokerOptions{Options: broker.Options{URL: b.OwnURL()}})
	if failed := failing(fs, Failed); !fs.Healthy() || len(failed) > 0 {
		t.Errorf("a server that runs: got %q", failed)
	}
	var text, lines strings.Builder
	if err := fs.Write(Output{W: &text}); err != nil {
		t.Error(err)
	}
	if err := fs.Write(Output{W: &lines, JSON: true}); err != nil {
		t.Error(err)
	}
	check(t, "text", text.String(), []string{"ok       server      NATS 2.", "account STREAMER", "TOOLCALLS: ", "workers     1\n", "ok       lag "}, []string{"\x1b"})
	check(t, "JSON", lines.String(), []string{`{"check":"server","state":"ok","text":"NATS `}, nil)
	_, before, err := b.InputBounds(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, role := range []string{"agent", "frontend", "subscriber"} {
		if fs := Probe(ctx, broker.Options{URL: b.URL()}, role); !fs.Healthy() || len(failing(fs, Warning)) > 0 {
			t.Errorf("%s: got %+v", role, fs)
		}
		if fs := Probe(ctx, broker.Options{URL: b.OwnURL()}, role); len(failing(fs, Warning)) != 1 {
			t.Errorf("%s as streamer itself: got %+v, want a warning about isolation", role, fs)
		}
	}
	if _, after, err := b.InputBounds(ctx); after != before || err != nil {
		t.Errorf("the last input is %d, %v, and was %d: the checks of roles stored inputs", after, err, before)
	}
}

// TestDiagnoseClients: the limits of a gateway are listed, and the clients that reach them or
// repeat inputs.
func TestDiagnoseClients(t *testing.T) {
	s := servingWith(t, func(c *server.Config) { c.HTTPListen, c.Gateway.MaxOpen = "127.0.0.1:0", 2 })
	post := func(session, from, key string) int {
		t.Helper()
		r, err := http.NewRequestWithContext(brokertest.Deadline(t), "POST", s.Page()+"v1/sessions/"+session+"/deltas", strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("X-Forwarded-For", from)
		r.Header.Set("Idempotency-Key", key)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		return answer.StatusCode
	}
	for i, want := range []int{202, 202, 429} {
		if got := post(fmt.Sprint("s", i), "192.0.2.1", ""); got != want {
			t.Errorf("session %d: got %d, want %d", i, got, want)
		}
	}
	for range 2 {
		post("t", "192.0.2.2", "k")
	}
	connect(t, s.Broker) // waits for the service
	fs := Diagnose(brokertest.Deadline(t), client.BrokerOptions{Options: broker.Options{URL: s.Broker.OwnURL()}})
	warned := strings.Join(failing(fs, Warning), "\n")
	for _, want := range []string{
		"client: address 192.0.2.1: 1 refused or delayed, 2 open sessions, 0 of 2 inputs repeated", "client: address 192.0.2.2: 0 refused or delayed, 1 open sessions, 1 of 2 inputs repeated",
	} {
		if !strings.Contains(warned, want) {
			t.Errorf("got the warnings %q, want %q", warned, want)
		}
	}
	if ok := failing(fs, OK); !slices.Contains(ok, "limits: a client over HTTP, at each of 1 gateways: 0 inputs and 0 bytes per second, 2 open sessions (0 is no limit)") {
		t.Errorf("got %q, want the limits", ok)
	}
}

// TestDiagnoseNoWorker: streams without a worker.
func TestDiagnoseNoWorker(t *testing.T) {
	nats := brokertest.NewServer(t)
	b, err := client.OpenBroker(brokertest.Deadline(t), broker.Options{URL: nats.URL()})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	fs := Diagnose(brokertest.Deadline(t), client.BrokerOptions{Options: broker.Options{URL: nats.URL()}})
	if failed := failing(fs, Failed); len(failed) != 1 || !strings.HasPrefix(failed[0], "workers: no worker runs") {
		t.Errorf("got %q", failed)
	}
	if warned := failing(fs, Warning); !slices.ContainsFunc(warned, func(w string) bool { return strings.Contains(w, "default account $G") }) {
		t.Errorf("got the warnings %q, want one about the account", warned)
	}
}

// TestDiagnoseLostInputs: an input log that is shorter than what was folded, and the process
// whose partition stopped because of that.
func TestDiagnoseLostInputs(t *testing.T) {
	ctx, o := brokertest.Deadline(t), broker.Options{URL: brokertest.NewServer(t).URL(), Partitions: 1}
	b, err := client.OpenBroker(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	_, err = b.WriteCheckpoint(ctx, 0, broker.Checkpoint{Seq: 1000}, 0)
	pub, _ := b.SnapshotPub(0, "s", 0, (&snapshot.Header{Input: 999}).Map(), nil)
	if err := errors.Join(err, b.PublishWait(ctx, pub).Err); err != nil {
		t.Fatal(err)
	}
	s := servingWith(t, func(c *server.Config) { c.Broker.Options = o })
	if err := s.Worker.WaitSettled(ctx, 1); err != nil {
		t.Fatal(err)
	}
	connect(t, s.Broker) // waits for the service
	failed := strings.Join(failing(Diagnose(ctx, client.BrokerOptions{Options: o}), Failed), "\n")
	for _, want := range []string{"inputs: inputs were lost: the log has those from 1 to ", "process: not ready: 1 partitions stopped, partition 0: worker: input log was truncated"} {
		if !strings.Contains(failed, want) {
			t.Errorf("got the failures %q, want %q", failed, want)
		}
	}
}

// TestFindings: limits that differ between gateways, and a full disk.
func TestFindings(t *testing.T) {
	var fs Findings
	diagnosis{Findings: &fs}.clients([]*gateway.Usage{{Inputs: 9}, {Inputs: 8}, {Inputs: 9}})
	want := "limits: the 3 gateways differ: 8 inputs and 0 bytes per second, 0 open sessions; 9 inputs and 0 bytes per second, 0 open sessions (0 is no limit)"
	if got := failing(fs, Warning); len(fs) != 1 || !slices.Contains(got, want) {
		t.Errorf("got %+v, want the warning %q", fs, want)
	}
	for free, want := range map[int64]State{0: Failed, 1 << 20: Failed, 1 << 29: Warning, 1 << 40: OK} {
		var fs Findings
		if fs.disk("d", free); len(fs) != 1 || fs[0].State != want {
			t.Errorf("%d bytes free: got %+v, want %s", free, fs, want)
		}
	}
}

// TestBytes checks the units.
func TestBytes(t *testing.T) {
	for n, want := range map[int64]string{0: "0 B", 1023: "1023 B", 1536: "1.5 KiB", 5 << 30: "5.0 GiB", 1 << 60: "1048576.0 TiB"} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			if got := bytes(n); got != want {
				t.Errorf("%d: got %s, want %s", n, got, want)
			}
		})
	}
}
