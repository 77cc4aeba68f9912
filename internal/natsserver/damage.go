package natsserver

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/nats-io/nats-server/v2/server"
)

// textDamaged is the beginning of the server's error about a message that is damaged
// on the disk. The server detects it when it reads the message, or replaces it by a
// newer one of the subject, and then stores nothing more in that stream.
const textDamaged = "malformed or corrupt message"

// buckets returns the streams of which every write replaces a message.
func buckets() []string {
	return []string{"KV_STREAMER_SNAPSHOT", "KV_STREAMER_CHECKPOINT", "KV_STREAMER_MEMBER"}
}

// derived returns the streams, without the buckets, that can be written again from the
// inputs.
func derived() []string { return []string{"STREAMER_BLOBS", "TOOLCALLS"} }

// forgetIndexes removes the indexes of streams. The server then reads their blocks
// when it starts and drops a damaged message, with those after it in its block. It is
// for streams whose content can be written again.
func forgetIndexes(store string, streams []string) error {
	for _, name := range streams {
		err := os.Remove(filepath.Join(store, server.JetStreamStoreDir, accountOwn, "streams", name, "msgs", "index.db"))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("natsserver: data directory: %w", err)
		}
	}
	return nil
}

// suspects returns the streams that the next server reads completely: the buckets,
// which are small and in which every write replaces a message, and after damage all
// others but the inputs, which cannot be written again.
func (r *restarter) suspects() []string {
	list := buckets()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.damaged {
		list = append(list, derived()...)
	}
	return list
}

// Drop restarts the server without the message that err names, which is damaged on
// the disk.
func (r *restarter) Drop(err error) {
	r.mu.Lock()
	current := r.ended
	r.mu.Unlock()
	r.fail(current, err, true)
}

// fail records, once per server, why it stores nothing or must be started again, and
// whether a damaged message is the reason.
func (r *restarter) fail(ended int, err error, damaged bool) {
	r.mu.Lock()
	first := r.broken == nil && r.ended == ended
	if first {
		r.broken = err
		r.damaged = r.damaged || damaged
	}
	damaged = r.damaged
	r.mu.Unlock()
	switch {
	case !first:
		return
	case damaged:
		r.notice("a message is damaged in "+r.dir+"; the embedded NATS server is started again without it", err)
	default:
		r.notice("the embedded NATS server cannot write to "+r.dir+"; it is started again when there is space", err)
	}
	r.poke()
}
