package broker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// cluster is three servers that know each other.
type cluster []*testServer

func newCluster(t *testing.T) cluster {
	t.Helper()
	const n = 3
	var ports [2 * n]int // clients', then routes'
	var held []net.Listener
	for i := range ports { // all at once, or two could be the same
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, l)
		ports[i] = l.Addr().(*net.TCPAddr).Port
	}
	var routes []*url.URL
	for i, l := range held {
		l.Close()
		if i >= n {
			routes = append(routes, &url.URL{Scheme: "nats", Host: "127.0.0.1:" + strconv.Itoa(ports[i])})
		}
	}
	c := make(cluster, n)
	for i := range c {
		o := serverOptions(Options{DataDir: t.TempDir()}, "127.0.0.1", ports[i])
		o.ServerName = fmt.Sprint("n", i)
		o.Cluster = server.ClusterOpts{Name: "c", Host: "127.0.0.1", Port: ports[n+i]}
		o.Routes = routes
		c[i] = &testServer{t: t, opts: o}
		var err error
		if c[i].Server, err = server.NewServer(o.Clone()); err != nil {
			t.Fatal(err)
		}
		c[i].Start()
		t.Cleanup(c[i].stop)
	}
	return c
}

func (c cluster) url() string {
	var urls []string
	for _, s := range c {
		urls = append(urls, s.url())
	}
	return strings.Join(urls, ",")
}

// leader gives the server that leads a stream.
func (c cluster) leader(t *testing.T, b *Broker, stream string) *testServer {
	t.Helper()
	var info struct {
		failure
		Cluster struct {
			Leader string `json:"leader"`
		} `json:"cluster"`
	}
	if err := b.ask(deadline(t), apiStreamInfo+stream, nil, &info); err != nil {
		t.Fatal(err)
	}
	for _, s := range c {
		if s.opts.ServerName == info.Cluster.Leader {
			return s
		}
	}
	t.Fatalf("stream %s has no leader", stream)
	return nil
}

// Three replicas: two writers append to the same chains while the stream's
// leader is stopped and started again. Every chain is whole.
func TestCluster(t *testing.T) {
	if testing.Short() {
		t.Skip("three servers take some seconds")
	}
	const sessions, length = 20, 60
	c := newCluster(t)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	open := func() *Broker {
		b, err := Open(ctx, Options{URL: c.url(), Replicas: 3})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { b.Close() })
		return b
	}
	one, two := open(), open()
	followed := follow(t, two, "s0", 0)
	followed.waitLive()
	write := func(b *Broker, half func()) error {
		for n := 1; n <= length; n++ {
			if n == length/2 {
				half()
			}
			for i := range sessions {
				if err := append1(ctx, b, fmt.Sprint("s", i), n); err != nil {
					return err
				}
			}
		}
		return nil
	}
	done := make(chan error, 1)
	go func() { done <- write(two, func() {}) }()
	err := write(one, func() {
		s := c.leader(t, one, streamEvents)
		s.stop()
		s.start()
	})
	if err := errors.Join(err, <-done); err != nil {
		t.Fatal(err)
	}
	wholeChains(t, one, sessions, length)
	followed.want(1, length)
	if err := one.Ready(ctx); err != nil {
		t.Error(err)
	}
}

// append1 appends event n to a chain, unless another writer was first.
func append1(ctx context.Context, b *Broker, token string, n int) error {
	for {
		seq, last, err := b.ChainLast(ctx, token)
		id := last.ID
		if err != nil || id.Seq >= uint64(n) {
			return err
		}
		if id.Seq != uint64(n-1) { // a stale answer: the condition would refuse it
			continue
		}
		a := b.PublishWait(ctx, event(b, token, n, seq))
		if !errors.Is(a.Err, ErrConflict) {
			return a.Err
		}
	}
}
