package chaos

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"streamer/test/testkit"
)

// partitions is small, so that each partition has several sessions.
const partitions = 6

// fleet is the streamers. Each has its own links to every server.
type fleet struct {
	workers [size]*process
	http    [size]string              // address of the HTTP API of each streamer
	links   [size][size]*testkit.Link // from a worker to a server
}

// newFleet starts the streamers, with more arguments.
func newFleet(t *testing.T, binary, logs string, c *cluster, seed uint64, skews [size]string, more ...string) *fleet {
	f := new(fleet)
	ports := testkit.FreePorts(t, size)
	for i := range size {
		var urls []string
		for j := range size {
			f.links[i][j] = testkit.NewLink(t, c.addrs[j])
			urls = append(urls, "nats://"+ownUser+f.links[i][j].Addr())
		}
		name := fmt.Sprintf("streamer-%d", i)
		f.http[i] = ports[i]
		f.workers[i] = &process{
			t: t, name: name, log: filepath.Join(logs, name+".log"), env: []string{skewEnv + "=" + skews[i]},
			args: serveArgs(binary, strings.Join(urls, ","), ports[i], rand.New(rand.NewPCG(seed, uint64(100+i))), more),
		}
	}
	var wg sync.WaitGroup
	for _, w := range f.workers { // at once, so that they create the streams concurrently
		wg.Go(w.start)
		t.Cleanup(func() { w.end(syscall.SIGKILL) })
	}
	wg.Wait()
	return f
}

// serveArgs returns a function that returns the arguments of the next process. The
// rules, the interval of snapshots and the time until eviction differ.
func serveArgs(binary, urls, http string, rnd *rand.Rand, more []string) func() []string {
	pick := func(list ...string) string { return list[rnd.IntN(len(list))] }
	return func() []string {
		return append([]string{
			binary, "serve", "--nats-url", urls, "--replicas", fmt.Sprint(size), "--partitions", fmt.Sprint(partitions),
			"--http-listen", http, "--log-level", "info", "--log-format", "json",
			"--save-every", pick("20ms", "200ms", "1s"), "--evict-after", pick("1ms", "300ms", "5s"),
			"--args-timeout", "2s", "--result-timeout", fmt.Sprintf("%dms", 1000+rnd.IntN(3000)),
			"--wait-timeout", "4s", "--run-idle", "6s", "--deltas", pick("coalesced", "every", "off"), "--lang", pick("en", "zh"),
		}, more...)
	}
}

// cutOff fails the links of a worker to servers.
func (f *fleet) cutOff(w int, servers []int, stall bool) {
	for _, s := range servers {
		f.links[w][s].Fail(stall)
	}
}

// restart restarts all streamers at once.
func (f *fleet) restart() {
	var wg sync.WaitGroup
	for _, w := range f.workers {
		wg.Go(func() {
			w.end(syscall.SIGTERM)
			w.start()
		})
	}
	wg.Wait()
}

// heal restores all links.
func (f *fleet) heal() {
	for w := range size {
		for s := range size {
			f.links[w][s].Heal()
		}
	}
}
