package chaos

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	deploy "streamer/deploy/nats"
	"streamer/test/testkit"

	"github.com/nats-io/nats.go"
)

// syncEvery is the sync interval of servers whose files are not lost.
const syncEvery = "1s"

const size = 3 // servers, and streamers

// cluster is three servers. Their connections to each other go through links.
type cluster struct {
	servers [size]*process
	addrs   [size]string // for clients
	dirs    [size]string // of the streams
	names   [size]string
	rename  func(i int, name string)  // gives a server another name from its next start
	bounded bool                      // each directory is a file system of its own
	routes  [size][size]*testkit.Link // from one server to another; nil to itself
}

// config is the configuration of a server. Servers and clients must not bypass the
// links, so the servers do not advertise addresses to clients, and advertise an
// unusable address to each other. The streams have an account of their own, as in
// deploy/nats. Clients without credentials are in the other account.
const config = `
server_name: %s
listen: %s
max_payload: 1MB
jetstream {
  store_dir: %q
  sync_interval: %s
  max_memory_store: 256MB
  max_file_store: 4GB
}
cluster {
  name: chaos
  listen: %s
  advertise: "127.0.0.1:1"
  no_advertise: true
  routes: [%s]
}
accounts {
  $SYS {
    users: [{user: system, password: secret}]
  }
  STREAMER {
    jetstream: enabled
    users: [{user: streamer, password: secret, permissions: {publish: {deny: ["toolcalls.>"]}}}]
    %s
  }
  APP {
    users: [{user: client, password: client}]
    %s
  }
}
no_auth_user: client
`

// ownUser is the user of the streams' account in a URL.
const ownUser = "streamer:secret@"

// store returns the directory of an account in the directory of a server.
func store(dir, account string) string { return filepath.Join(dir, "jetstream", account) }

// newCluster starts the servers with a sync interval.
func newCluster(t *testing.T, binary, logs, sync string, skews [size]string) *cluster {
	ports := testkit.FreePorts(t, 2*size)
	c := &cluster{bounded: true}
	dir := t.TempDir()
	var configs [size]func(name string)
	c.rename = func(i int, name string) {
		c.names[i] = name
		configs[i](name)
	}
	for i := range size {
		c.dirs[i] = filepath.Join(dir, fmt.Sprint("n", i))
		c.bounded = smallDisk(t, c.dirs[i]) && c.bounded
		c.addrs[i] = ports[i]
		var routes []string
		for j := range size {
			if i == j { // the server counts its routes to know the cluster's size
				routes = append(routes, "nats://"+ports[size+i])
				continue
			}
			c.routes[i][j] = testkit.NewLink(t, ports[size+j])
			routes = append(routes, "nats://"+c.routes[i][j].Addr())
		}
		file := filepath.Join(dir, fmt.Sprintf("n%d.conf", i))
		configs[i] = func(name string) {
			text := fmt.Sprintf(config, name, ports[i], c.dirs[i], sync, ports[size+i], strings.Join(routes, ", "), deploy.Exports, deploy.Imports)
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Error(err)
			}
		}
		c.rename(i, fmt.Sprint("n", i))
		name := fmt.Sprintf("server-%d", i)
		c.servers[i] = &process{
			t: t, name: name, log: filepath.Join(logs, name+".log"), env: []string{skewEnv + "=" + skews[i], powerEnv + "=" + c.dirs[i] + powerSuffix},
			args: func() []string { return []string{binary, "-c", file} },
		}
		c.servers[i].start()
		t.Cleanup(func() { c.servers[i].end(syscall.SIGKILL) })
	}
	return c
}

// url returns the URL of all servers, without the links, for the account of the
// streams.
func (c *cluster) url() string { return c.urls(ownUser) }

// systemURL returns the URL of all servers for the account of the servers.
func (c *cluster) systemURL() string { return c.urls("system:secret@") }

// clientURL returns the URL of all servers for the account of clients.
func (c *cluster) clientURL() string { return c.urls("") }

func (c *cluster) urls(user string) string {
	return "nats://" + user + strings.Join(c.addrs[:], ",nats://"+user)
}

// isolate fails the links between a server and others.
func (c *cluster) isolate(i int, others []int, stall bool) {
	for _, j := range others {
		c.routes[i][j].Fail(stall)
		c.routes[j][i].Fail(stall)
	}
}

// heal restores all links.
func (c *cluster) heal() {
	for i := range size {
		for j := range size {
			if i != j {
				c.routes[i][j].Heal()
			}
		}
	}
}

// leader returns the server that leads a stream, or any server.
func (c *cluster) leader(nc *nats.Conn, stream string) int {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	reply, err := nc.RequestWithContext(ctx, "$JS.API.STREAM.INFO."+stream, nil)
	if err != nil {
		return 0
	}
	var info struct {
		Cluster struct {
			Leader string `json:"leader"`
		} `json:"cluster"`
	}
	var i int
	if json.Unmarshal(reply.Data, &info) != nil {
		return 0
	}
	if _, err := fmt.Sscanf(info.Cluster.Leader, "n%d", &i); err != nil || i >= size {
		return 0
	}
	return i
}
