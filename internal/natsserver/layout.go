package natsserver

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/nats-io/nats-server/v2/server"
)

// streamInputs is the stream of inputs, the only one that cannot be written again.
const streamInputs = "LLM"

// buckets returns the streams of which every write replaces a message.
func buckets() []string {
	return []string{"KV_STREAMER_SNAPSHOT", "KV_STREAMER_CHECKPOINT", "KV_STREAMER_MEMBER"}
}

// derived returns the streams, without the buckets, that can be written again from the
// inputs.
func derived() []string { return []string{"STREAMER_BLOBS", "TOOLCALLS"} }

// refuseEarlierDirectory returns an error if the store of an embedded server has
// streams of an earlier layout. It reads the directory before a server starts on
// it, and changes nothing.
func refuseEarlierDirectory(store string) error {
	accounts := filepath.Join(store, server.JetStreamStoreDir)
	for _, stream := range [...]string{
		filepath.Join(server.DEFAULT_GLOBAL_ACCOUNT, "streams", streamInputs), // before there were accounts
		filepath.Join(accountOwn, "streams", "KV_STREAMER_STATE"),
		filepath.Join(accountOwn, "streams", "KV_STREAMER_MARK"),
	} {
		dir := filepath.Join(accounts, stream)
		if _, err := os.Stat(dir); err == nil {
			return fmt.Errorf("natsserver: data directory: %s has an earlier layout: an earlier version of streamer wrote it, which this version cannot read: "+
				"run that version, or remove all streams of streamer to begin anew, which deletes their events (remove %s)", dir, store)
		}
	}
	return nil
}
