package chaos

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"streamer/test/testkit"
)

// The functions in this file inject faults of the disk of one server, which three
// replicas must survive. They exclude other faults of servers: a second server that
// is behind could lose an entry that only these two servers have.

// rollBackDisk kills a server and starts it on a copy of its directory that is up
// to some seconds old. A power loss has this effect on a machine that had not
// written its files to the disk.
func (f *faultInjector) rollBackDisk(i int, d time.Duration) {
	f.alone(func() {
		p, dir := f.c.servers[i], f.c.dirs[i]
		old := dir + ".old"
		p.signal(syscall.SIGSTOP)
		err := os.CopyFS(old, os.DirFS(dir))
		p.signal(syscall.SIGCONT)
		if err == nil {
			time.Sleep(d)
			if !f.awaitReplicas() {
				err = errReplicaBehind
			}
		}
		if err == nil {
			p.end(syscall.SIGKILL)
			if err = clearDir(dir); err == nil {
				err = os.CopyFS(dir, os.DirFS(old))
			}
			p.start()
			f.awaitReplicas()
		}
		f.note("disk rolled back", err)
		if err := os.RemoveAll(old); err != nil {
			f.t.Error(err)
		}
	})
}

// diskFull fills the disk of a server for a while. The server then stops using the
// disk permanently, so diskFull restarts it when the disk has free space again.
func (f *faultInjector) diskFull(i int, d time.Duration) {
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
		f.awaitReplicas()
		f.note("filled", err)
	})
}

// renew removes a server and its disk from the cluster, and lets one with another name
// join, before or afterwards. There are no other faults of servers meanwhile.
func (f *faultInjector) renew(i int, before bool, d time.Duration) {
	old := f.c.names[i]
	f.c.servers[i].end(syscall.SIGKILL)
	if err := clearDir(f.c.dirs[i]); err != nil {
		f.t.Error(err)
	}
	_ = os.Remove(f.c.dirs[i] + powerSuffix) // there is none without failures of power
	f.c.rename(i, old+"x")
	if before {
		f.c.servers[i].start()
		time.Sleep(d)
	}
	f.removePeer(old)
	if !before {
		time.Sleep(d)
		f.c.servers[i].start()
	}
	f.did(true, "a new server joined")
	if !f.awaitReplicas() {
		f.note("filled a new server", errReplicaBehind)
	}
}

// unblock deletes the buckets that have no leader although all servers run, as `streamer
// doctor` says, and restarts the streamers, which derive them again.
func (f *faultInjector) unblock() {
	deleted := false
	for _, stream := range streams {
		if !strings.HasPrefix(stream, "KV_") {
			continue
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		err := testkit.Poll(ctx, func() error { return f.ask("$JS.API.STREAM.INFO."+stream, "") })
		cancel()
		if err == nil {
			continue
		}
		ctx, cancel = context.WithTimeout(context.Background(), time.Minute)
		if out, _ := f.op.run(ctx, "doctor"); !strings.Contains(out, "most replicas are missing") { // it fails
			f.t.Errorf("stream %s has no leader, and doctor says: %s", stream, out)
		}
		cancel()
		f.note("deleted", f.ask("$JS.API.STREAM.DELETE."+stream, ""))
		f.did(true, stream+" had no leader and was deleted")
		deleted = true
	}
	if deleted {
		f.f.restart()
	}
}

// removePeer removes a server from the cluster.
func (f *faultInjector) removePeer(name string) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	f.note("removed", testkit.Poll(ctx, func() error { // there may be no leader yet
		ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
		defer cancel()
		reply, err := f.system.RequestWithContext(ctx, "$JS.API.SERVER.REMOVE", fmt.Appendf(nil, `{"peer":%q}`, name))
		if err == nil && !strings.Contains(string(reply.Data), `"success":true`) {
			err = fmt.Errorf("removing %s: %s", name, reply.Data)
		}
		return err
	}))
}

// clearDir removes the content of a directory, which may be a mount point.
func clearDir(dir string) error {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if err == nil {
			err = os.RemoveAll(filepath.Join(dir, e.Name()))
		}
	}
	return err
}

var errReplicaBehind = errors.New("a replica is behind")

// note counts a fault that could not be injected.
func (f *faultInjector) note(what string, err error) {
	if err == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.count["(not "+what+": "+err.Error()+")"]++
}

// did counts a part of a fault that was injected.
func (f *faultInjector) did(ok bool, what string) {
	if !ok {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.count["("+what+")"]++
}

// alone calls do while there is no other fault of a server or the network and all
// replicas are up to date.
func (f *faultInjector) alone(do func()) {
	f.down.Lock()
	defer f.down.Unlock()
	f.net.Lock()
	defer f.net.Unlock()
	for _, s := range f.c.servers {
		s.busy.Lock()
		defer s.busy.Unlock()
	}
	if f.awaitReplicas() {
		do()
	} else {
		f.note("alone", errReplicaBehind)
	}
}

// awaitReplicas waits until every replica of every stream is up to date, for at
// most half a minute. It reports whether they are.
func (f *faultInjector) awaitReplicas() bool {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	return testkit.Poll(ctx, func() error {
		if !f.current() {
			return errReplicaBehind
		}
		return nil
	}) == nil
}

// current reports whether all replicas of all streams are up to date.
func (f *faultInjector) current() bool {
	return !slices.ContainsFunc(streams[:], func(s string) bool { return !f.replicated(s) })
}

// replicated reports whether all replicas of a stream are up to date.
func (f *faultInjector) replicated(stream string) bool {
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
