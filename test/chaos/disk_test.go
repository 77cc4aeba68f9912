package chaos

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// What three replicas must survive of the disk of one. Nothing else happens to
// the servers meanwhile: a second one that is behind, and an entry is lost that
// only these two had.

// setBack kills a server and starts it on a copy of its directory that is up
// to some seconds old: what a power loss does to a machine that had not written
// its files to the disk.
func (f *fate) setBack(i int, d time.Duration) {
	f.alone(func() {
		p, dir := f.c.servers[i], f.c.dirs[i]
		old := dir + ".old"
		p.signal(syscall.SIGSTOP)
		err := os.CopyFS(old, os.DirFS(dir))
		p.signal(syscall.SIGCONT)
		if err == nil {
			time.Sleep(d)
			if !f.inStep() {
				err = errNotInStep
			}
		}
		if err == nil {
			p.end(syscall.SIGKILL)
			if err = clearDir(dir); err == nil {
				err = os.CopyFS(dir, os.DirFS(old))
			}
			p.start()
			f.inStep()
		}
		f.note("set back", err)
		if err := os.RemoveAll(old); err != nil {
			f.t.Error(err)
		}
	})
}

// diskFull leaves a server no room on its disk for a while. It stops using the
// disk for good then, so it is started again when there is room.
func (f *fate) diskFull(i int, d time.Duration) {
	if !f.c.bounded {
		return
	}
	f.alone(func() {
		p := f.c.servers[i]
		undo, err := fillUp(f.c.dirs[i])
		if err != nil {
			f.note("filled", err)
			return
		}
		time.Sleep(time.Second + d)
		p.end(syscall.SIGKILL)
		err = undo()
		p.start()
		f.inStep()
		f.note("filled", err)
	})
}

// clearDir empties a directory, which may be a mount.
func clearDir(dir string) error {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if err == nil {
			err = os.RemoveAll(filepath.Join(dir, e.Name()))
		}
	}
	return err
}

var errNotInStep = fmt.Errorf("the servers were not in step")

// note counts what did not come about.
func (f *fate) note(what string, err error) {
	if err == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.count["(not "+what+": "+err.Error()+")"]++
}

// alone calls do while nothing else disturbs a server or the network, and all
// servers are up to date.
func (f *fate) alone(do func()) {
	f.down.Lock()
	defer f.down.Unlock()
	f.net.Lock()
	defer f.net.Unlock()
	for _, s := range f.c.servers {
		s.busy.Lock()
		defer s.busy.Unlock()
	}
	if f.inStep() {
		do()
	} else {
		f.note("alone", errNotInStep)
	}
}

// inStep waits until every replica of every stream has what its leader has, or
// for half a minute.
func (f *fate) inStep() bool {
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); {
		behind := false
		for _, s := range streams {
			behind = behind || !f.replicated(s)
		}
		if !behind {
			return true
		}
		time.Sleep(20 * time.Millisecond) // between looks
	}
	return false
}

func (f *fate) replicated(stream string) bool {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	reply, err := f.nc.RequestWithContext(ctx, "$JS.API.STREAM.INFO."+stream, nil)
	if err != nil {
		return false
	}
	var info struct {
		Cluster struct {
			Replicas []struct {
				Current, Offline bool
				Lag              uint64
			} `json:"replicas"`
		} `json:"cluster"`
	}
	if json.Unmarshal(reply.Data, &info) != nil || len(info.Cluster.Replicas) != size-1 {
		return false
	}
	for _, r := range info.Cluster.Replicas {
		if !r.Current || r.Offline || r.Lag > 0 {
			return false
		}
	}
	return true
}
