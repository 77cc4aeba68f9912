package natsserver

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// A file store keeps its first write error, such as a full disk, and stores nothing
// more, even when there is space again. Only a new server on the same directory opens
// the streams again. Clients see a restart of the server: connections are lost and
// restored, in a new connection epoch.
//
// Two restarts are at least restartFirst apart, then twice as long each time up to
// restartMost, until a server ran for restartCalm.
const (
	roomEvery    = time.Second // interval of checks for space
	restartFirst = time.Second
	restartMost  = 10 * time.Second
	restartCalm  = time.Minute
)

// RoomNeeded is the number of bytes that must be writable before a restart after a write
// error. A starting server writes some of them.
const RoomNeeded = 4 << 20

var errNoServer = errors.New("natsserver: the embedded server is being started again")

// InProcessConn connects to the server that runs now. Connections of this
// process ask for it again at every reconnection.
func (s *Server) InProcessConn() (net.Conn, error) {
	running := s.running.Load()
	if running == nil {
		return nil, errNoServer
	}
	return running.InProcessConn()
}

// onWriteError returns the function to call when a stream of the next server
// stores nothing any more. It ignores calls after that server's end.
func (s *Server) onWriteError() func(error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	server := s.ended
	return func(err error) { s.fail(server, err, strings.Contains(err.Error(), textDamaged)) }
}

// Restarts returns how often the server was replaced.
func (s *Server) Restarts() uint64 { return s.restarts.Load() }

func (s *Server) poke() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Problem returns why the server stores nothing, or nil.
func (s *Server) Problem() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.broken == nil:
		return nil
	case s.damaged:
		return fmt.Errorf("natsserver: %w; the embedded NATS server is started again without the message", s.broken)
	}
	return fmt.Errorf("natsserver: the embedded NATS server stores nothing: %w; it is started again when there is space in %s", s.broken, s.dir)
}

// watch restarts the server where it has failed, until Close.
func (s *Server) watch() {
	pause, last := restartFirst, time.Now()
	for {
		select {
		case <-s.wake:
		case <-s.done:
			return
		}
		for s.due() {
			if time.Since(last) > restartCalm {
				pause = restartFirst
			}
			if !s.wait(pause-time.Since(last)) || !s.awaitRoom() {
				return
			}
			s.restart()
			pause, last = min(2*pause, restartMost), time.Now()
		}
	}
}

// due reports whether the server should be replaced: it has failed, or another one would
// have a limit that is higher by an eighth.
func (s *Server) due() bool {
	if s.Problem() != nil {
		return true
	}
	limit := s.limit.Load()
	return storeLimit(s.dir) > limit+limit/8+RoomNeeded/4
}

func (s *Server) awaitRoom() bool {
	for tryWrite(s.dir) != nil {
		if !s.wait(roomEvery) {
			return false
		}
	}
	return true
}

// wait pauses for d. It returns false if restarts end.
func (s *Server) wait(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-s.done:
		return false
	}
}

func (s *Server) restart() {
	s.stop()
	s.restarts.Add(1)
	err := s.free()
	if err == nil {
		err = s.launch()
	}
	if err != nil {
		s.mu.Lock()
		s.broken = err
		s.mu.Unlock()
		s.notice("the embedded NATS server does not start again yet", err)
		return
	}
	s.notice("the embedded NATS server was started again", nil)
}

// stop ends the server that runs and waits for its end: two on one directory
// would corrupt it. Its write error ends with it.
func (s *Server) stop() {
	if running := s.running.Swap(nil); running != nil {
		running.Shutdown()
		running.WaitForShutdown()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken = nil
	s.ended++
}

// free returns an error if the address is still in use. A server that cannot listen
// takes minutes to report that.
func (s *Server) free() error {
	if s.address == "" {
		return nil
	}
	l, err := net.Listen("tcp", s.address)
	if err != nil {
		return fmt.Errorf("natsserver: embedded server: %w", err)
	}
	return l.Close()
}

// tryWrite returns an error if RoomNeeded bytes cannot be written to a directory. Quotas
// and reserved blocks make that less than the free space.
func tryWrite(dir string) error {
	name := filepath.Join(dir, "room")
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	_, err = f.Write(make([]byte, RoomNeeded))
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close(), os.Remove(name))
}
