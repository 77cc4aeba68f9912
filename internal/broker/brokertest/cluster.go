package brokertest

import (
	"encoding/json"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"streamer/internal/broker"

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
	for range n { // all are held until the last is known, or two could be the same
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports
}
