// Package natsserver runs the embedded NATS server: its data directory, its accounts,
// which are those of deploy/nats, and its restarts after a failed write. Package broker
// is its client.
//
// It promises:
//   - One process has the data directory at a time.
//   - Crashes: the server syncs to the disk once a second, or each message with
//     SyncAlways. A power loss takes at most the messages of that interval.
//   - A server that cannot write, or has found a damaged message, is replaced by another
//     one on the same directory and address. Clients see a restart of the server.
//   - It changes no order and makes no duplicates: stored messages stay as they are,
//     except for damaged ones.
package natsserver

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	deploy "streamer/deploy/nats"

	"github.com/gofrs/flock"
	"github.com/nats-io/nats-server/v2/server"
)

const startTimeout = 2 * time.Minute

// Config is the configuration of a Server. The zero value of each field but DataDir is
// usable.
type Config struct {
	DataDir string // one process at a time
	// Listen is the loopback address on which the server listens after Admit, with another
	// port if that one is in use at the start. If "", only this process can connect.
	Listen string
	// OwnPassword and AgentPassword are the passwords of the users for streamer itself and
	// for trusted agents; if "", new ones are generated.
	OwnPassword   string
	AgentPassword string
	SyncAlways    bool // the server syncs every message to disk; else once per second
}

// Server is a NATS server in this process, and the lock on its directory. Its methods
// may be called from any goroutine.
type Server struct {
	dir     string
	lock    *flock.Flock
	address string       // the servers listen there one after the other; "" if they do not
	own     string       // password of ownUser
	agent   string       // password of agentUser
	launch  func() error // starts a server on dir and sets running
	notice  func(msg string, err error)

	running  atomic.Pointer[server.Server] // nil while none runs
	limit    atomic.Int64                  // JetStreamMaxStore of the last server
	restarts atomic.Uint64
	wake     chan struct{} // the server reported a failure or its limit
	done     chan struct{} // closed when restarts end
	watching sync.WaitGroup

	mu      sync.Mutex
	broken  error // why the server stores nothing, or why none runs; nil if neither
	ended   int   // servers that have ended
	damaged bool  // a message was damaged on the disk

	admission sync.Mutex // guards the fields below, and the start and end of servers
	reserved  reservation
	admitted  bool
	closed    bool
}

// Start locks the data directory and starts a server on it. The server does not
// listen for clients before Admit. It calls notice from any goroutine, on restarts and
// on warnings; notice must not block.
func Start(c Config, notice func(msg string, err error)) (*Server, error) {
	if c.DataDir == "" {
		return nil, errors.New("natsserver: the embedded server needs a data directory")
	}
	if err := os.MkdirAll(c.DataDir, 0o700); err != nil {
		return nil, fmt.Errorf("natsserver: data directory: %w", err)
	}
	// Two servers on one directory both start, and corrupt it silently.
	lock, err := lockDir(c.DataDir)
	if err != nil {
		return nil, err
	}
	host, port, reserved, err := listenOn(c.Listen)
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	address := ""
	if host != "" {
		address = net.JoinHostPort(host, strconv.Itoa(port))
	}
	s := &Server{
		dir: c.DataDir, lock: lock, address: address, notice: notice, reserved: reserved,
		own: cmp.Or(c.OwnPassword, rand.Text()), agent: cmp.Or(c.AgentPassword, rand.Text()),
		wake: make(chan struct{}, 1), done: make(chan struct{}),
	}
	s.launch = func() error { return s.prepare(serverOptions(c, host, port)) }
	if err := s.launch(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.watching.Go(s.watch)
	return s, nil
}

// prepare starts a server with its accounts. The previous one must have ended. Clients
// are admitted if they were before.
func (s *Server) prepare(o *server.Options) error {
	s.admission.Lock()
	defer s.admission.Unlock()
	o.DontListen = true
	if err := s.isolate(o); err != nil {
		return err
	}
	if err := forgetIndexes(o.StoreDir, s.suspects()); err != nil {
		return err
	}
	if err := s.removeUnreadable(o.StoreDir); err != nil {
		return err
	}
	if err := s.start(o); err != nil || !s.admitted {
		return err
	}
	return s.listen()
}

func (s *Server) start(o *server.Options) error {
	next, err := server.NewServer(o)
	if err != nil {
		return fmt.Errorf("natsserver: embedded server: %w", err)
	}
	log := &serverLog{notice: s.notice, broken: s.onWriteError(), limited: s.poke}
	next.SetLoggerV2(log, false, false, false)
	next.Start()
	// ReadyForConnections does not report whether JetStream has started.
	if !next.ReadyForConnections(startTimeout) || !next.JetStreamEnabled() {
		next.Shutdown()
		next.WaitForShutdown()
		return fmt.Errorf("natsserver: embedded server on %s did not start: %s", o.StoreDir, cmp.Or(log.last(), "no reason given"))
	}
	s.limit.Store(o.JetStreamMaxStore)
	s.running.Store(next)
	return nil
}

// Dir returns the data directory.
func (s *Server) Dir() string { return s.dir }

// Own returns the user and the password of streamer itself.
func (s *Server) Own() (user, password string) { return ownUser, s.own }

// URL returns the address that clients connect to, without a password. It is "" where
// only this process can connect.
func (s *Server) URL() string { return s.url("", "") }

// OwnURL returns the URL with the rights of streamer itself. It is a secret.
func (s *Server) OwnURL() string { return s.url(ownUser, s.own) }

// AgentURL returns the URL with the rights of a trusted agent, which publishes inputs
// in the account of the streams. That is cheaper than from the account of clients. The
// acknowledgements can reach every subject there, so the URL is a secret.
func (s *Server) AgentURL() string { return s.url(agentUser, s.agent) }

func (s *Server) url(user, password string) string {
	if s.address == "" {
		return ""
	}
	u := url.URL{Scheme: "nats", Host: s.address}
	if user != "" {
		u.User = url.UserPassword(user, password)
	}
	return u.String()
}

// Admit starts to listen for clients. A second call does nothing. After Close it
// returns net.ErrClosed.
func (s *Server) Admit() error {
	s.admission.Lock()
	defer s.admission.Unlock()
	switch {
	case s.closed:
		return fmt.Errorf("natsserver: %w", net.ErrClosed)
	case s.address == "" || s.admitted:
		return nil
	}
	s.admitted = true
	if s.running.Load() == nil { // the next one listens
		return nil
	}
	return s.listen()
}

func (s *Server) listen() error {
	running := s.running.Load()
	s.reserved.release()
	running.AcceptLoop(make(chan struct{})) // returns when it listens
	if running.Addr() == nil {
		return fmt.Errorf("natsserver: the embedded server cannot listen on %s: another program has taken the port since the start", s.address)
	}
	return nil
}

func serverOptions(c Config, host string, port int) *server.Options {
	return &server.Options{
		ServerName: "streamer",
		Host:       host,
		Port:       port,
		NoSigs:     true, // the program handles signals
		NoLog:      true, // serverLog is set instead
		JetStream:  true,
		StoreDir:   filepath.Join(c.DataDir, "jetstream"),
		// A power failure can lose the acknowledged messages of this interval. The
		// default is two minutes; one second has no measurable cost.
		SyncInterval: time.Second,
		SyncAlways:   c.SyncAlways,
		// Zero would be three quarters of the machine.
		JetStreamMaxMemory: 1 << 30,
		JetStreamMaxStore:  storeLimit(c.DataDir),
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
		return "", 0, nil, fmt.Errorf("natsserver: listen address %q: %w", addr, err)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return "", 0, nil, fmt.Errorf("natsserver: listen address %q is not on loopback: for other machines run a NATS server of your own and give its URL", addr)
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		l, err = net.Listen("tcp", net.JoinHostPort(host, "0"))
	}
	if err != nil {
		return "", 0, nil, fmt.Errorf("natsserver: listen address %q: %w", addr, err)
	}
	port = l.Addr().(*net.TCPAddr).Port
	if reserved, err = reserve(l); err != nil {
		return "", 0, nil, fmt.Errorf("natsserver: listen address %q: %w", addr, err)
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
	free, _ := FreeBytes(dir) // 0 if that is not known
	return shareOf(used, free)
}

// shareOf returns three quarters of the space that is free or already used by
// the streams, and at least what they use and half of the free space: other
// programs may use the rest of the disk. The server refuses inputs and events at this
// limit and accepts them again below it, which is cheaper than a full disk. The limit is
// never 0, which means no limit to the server.
func shareOf(used, free int64) int64 {
	return max((used+free)/4*3, used+free/2, 1)
}

// Close stops the server and releases the lock on its directory. It is called once.
func (s *Server) Close() error {
	close(s.done)
	s.watching.Wait() // for a restart in progress
	s.admission.Lock()
	defer s.admission.Unlock()
	s.closed = true
	s.reserved.release()
	s.stop()
	return s.lock.Close()
}

// Users of the embedded server. Clients without credentials are localUser, in the
// account of clients. The others are in the account of the streams.
const (
	ownUser   = "streamer"
	agentUser = "agent"
	localUser = "local"
)

const accountOwn = "STREAMER"

// accounts is the configuration of both accounts, without their users. The limit of
// subscriptions applies to each connection.
const accounts = `accounts {
  STREAMER {
    jetstream: enabled
    users: [%s]
    %s
  }
  APP {
    users: [%s]
    limits {max_connections: 10000, max_subscriptions: 10000}
    %s
  }
}`

func (s *Server) isolate(o *server.Options) error {
	own, clients := denying(ownUser, s.own, "toolcalls.>")+"\n"+agent(s.agent), denying(localUser, "", "toolcalls.>")
	if err := o.ProcessConfigString(fmt.Sprintf(accounts, own, deploy.Exports, clients, deploy.Imports)); err != nil {
		return fmt.Errorf("natsserver: accounts of the embedded server: %w", err)
	}
	o.NoAuthUser = localUser
	return nil
}

func denying(name, password, subject string) string {
	return fmt.Sprintf("{user: %s, password: %s, permissions: {publish: {deny: [%s]}}}", name, strconv.Quote(password), strconv.Quote(subject))
}

// agent returns the user of trusted agents. Their inboxes differ from those of this
// process, whose messages they must not receive.
func agent(password string) string {
	return fmt.Sprintf(`{user: %s, password: %s, permissions: {
  publish: ["llm.*.delta", "llm.*.result", "llm.*.progress", "llm.*.interrupt", "llm.*.answer", "llm.*.resume", "llm.*.end"]
  subscribe: ["_INBOX.>", "toolcalls.>"]
}}`, agentUser, strconv.Quote(password))
}

// reservation keeps a port until the server listens on it, so that no other program
// gets it as a free one. A connection of the port to this process holds it. Nothing
// listens meanwhile, so clients are refused.
type reservation []*net.TCPConn // both ends of the connection, or none

func reserve(l net.Listener) (reservation, error) {
	defer l.Close()
	near, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		return nil, err
	}
	for {
		far, err := l.Accept()
		if err != nil {
			near.Close()
			return nil, err
		}
		if far.RemoteAddr().String() == near.LocalAddr().String() {
			return reservation{near.(*net.TCPConn), far.(*net.TCPConn)}, nil
		}
		far.Close() // of a client that came too early
	}
}

// release closes the connection. Neither end lingers, so that the port is free at once.
func (r reservation) release() {
	for _, end := range r {
		_ = end.SetLinger(0) // the port is free later if that fails
		end.Close()
	}
}

// lockDir locks dir. If another process has the lock, the error names it. The system
// releases the lock when the process ends, however it ends. The file stays when the
// lock is released: if it were removed, two processes could lock two files of the
// same name.
func lockDir(dir string) (*flock.Flock, error) {
	name := filepath.Join(dir, "lock")
	lock := flock.New(name, flock.SetFlag(os.O_CREATE|os.O_RDWR)) // some network file systems lock only files that can be written
	locked, err := lock.TryLock()
	if err == nil && !locked {
		id, _ := os.ReadFile(name)
		return nil, fmt.Errorf("natsserver: data directory %s is in use by process %s: two servers on one directory would corrupt it; stop that one, or take another directory (--data-dir)",
			dir, cmp.Or(strings.TrimSpace(string(id)), "(unknown)"))
	}
	if err == nil {
		err = writeID(name)
	}
	if err != nil {
		_ = lock.Close() // the error that is returned is the cause
		return nil, fmt.Errorf("natsserver: data directory: %w", err)
	}
	return lock, nil
}

// writeID writes the id of this process to a file that it has locked. Windows lets
// nothing else read or write a locked file.
func writeID(name string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	return os.WriteFile(name, []byte(strconv.Itoa(os.Getpid())+"\n"), 0o600)
}
