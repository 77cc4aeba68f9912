package broker

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// How long the embedded server may take to recover its streams.
const startTimeout = 2 * time.Minute

// embedded is a NATS server in this process, and the lock on its directory.
type embedded struct {
	server  *server.Server
	lock    *dirLock
	address string // "" where only this process can connect
	own     string // password of ownUser
	agent   string // password of agentUser

	mu       sync.Mutex // guards what follows, and the end of the server
	admitted bool
	closed   bool
}

// startEmbedded locks the data directory and starts a server on it. The server
// does not listen for clients before admit.
func startEmbedded(opts Options, notice func(string, error)) (*embedded, error) {
	if opts.DataDir == "" {
		return nil, errors.New("broker: the embedded server needs a data directory")
	}
	if err := os.MkdirAll(opts.DataDir, 0o700); err != nil {
		return nil, fmt.Errorf("broker: data directory: %w", err)
	}
	host, port, err := listenOn(opts.Listen)
	if err != nil {
		return nil, err
	}
	// Two servers on one directory both start, and corrupt it without a word.
	lock, err := lockDir(opts.DataDir)
	if err != nil {
		return nil, err
	}
	e := &embedded{lock: lock, own: cmp.Or(opts.OwnPassword, rand.Text()), agent: cmp.Or(opts.AgentPassword, rand.Text())}
	if host != "" {
		e.address = net.JoinHostPort(host, strconv.Itoa(port))
	}
	if err := e.prepare(opts, host, port, notice); err != nil {
		return nil, errors.Join(err, e.close())
	}
	return e, nil
}

// prepare starts the server with its accounts.
func (e *embedded) prepare(opts Options, host string, port int, notice func(string, error)) error {
	o := serverOptions(opts, host, port)
	o.DontListen = true
	if err := e.isolate(o, opts.Shared); err != nil {
		return err
	}
	if err := adoptStreams(o.StoreDir); err != nil {
		return err
	}
	return e.start(o, notice)
}

func (e *embedded) start(o *server.Options, notice func(string, error)) (err error) {
	if e.server, err = server.NewServer(o); err != nil {
		return fmt.Errorf("broker: embedded server: %w", err)
	}
	log := &serverLog{notice: notice}
	e.server.SetLoggerV2(log, false, false, false)
	e.server.Start()
	// ReadyForConnections alone does not tell whether JetStream came up.
	if !e.server.ReadyForConnections(startTimeout) || !e.server.JetStreamEnabled() {
		return fmt.Errorf("broker: embedded server on %s did not start: %s", o.StoreDir, cmp.Or(log.last(), "no reason given"))
	}
	return nil
}

// url returns the address with a user's credentials, if any, or "" where only
// this process can connect.
func (e *embedded) url(user, password string) string {
	if e.address == "" {
		return ""
	}
	u := url.URL{Scheme: "nats", Host: e.address}
	if user != "" {
		u.User = url.UserPassword(user, password)
	}
	return u.String()
}

// admit starts to listen for clients, once.
func (e *embedded) admit() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.closed:
		return ErrClosed
	case e.address == "" || e.admitted:
		return nil
	}
	e.server.AcceptLoop(make(chan struct{})) // returns when it listens
	if e.server.Addr() == nil {
		return fmt.Errorf("broker: the embedded server cannot listen on %s, which was free at the start: another program may have taken the port since", e.address)
	}
	e.admitted = true
	return nil
}

func serverOptions(opts Options, host string, port int) *server.Options {
	return &server.Options{
		ServerName: "streamer",
		Host:       host,
		Port:       port,
		NoSigs:     true, // signals are the program's
		NoLog:      true, // serverLog is set instead
		JetStream:  true,
		StoreDir:   filepath.Join(opts.DataDir, "jetstream"),
		// The default of two minutes is what a power failure may take of
		// acknowledged messages; one second costs nothing that can be measured.
		SyncInterval: time.Second,
		SyncAlways:   opts.SyncAlways,
		// Zeros would mean three quarters of the machine.
		JetStreamMaxMemory: 1 << 30,
		JetStreamMaxStore:  storeLimit(opts.DataDir),
		MaxPayload:         1 << 20,
	}
}

// listenOn checks that an address is on loopback and free, and takes another
// port where it is not. No address gives an empty host.
func listenOn(addr string) (host string, port int, err error) {
	if addr == "" {
		return "", 0, nil
	}
	host, _, err = net.SplitHostPort(addr)
	if err != nil {
		return "", 0, fmt.Errorf("broker: listen address %q: %w", addr, err)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return "", 0, fmt.Errorf("broker: listen address %q is not on loopback: for other machines run a NATS server of your own and give its URL", addr)
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		l, err = net.Listen("tcp", net.JoinHostPort(host, "0"))
	}
	if err != nil {
		return "", 0, fmt.Errorf("broker: listen address %q: %w", addr, err)
	}
	defer l.Close()
	return host, l.Addr().(*net.TCPAddr).Port, nil
}

// storeLimit lets the streams have three quarters of the disk space that is
// free or already theirs.
func storeLimit(dir string) int64 {
	var used int64
	_ = filepath.WalkDir(dir, func(_ string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if info, err := d.Info(); err == nil {
				used += info.Size()
			}
		}
		return nil
	})
	return max((freeBytes(dir)+used)/4*3, 1<<30)
}

func (e *embedded) close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closed = true
	if e.server != nil {
		e.server.Shutdown()
		e.server.WaitForShutdown()
	}
	return e.lock.release()
}
