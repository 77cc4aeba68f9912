package broker

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// restarter replaces the embedded server by another one on the same directory.
// A file store keeps its first write error, such as a full disk, and stores
// nothing any more, whatever room there is since; only a new server opens the
// streams anew. Clients see a restart of the server: connections are lost and
// come back, and with them a new connection epoch.
type restarter struct {
	dir      string
	address  string       // the servers listen there one after the other; "" if they do not
	launch   func() error // starts a server on dir and sets running
	notice   func(msg string, err error)
	running  atomic.Pointer[server.Server] // nil while none runs
	limit    atomic.Int64                  // JetStreamMaxStore of the last server
	restarts *atomic.Uint64

	mu      sync.Mutex
	broken  error // why the server stores nothing, or why none runs; nil if neither
	ended   int   // servers that have ended
	damaged bool  // a message was damaged on the disk

	wake     chan struct{} // the server reported something to look at
	done     chan struct{} // closed when there are to be no more restarts
	watching sync.WaitGroup
}

func newRestarter(dir, address string, notice func(string, error), restarts *atomic.Uint64) *restarter {
	return &restarter{
		dir: dir, address: address, notice: notice, restarts: restarts,
		wake: make(chan struct{}, 1), done: make(chan struct{}),
	}
}

// Pauses of a restarter. Two restarts are at least restartFirst apart, then
// twice as long each time up to restartMost, until a server ran for restartCalm.
const (
	roomEvery    = time.Second // between two looks for room
	restartFirst = time.Second
	restartMost  = 10 * time.Second
	restartCalm  = time.Minute
)

// roomNeeded is the number of bytes that must be writable before a restart. A
// server that starts writes some, and must not fail at once.
const roomNeeded = 4 << 20

var errNoServer = errors.New("broker: the embedded server is being started again")

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
	return func(err error) { r.fail(server, err) }
}

// limitReached notes that the server refuses messages at its limit of storage.
func (r *restarter) limitReached() { r.poke() }

func (r *restarter) poke() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// problem returns why the server stores nothing, or nil.
func (r *restarter) problem() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.broken == nil:
		return nil
	case r.damaged:
		return fmt.Errorf("broker: %w; the embedded NATS server is started again without the message", r.broken)
	}
	return fmt.Errorf("broker: the embedded NATS server stores nothing: %w; it is started again when there is room in %s", r.broken, r.dir)
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

// due reports whether another server would be better than the one that runs:
// that one has failed, or would have a limit that is higher by an eighth.
func (r *restarter) due() bool {
	if r.problem() != nil {
		return true
	}
	limit := r.limit.Load()
	return storeLimit(r.dir) > limit+limit/8+roomNeeded/4
}

// awaitRoom waits until the directory can be written to. It reports whether it
// can; else there are to be no more restarts.
func (r *restarter) awaitRoom() bool {
	for tryWrite(r.dir) != nil {
		if !r.wait(roomEvery) {
			return false
		}
	}
	return true
}

// wait pauses for d and reports whether restarts are still wanted.
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

// free reports whether the address can be listened on again: a server that
// cannot does not start, and takes minutes to report it.
func (r *restarter) free() error {
	if r.address == "" {
		return nil
	}
	l, err := net.Listen("tcp", r.address)
	if err != nil {
		return fmt.Errorf("broker: embedded server: %w", err)
	}
	return l.Close()
}

// endRestarts returns when no restart is under way and none will be.
func (r *restarter) endRestarts() {
	close(r.done)
	r.watching.Wait()
}

// tryWrite reports whether roomNeeded bytes can be written to a directory. What
// is free is not what may be written: there are quotas and reserved blocks.
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
