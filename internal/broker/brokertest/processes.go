package brokertest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
)

// Processes is a cluster of three servers in processes of their own, which a test can
// send signals to. By index, as in their names: n0, n1, n2.
type Processes struct {
	URL string // of all
	Of  []*os.Process
}

const serverEnv = "BROKERTEST_SERVER"

// NewProcesses starts a cluster and stops it at the end of the test. The test's package
// needs Main.
func NewProcesses(t testing.TB) Processes {
	t.Helper()
	const n = 3
	ports := freePorts(t, 2*n) // the clients', then the routes'
	var routes, urls []string
	for i := range n {
		urls = append(urls, fmt.Sprintf("nats://127.0.0.1:%d", ports[i]))
		routes = append(routes, fmt.Sprintf("nats://127.0.0.1:%d", ports[n+i]))
	}
	p := Processes{URL: strings.Join(urls, ",")}
	dir := t.TempDir()
	for i := range n {
		file := filepath.Join(dir, fmt.Sprint(i))
		text := fmt.Sprintf("server_name: n%d\nlisten: \"127.0.0.1:%d\"\nmax_payload: 1MB\njetstream { store_dir: %q, sync_interval: 1s, max_mem: 256MB, max_file: 4GB }\ncluster { name: c, listen: \"127.0.0.1:%d\", routes: [%s] }\n",
			i, ports[i], filepath.Join(dir, fmt.Sprint("store", i)), ports[n+i], strings.Join(routes, ", "))
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		c := exec.Command(os.Args[0])
		c.Env = append(os.Environ(), serverEnv+"="+file)
		c.Stderr = os.Stderr
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		p.Of = append(p.Of, c.Process)
		t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() }) // a stopped process too
	}
	return p
}

func serve(file string) error {
	o, err := server.ProcessConfigFile(file)
	if err != nil {
		return err
	}
	s, err := server.NewServer(o)
	if err != nil {
		return err
	}
	s.Start()
	s.WaitForShutdown()
	return nil
}
