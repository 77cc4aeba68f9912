//go:build memory

package memory

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"streamer/test/testkit"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// TestTenants measures an installation for each of many tenants: one server, an account with
// the streams of each tenant, and a process for each account. STREAMER_MEMORY_TENANTS sets
// their number.
func TestTenants(t *testing.T) {
	n := number(t, "STREAMER_MEMORY_TENANTS", 100)
	own := &process{program: program{t: t}} // the server is in this process
	url := startAccounts(t, n)
	before := own.memory()
	tenants := startTenants(t, url, n)
	clients := make([]nats.JetStreamContext, n)
	for i, p := range tenants {
		clients[i] = p.client()
	}
	report := func(what string) {
		was, serverWas := sum(tenants), own.memory()
		const span = 30 * time.Second
		begin := time.NewTimer(span)
		defer begin.Stop()
		if what != "idle" {
			callEverySecond(t, clients, span)
		}
		<-begin.C
		now, serverNow := sum(tenants), own.memory()
		t.Logf("%s: each tenant has %.1f MB and %.2f %% of a core; in the server %.1f MB and %.2f %%", what,
			perTenant(now.resident, n), (now.cpu-was.cpu).Seconds()/span.Seconds()*100/float64(n),
			perTenant(serverNow.resident-before.resident, n), (serverNow.cpu-serverWas.cpu).Seconds()/span.Seconds()*100/float64(n))
	}
	report("idle")
	report("a call per second and tenant")
	report("idle")
}

func perTenant(bytes uint64, n int) float64 { return float64(bytes) / 1e6 / float64(n) }

func sum(all []*process) (m memory) {
	for _, p := range all {
		one := p.memory()
		m.resident, m.cpu = m.resident+one.resident, m.cpu+one.cpu
	}
	return m
}

// startAccounts starts a server with n accounts, and returns its address.
func startAccounts(t *testing.T, n int) string {
	t.Helper()
	var conf strings.Builder
	fmt.Fprintf(&conf, "listen: \"127.0.0.1:-1\"\njetstream { store_dir: %q }\naccounts {\n", t.TempDir())
	for i := range n {
		fmt.Fprintf(&conf, "  T%d { jetstream: enabled, users: [{user: t%d, password: secret}] }\n", i, i)
	}
	file := filepath.Join(t.TempDir(), "server.conf")
	if err := os.WriteFile(file, []byte(conf.String()+"}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	o, err := server.ProcessConfigFile(file)
	if err != nil {
		t.Fatal(err)
	}
	s, err := server.NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(s.Shutdown)
	if !s.ReadyForConnections(startTime) {
		t.Fatal("the server did not start")
	}
	return s.Addr().String()
}

// startTenants starts a process for each account, some at once.
func startTenants(t *testing.T, addr string, n int) []*process {
	t.Helper()
	all, binary := make([]*process, n), testkit.Program(t)
	var wg sync.WaitGroup
	for i := range all {
		wg.Go(func() {
			all[i] = program{t: t, binary: binary, url: fmt.Sprintf("nats://t%d:secret@%s", i, addr)}.start()
		})
		if i%10 == 9 {
			wg.Wait()
		}
	}
	wg.Wait()
	return all
}

// callEverySecond publishes the deltas and the result of one call per second and tenant.
func callEverySecond(t *testing.T, all []nats.JetStreamContext, span time.Duration) {
	t.Helper()
	second := time.NewTicker(time.Second)
	defer second.Stop()
	for i := range int(span.Seconds()) {
		for k, js := range all {
			name := fmt.Sprintf("tenant-%d-%d", k, i)
			err := publish(js, func(yield func(input) bool) {
				for j, body := range call(name) {
					if !yield(input{"llm." + name + ".delta", fmt.Sprint(name, ":", j), body}) {
						return
					}
				}
				yield(input{"llm." + name + ".result", name + ":result", `{"tool_call_id":"call_` + name + `","content":"found"}`})
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		<-second.C
	}
}
