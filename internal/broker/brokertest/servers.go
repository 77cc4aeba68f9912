package brokertest

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"streamer/internal/broker"
	"streamer/test/testkit"

	"github.com/nats-io/nats-server/v2/server"
)

// Cluster is three servers that know each other.
type Cluster []*Server

// NewCluster starts a cluster, and stops it at the end of the test.
func NewCluster(t testing.TB) Cluster {
	t.Helper()
	const n = 3
	ports := freePorts(t, 2*n) // the clients', then the routes'
	var routes []*url.URL
	for _, port := range ports[n:] {
		routes = append(routes, &url.URL{Scheme: "nats", Host: "127.0.0.1:" + strconv.Itoa(port)})
	}
	c := make(Cluster, n)
	for i := range c {
		o := options(t, ports[i])
		o.ServerName = fmt.Sprint("n", i)
		o.Cluster = server.ClusterOpts{Name: "c", Host: "127.0.0.1", Port: ports[n+i]}
		o.Routes = routes
		c[i] = &Server{t: t, Options: o}
		var err error
		if c[i].Server, err = server.NewServer(o.Clone()); err != nil {
			t.Fatal(err)
		}
		c[i].Server.Start() // it is ready only when the others have started
		t.Cleanup(c[i].Stop)
	}
	return c
}

// URL returns the addresses that clients connect to.
func (c Cluster) URL() string {
	var urls []string
	for _, s := range c {
		urls = append(urls, s.URL())
	}
	return strings.Join(urls, ",")
}

// Leader returns the server that leads a stream.
func (c Cluster) Leader(t testing.TB, b *broker.Broker, stream string) *Server {
	t.Helper()
	var info struct {
		Cluster struct {
			Leader string `json:"leader"`
		} `json:"cluster"`
	}
	if err := json.Unmarshal(Request(t, Connect(t, b), "$JS.API.STREAM.INFO."+stream, ""), &info); err != nil {
		t.Fatal(err)
	}
	for _, s := range c {
		if s.Options.ServerName == info.Cluster.Leader {
			return s
		}
	}
	t.Fatalf("stream %s has no leader", stream)
	return nil
}

func freePorts(t testing.TB, n int) []int {
	t.Helper()
	var ports []int
	for _, addr := range testkit.FreePorts(t, n) {
		ports = append(ports, testkit.PortOf(t, addr))
	}
	return ports
}

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

// Server is a NATS server with JetStream that a test can stop and start. It has
// no accounts: every client may do everything unless Options says otherwise.
type Server struct {
	*server.Server
	Options *server.Options // changes apply at the next Start
	t       testing.TB
}

// NewServer starts a server on a free loopback port, and stops it at the end of
// the test.
func NewServer(t testing.TB) *Server {
	t.Helper()
	s := &Server{t: t, Options: options(t, freePorts(t, 1)[0])}
	s.Start()
	t.Cleanup(s.Stop)
	return s
}

func options(t testing.TB, port int) *server.Options {
	return &server.Options{
		ServerName: "test", Host: "127.0.0.1", Port: port, NoSigs: true, NoLog: true, MaxPayload: 1 << 20,
		JetStream: true, StoreDir: t.TempDir(), SyncInterval: time.Second, JetStreamMaxMemory: 1 << 30, JetStreamMaxStore: 4 << 30,
	}
}

// Start starts the server.
func (s *Server) Start() {
	s.t.Helper()
	var err error
	if s.Server, err = server.NewServer(s.Options.Clone()); err != nil {
		s.t.Fatal(err)
	}
	s.Server.Start()
	if !s.ReadyForConnections(Within) {
		s.t.Fatal("the server did not start")
	}
}

// Stop stops the server and waits for its end.
func (s *Server) Stop() {
	s.Shutdown()
	s.WaitForShutdown()
}

// URL returns the address that clients connect to.
func (s *Server) URL() string { return "nats://127.0.0.1:" + strconv.Itoa(s.Options.Port) }

func errorOf(answer []byte) bool {
	var a struct {
		Error *struct{} `json:"error"`
	}
	return json.Unmarshal(answer, &a) != nil || a.Error != nil
}
