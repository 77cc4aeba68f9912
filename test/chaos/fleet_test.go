package chaos

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// partitions are few enough that each streamer carries several sessions of
// each.
const partitions = 6

// fleet is the streamers, each with links of its own to every server.
type fleet struct {
	workers [size]*process
	http    [size]string      // where each serves, in all its lives
	links   [size][size]*link // of a worker to a server
}

func newFleet(t *testing.T, binary, logs string, c *cluster, seed uint64, skews [size]string) *fleet {
	f := new(fleet)
	ports := freePorts(t, size)
	for i := range size {
		var urls []string
		for j := range size {
			f.links[i][j] = newLink(t, c.addrs[j])
			urls = append(urls, "nats://"+ownUser+f.links[i][j].addr())
		}
		name := fmt.Sprintf("streamer-%d", i)
		f.http[i] = ports[i]
		f.workers[i] = &process{
			t: t, name: name, log: filepath.Join(logs, name+".log"), env: []string{skewEnv + "=" + skews[i]},
			args: lives(binary, strings.Join(urls, ","), ports[i], rand.New(rand.NewPCG(seed, uint64(100+i)))),
		}
	}
	var wg sync.WaitGroup
	for _, w := range f.workers { // at once: they make the streams
		wg.Go(w.start)
		t.Cleanup(func() { w.end(syscall.SIGKILL) })
	}
	wg.Wait()
	return f
}

// lives returns a function that returns the arguments of the next process. They
// differ in the rules, and in how much stays in memory and is written.
func lives(binary, urls, http string, rnd *rand.Rand) func() []string {
	pick := func(list ...string) string { return list[rnd.IntN(len(list))] }
	return func() []string {
		return []string{
			binary, "serve", "--nats-url", urls, "--replicas", fmt.Sprint(size), "--partitions", fmt.Sprint(partitions),
			"--http-listen", http, "--log-level", "info", "--log-format", "json",
			"--save-every", pick("20ms", "200ms", "1s"), "--evict-after", pick("1ms", "300ms", "5s"),
			"--args-timeout", "2s", "--result-timeout", fmt.Sprintf("%dms", 1000+rnd.IntN(3000)),
			"--wait-timeout", "4s", "--run-idle", "6s", "--deltas", pick("coalesced", "every", "off"), "--lang", pick("en", "zh"),
		}
	}
}

// cutOff fails the links of a worker to some servers.
func (f *fleet) cutOff(w int, servers []int, stall bool) {
	for _, s := range servers {
		f.links[w][s].fail(stall)
	}
}

func (f *fleet) heal() {
	for w := range size {
		for s := range size {
			f.links[w][s].heal()
		}
	}
}
