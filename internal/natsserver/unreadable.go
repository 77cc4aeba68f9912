package natsserver

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/nats-io/nats-server/v2/server"
)

// A record of a message in a block of the server's file store (server/filestore.go of
// nats-server): size (4 bytes, with headersBit), sequence (8), time (8), length of the
// subject (2), subject, length of the headers (4, only with headersBit), headers,
// message, checksum (8). Integers are little-endian.
const (
	recordHead = 22
	recordSum  = 8
	headersBit = 1 << 31
	noMessage  = 3 << 62 // in the sequence: the message was deleted
)

// removeUnreadable removes the blocks of buckets with a message that the server accepts
// at its start and cannot read. It would replace it by a newer one of its subject in a
// loop without end.
func (r *restarter) removeUnreadable(store string) error {
	for _, name := range buckets() {
		blocks, err := filepath.Glob(filepath.Join(store, server.JetStreamStoreDir, accountOwn, "streams", name, "msgs", "*.blk"))
		if err != nil {
			return fmt.Errorf("natsserver: data directory: %w", err)
		}
		for _, path := range blocks {
			block, err := os.ReadFile(path)
			if err == nil && unreadable(block) {
				r.notice("a message is damaged; the messages of the file are removed, and derived again", errors.New(path))
				err = os.Remove(path)
			}
			if err != nil {
				return fmt.Errorf("natsserver: data directory: %w", err)
			}
		}
	}
	return nil
}

// unreadable reports whether the headers of a record are longer than the record. The
// checksum does not cover their length. What follows a record of which the size is
// damaged does not matter: the server drops it.
func unreadable(block []byte) bool {
	little := binary.LittleEndian
	for len(block) >= recordHead+recordSum {
		size := int(little.Uint32(block) &^ headersBit)
		if size < recordHead+recordSum || size > len(block) {
			break
		}
		record := block[:size-recordSum]
		length := recordHead + int(little.Uint16(record[20:])) // its position
		if little.Uint32(record)&headersBit != 0 && little.Uint64(record[4:])&noMessage == 0 && length+4 <= len(record) &&
			uint64(little.Uint32(record[length:])) > uint64(len(record)-length-4) {
			return true
		}
		block = block[size:]
	}
	return false
}
