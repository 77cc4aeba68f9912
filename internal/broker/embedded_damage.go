package broker

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/nats-io/nats-server/v2/server"
)

// textDamaged begins the server's error about a message that is damaged on the
// disk. It finds one when it reads it, or when it replaces it by a newer one of
// its subject, and then stores nothing more in that stream.
const textDamaged = "malformed or corrupt message"

// forgetIndexes removes the indexes of streams. The server then reads their
// blocks when it starts and drops a message that is damaged, with those behind
// it in its block. It is for streams whose content can be made again.
func forgetIndexes(store string, streams []string) error {
	for _, name := range streams {
		err := os.Remove(filepath.Join(store, server.JetStreamStoreDir, accountOwn, "streams", name, "msgs", "index.db"))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("broker: data directory: %w", err)
		}
	}
	return nil
}

// suspects returns the streams that the next server is to read whole: the
// buckets, which are small and in which every write replaces a message, and
// after damage was found all but the inputs, which nothing can make again.
func (r *restarter) suspects() []string {
	list := []string{streamStates, streamMarks, streamMembers}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.damaged {
		list = append(list, streamBlobs, streamEvents)
	}
	return list
}

// drop restarts the server because a message is damaged on the disk.
func (r *restarter) drop(err error) {
	r.mu.Lock()
	current := r.ended
	r.mu.Unlock()
	r.fail(current, err)
}

// fail notes why a server stores nothing, or has to be started again, once.
func (r *restarter) fail(ended int, err error) {
	r.mu.Lock()
	first := r.broken == nil && r.ended == ended
	if first {
		r.broken = err
		r.damaged = r.damaged || errors.Is(err, errBadEnd) || strings.Contains(err.Error(), textDamaged)
	}
	damaged := r.damaged
	r.mu.Unlock()
	switch {
	case !first:
		return
	case damaged:
		r.notice("a message is damaged in "+r.dir+"; the embedded NATS server is started again without it", err)
	default:
		r.notice("the embedded NATS server cannot write to "+r.dir+"; it is started again when there is room", err)
	}
	r.poke()
}
