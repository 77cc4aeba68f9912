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

// textDamaged is the beginning of the server's error about a message that is damaged
// on the disk. The server detects it when it reads the message, or replaces it by a
// newer one of the subject, and then stores nothing more in that stream.
const textDamaged = "malformed or corrupt message"

// forgetIndexes removes the indexes of streams. The server then reads their blocks
// when it starts and drops a damaged message, with those after it in its block. It is
// for streams whose content can be written again.
func forgetIndexes(store string, streams []string) error {
	for _, name := range streams {
		err := os.Remove(filepath.Join(store, server.JetStreamStoreDir, accountOwn, "streams", name, "msgs", "index.db"))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("broker: data directory: %w", err)
		}
	}
	return nil
}

// suspects returns the streams that the next server reads completely: the buckets,
// which are small and in which every write replaces a message, and after damage all
// others but the inputs, which cannot be written again.
func (r *restarter) suspects() []string {
	list := []string{streamSnapshots, streamCheckpoints, streamMembers}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.damaged {
		list = append(list, streamBlobs, StreamEvents)
	}
	return list
}

// errDamagedEnd reports that the last event of a session cannot be read.
var errDamagedEnd = errors.New("broker: damaged on the disk")

// DamagedEnd returns the error for a session whose last event in a stream cannot
// be read. The embedded server is started again without the damaged message.
func (b *Broker) DamagedEnd(stream, token string) error {
	err := fmt.Errorf("%w: the last event of session %s in stream %s cannot be read", errDamagedEnd, token, stream)
	if b.embedded != nil {
		b.embedded.drop(err)
		return err
	}
	return fmt.Errorf("%w; stop the NATS server, remove index.db of that stream and start it: it then drops what is damaged, and streamer appends it again", err)
}

// drop restarts the server because a message is damaged on the disk.
func (r *restarter) drop(err error) {
	r.mu.Lock()
	current := r.ended
	r.mu.Unlock()
	r.fail(current, err)
}

// fail records, once per server, why it stores nothing or must be started again.
func (r *restarter) fail(ended int, err error) {
	r.mu.Lock()
	first := r.broken == nil && r.ended == ended
	if first {
		r.broken = err
		r.damaged = r.damaged || errors.Is(err, errDamagedEnd) || strings.Contains(err.Error(), textDamaged)
	}
	damaged := r.damaged
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
