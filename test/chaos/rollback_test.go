package chaos

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// span is a period of time.
type span struct{ from, until time.Time }

// spans are the periods in which inputs were acknowledged that may be lost.
type spans []span

// cover reports whether t is in one of the spans.
func (s spans) cover(t time.Time) bool { return s.within(t, t) > 0 }

// within counts the spans that overlap the period from begun to acked.
func (s spans) within(begun, acked time.Time) (n int) {
	for _, p := range s {
		if !acked.Before(p.from) && !begun.After(p.until) {
			n++
		}
	}
	return n
}

// lossPause is the time after which clients have received the acknowledgements that
// a server sent before it was killed.
const lossPause = 500 * time.Millisecond

// rollBack stops all servers and restores the files of the input stream, on every
// replica, from a copy that is up to some seconds old, as if an operator had
// restored only this stream. All other streams keep their messages. Publishers and
// streamers continue to run.
func (f *faultInjector) rollBack(d time.Duration) {
	f.alone(func() {
		dirs, err := f.inputDirs()
		if err != nil {
			f.note("rolled back", err)
			return
		}
		lost := span{from: time.Now()}
		if err = f.copyFrozen(dirs); err == nil {
			time.Sleep(lossPause + d)
			f.all(func(i int) { f.c.servers[i].end(syscall.SIGKILL) })
			for _, dir := range dirs {
				err = errors.Join(err, clearDir(dir), os.CopyFS(dir, os.DirFS(dir+copied)))
			}
			time.Sleep(lossPause)
			lost.until = time.Now()
			f.all(func(i int) { f.c.servers[i].start() })
			f.awaitReplicas()
			f.mu.Lock()
			f.lost = append(f.lost, lost)
			f.mu.Unlock()
		}
		for _, dir := range dirs {
			err = errors.Join(err, os.RemoveAll(dir+copied))
		}
		if err != nil {
			f.t.Error(err)
		}
	})
}

// copied is the suffix of a directory's copy.
const copied = ".copy"

// copyFrozen copies directories of the servers while all servers are paused.
func (f *faultInjector) copyFrozen(dirs []string) (err error) {
	for _, s := range f.c.servers {
		s.signal(syscall.SIGSTOP)
		defer s.signal(syscall.SIGCONT)
	}
	for _, dir := range dirs {
		err = errors.Join(err, os.CopyFS(dir+copied, os.DirFS(dir)))
	}
	return err
}

// all calls do for every server at once.
func (f *faultInjector) all(do func(i int)) {
	var wg sync.WaitGroup
	for i := range f.c.servers {
		wg.Go(func() { do(i) })
	}
	wg.Wait()
}

// inputDirs returns the directories of the input stream on each server: those of
// its messages and of its Raft log.
func (f *faultInjector) inputDirs() (dirs []string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	reply, err := f.nc.RequestWithContext(ctx, "$JS.API.STREAM.INFO.LLM", nil)
	if err != nil {
		return nil, err
	}
	var info struct {
		Cluster struct {
			Group string `json:"raft_group"`
		} `json:"cluster"`
	}
	if err := json.Unmarshal(reply.Data, &info); err != nil {
		return nil, err
	}
	for _, dir := range f.c.dirs {
		dirs = append(dirs, filepath.Join(streamsOf(dir), "LLM"), filepath.Join(store(dir, "$SYS"), "_js_", info.Cluster.Group))
	}
	for _, dir := range dirs {
		if _, err := os.Stat(dir); err != nil {
			return nil, err
		}
	}
	return dirs, nil
}

// streamsOf returns the directory of the streams of streamer's account in the
// directory of a server.
func streamsOf(dir string) string { return filepath.Join(store(dir, "STREAMER"), "streams") }
