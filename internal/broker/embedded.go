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
	"sync/atomic"
	"time"

	"github.com/gofrs/flock"
	"github.com/nats-io/nats-server/v2/server"
)

// startTimeout is how long the embedded server may take to recover its streams.
const startTimeout = 2 * time.Minute

// embedded is a NATS server in this process, and the lock on its directory.
type embedded struct {
	*restarter
	lock  *flock.Flock
	own   string // password of ownUser
	agent string // password of agentUser

	admission sync.Mutex // guards the fields below, and the start and end of servers
	reserved  reservation
	admitted  bool
	closed    bool
}

// startEmbedded locks the data directory and starts a server on it. The server
// does not listen for clients before admit.
func startEmbedded(opts Options, notice func(string, error), restarts *atomic.Uint64) (*embedded, error) {
	if opts.DataDir == "" {
		return nil, errors.New("broker: the embedded server needs a data directory")
	}
	if err := os.MkdirAll(opts.DataDir, 0o700); err != nil {
		return nil, fmt.Errorf("broker: data directory: %w", err)
	}
	// Two servers on one directory both start, and corrupt it silently.
	lock, err := lockDir(opts.DataDir)
	if err != nil {
		return nil, err
	}
	host, port, reserved, err := listenOn(opts.Listen)
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	address := ""
	if host != "" {
		address = net.JoinHostPort(host, strconv.Itoa(port))
	}
	e := &embedded{
		restarter: newRestarter(opts.DataDir, address, notice, restarts), lock: lock,
		own: cmp.Or(opts.OwnPassword, rand.Text()), agent: cmp.Or(opts.AgentPassword, rand.Text()),
		reserved: reserved,
	}
	e.launch = func() error { return e.prepare(opts, host, port, notice) }
	if err := e.launch(); err != nil {
		return nil, errors.Join(err, e.close())
	}
	e.watching.Go(e.watch)
	return e, nil
}

// prepare starts a server with its accounts. The previous one must have ended. Clients
// are admitted if they were before.
func (e *embedded) prepare(opts Options, host string, port int, notice func(string, error)) error {
	e.admission.Lock()
	defer e.admission.Unlock()
	o := serverOptions(opts, host, port)
	o.DontListen = true
	if err := e.isolate(o); err != nil {
		return err
	}
	if err := refuseEarlierDirectory(o.StoreDir); err != nil {
		return err
	}
	if err := forgetIndexes(o.StoreDir, e.suspects()); err != nil {
		return err
	}
	if err := restoreHeaderLengths(o.StoreDir, e.suspects()); err != nil {
		return err
	}
	if err := e.start(o, notice); err != nil || !e.admitted {
		return err
	}
	return e.listen()
}

func (e *embedded) start(o *server.Options, notice func(string, error)) error {
	s, err := server.NewServer(o)
	if err != nil {
		return fmt.Errorf("broker: embedded server: %w", err)
	}
	log := &serverLog{notice: notice, broken: e.onWriteError(), limited: e.limitReached}
	s.SetLoggerV2(log, false, false, false)
	s.Start()
	// ReadyForConnections does not report whether JetStream has started.
	if !s.ReadyForConnections(startTimeout) || !s.JetStreamEnabled() {
		s.Shutdown()
		s.WaitForShutdown()
		return fmt.Errorf("broker: embedded server on %s did not start: %s", o.StoreDir, cmp.Or(log.last(), "no reason given"))
	}
	e.limit.Store(o.JetStreamMaxStore)
	e.running.Store(s)
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

// admit starts to listen for clients. A second call does nothing.
func (e *embedded) admit() error {
	e.admission.Lock()
	defer e.admission.Unlock()
	switch {
	case e.closed:
		return ErrClosed
	case e.address == "" || e.admitted:
		return nil
	}
	e.admitted = true
	if e.running.Load() == nil { // the next one listens
		return nil
	}
	return e.listen()
}

// listen starts to listen for clients with the running server.
func (e *embedded) listen() error {
	s := e.running.Load()
	e.reserved.release()
	s.AcceptLoop(make(chan struct{})) // returns when it listens
	if s.Addr() == nil {
		return fmt.Errorf("broker: the embedded server cannot listen on %s: another program has taken the port since the start", e.address)
	}
	return nil
}

func serverOptions(opts Options, host string, port int) *server.Options {
	return &server.Options{
		ServerName: "streamer",
		Host:       host,
		Port:       port,
		NoSigs:     true, // the program handles signals
		NoLog:      true, // serverLog is set instead
		JetStream:  true,
		StoreDir:   filepath.Join(opts.DataDir, "jetstream"),
		// A power failure can lose the acknowledged messages of this interval. The
		// default is two minutes; one second has no measurable cost.
		SyncInterval: time.Second,
		SyncAlways:   opts.SyncAlways,
		// Zero would be three quarters of the machine.
		JetStreamMaxMemory: 1 << 30,
		JetStreamMaxStore:  storeLimit(opts.DataDir),
		MaxPayload:         1 << 20,
	}
}

// listenOn checks that an address is on loopback, and reserves its port, or another
// one where that is in use. For an empty address it returns an empty host.
func listenOn(addr string) (host string, port int, reserved reservation, err error) {
	if addr == "" {
		return "", 0, nil, nil
	}
	host, _, err = net.SplitHostPort(addr)
	if err != nil {
		return "", 0, nil, fmt.Errorf("broker: listen address %q: %w", addr, err)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return "", 0, nil, fmt.Errorf("broker: listen address %q is not on loopback: for other machines run a NATS server of your own and give its URL", addr)
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		l, err = net.Listen("tcp", net.JoinHostPort(host, "0"))
	}
	if err != nil {
		return "", 0, nil, fmt.Errorf("broker: listen address %q: %w", addr, err)
	}
	port = l.Addr().(*net.TCPAddr).Port
	if reserved, err = reserve(l); err != nil {
		return "", 0, nil, fmt.Errorf("broker: listen address %q: %w", addr, err)
	}
	return host, port, reserved, nil
}

// storeLimit returns the maximum size of the streams in dir. It is evaluated at a start
// of the server, and again when the server has reached it.
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
	return shareOf(used, freeBytes(dir))
}

// shareOf returns three quarters of the space that is free or already used by
// the streams, and at least what they use and half of the free space: other
// programs may use the rest of the disk. The server refuses inputs and events at this
// limit and accepts them again below it, which is cheaper than a full disk. The limit is
// never 0, which means no limit to the server.
func shareOf(used, free int64) int64 {
	return max((used+free)/4*3, used+free/2, 1)
}

func (e *embedded) close() error {
	e.endRestarts()
	e.admission.Lock()
	defer e.admission.Unlock()
	e.closed = true
	e.reserved.release()
	e.stop()
	return e.lock.Close()
}
