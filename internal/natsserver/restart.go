package natsserver

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// restarter replaces the embedded server by another one on the same directory.
// A file store keeps its first write error, such as a full disk, and stores nothing
// more, even when there is space again. Only a new server opens the streams again.
// Clients see a restart of the server: connections are lost and restored, in a new
// connection epoch.
type restarter struct {
	dir      string
	address  string       // the servers listen there one after the other; "" if they do not
	launch   func() error // starts a server on dir and sets running
	notice   func(msg string, err error)
	running  atomic.Pointer[server.Server] // nil while none runs
	limit    atomic.Int64                  // JetStreamMaxStore of the last server
	restarts atomic.Uint64

	mu      sync.Mutex
	broken  error // why the server stores nothing, or why none runs; nil if neither
	ended   int   // servers that have ended
	damaged bool  // a message was damaged on the disk

	wake     chan struct{} // the server reported a failure or its limit
	done     chan struct{} // closed when restarts end
	watching sync.WaitGroup
}

func newRestarter(dir, address string, notice func(string, error)) *restarter {
	return &restarter{
		dir: dir, address: address, notice: notice,
		wake: make(chan struct{}, 1), done: make(chan struct{}),
	}
}

// Pauses of a restarter. Two restarts are at least restartFirst apart, then
// twice as long each time up to restartMost, until a server ran for restartCalm.
const (
	roomEvery    = time.Second // interval of checks for space
	restartFirst = time.Second
	restartMost  = 10 * time.Second
	restartCalm  = time.Minute
)

// roomNeeded is the number of bytes that must be writable before a restart. A starting
// server writes some of them.
const roomNeeded = 4 << 20

var errNoServer = errors.New("natsserver: the embedded server is being started again")

// InProcessConn connects to the server that runs now. Connections of this
// process ask for it again at every reconnection.
func (r *restarter) InProcessConn() (net.Conn, error) {
	s := r.running.Load()
	if s == nil {
		return nil, errNoServer
	}
	return s.InProcessConn()
}

// onWriteError returns the function to call when a stream of the next server
// stores nothing any more. It ignores calls after that server's end.
func (r *restarter) onWriteError() func(error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	server := r.ended
	return func(err error) { r.fail(server, err, strings.Contains(err.Error(), textDamaged)) }
}

// Restarts returns how often the server was replaced.
func (r *restarter) Restarts() uint64 { return r.restarts.Load() }

// limitReached notes that the server refuses messages at its limit of storage.
func (r *restarter) limitReached() { r.poke() }

func (r *restarter) poke() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// Problem returns why the server stores nothing, or nil.
func (r *restarter) Problem() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.broken == nil:
		return nil
	case r.damaged:
		return fmt.Errorf("natsserver: %w; the embedded NATS server is started again without the message", r.broken)
	}
	return fmt.Errorf("natsserver: the embedded NATS server stores nothing: %w; it is started again when there is space in %s", r.broken, r.dir)
}

// watch restarts the server where it has failed, until endRestarts.
func (r *restarter) watch() {
	pause, last := restartFirst, time.Now()
	for {
		select {
		case <-r.wake:
		case <-r.done:
			return
		}
		for r.due() {
			if time.Since(last) > restartCalm {
				pause = restartFirst
			}
			if !r.wait(pause-time.Since(last)) || !r.awaitRoom() {
				return
			}
			r.restart()
			pause, last = min(2*pause, restartMost), time.Now()
		}
	}
}

// due reports whether the server should be replaced: it has failed, or another one would
// have a limit that is higher by an eighth.
func (r *restarter) due() bool {
	if r.Problem() != nil {
		return true
	}
	limit := r.limit.Load()
	return storeLimit(r.dir) > limit+limit/8+roomNeeded/4
}

// awaitRoom waits until the directory can be written to. It returns false if restarts end
// first.
func (r *restarter) awaitRoom() bool {
	for tryWrite(r.dir) != nil {
		if !r.wait(roomEvery) {
			return false
		}
	}
	return true
}

// wait pauses for d. It returns false if restarts end.
func (r *restarter) wait(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-r.done:
		return false
	}
}

// restart ends the server, if one runs, and starts another.
func (r *restarter) restart() {
	r.stop()
	r.restarts.Add(1)
	err := r.free()
	if err == nil {
		err = r.launch()
	}
	if err != nil {
		r.mu.Lock()
		r.broken = err
		r.mu.Unlock()
		r.notice("the embedded NATS server does not start again yet", err)
		return
	}
	r.notice("the embedded NATS server was started again", nil)
}

// stop ends the server that runs and waits for its end: two on one directory
// would corrupt it. Its write error ends with it.
func (r *restarter) stop() {
	if s := r.running.Swap(nil); s != nil {
		s.Shutdown()
		s.WaitForShutdown()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.broken = nil
	r.ended++
}

// free returns an error if the address is still in use. A server that cannot listen
// takes minutes to report that.
func (r *restarter) free() error {
	if r.address == "" {
		return nil
	}
	l, err := net.Listen("tcp", r.address)
	if err != nil {
		return fmt.Errorf("natsserver: embedded server: %w", err)
	}
	return l.Close()
}

// endRestarts ends restarts, and waits for one in progress.
func (r *restarter) endRestarts() {
	close(r.done)
	r.watching.Wait()
}

// tryWrite returns an error if roomNeeded bytes cannot be written to a directory. Quotas
// and reserved blocks make that less than the free space.
func tryWrite(dir string) error {
	name := filepath.Join(dir, "room")
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	_, err = f.Write(make([]byte, roomNeeded))
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close(), os.Remove(name))
}
