package natsserver

import (
	"encoding/binary"
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
func (s *Server) suspects() []string {
	list := buckets()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.damaged {
		list = append(list, derived()...)
	}
	return list
}

// Drop restarts the server without the message that err names, which is damaged on
// the disk.
func (s *Server) Drop(err error) {
	s.mu.Lock()
	current := s.ended
	s.mu.Unlock()
	s.fail(current, err, true)
}

// fail records, once per server, why it stores nothing or must be started again, and
// whether a damaged message is the reason.
func (s *Server) fail(ended int, err error, damaged bool) {
	s.mu.Lock()
	first := s.broken == nil && s.ended == ended
	if first {
		s.broken = err
		s.damaged = s.damaged || damaged
	}
	damaged = s.damaged
	s.mu.Unlock()
	switch {
	case !first:
		return
	case damaged:
		s.notice("a message is damaged in "+s.dir+"; the embedded NATS server is started again without it", err)
	default:
		s.notice("the embedded NATS server cannot write to "+s.dir+"; it is started again when there is space", err)
	}
	s.poke()
}

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
func (s *Server) removeUnreadable(store string) error {
	for _, name := range buckets() {
		blocks, err := filepath.Glob(filepath.Join(store, server.JetStreamStoreDir, accountOwn, "streams", name, "msgs", "*.blk"))
		if err != nil {
			return fmt.Errorf("natsserver: data directory: %w", err)
		}
		for _, path := range blocks {
			block, err := os.ReadFile(path)
			if err == nil && unreadable(block) {
				s.notice("a message is damaged; the messages of the file are removed, and derived again", errors.New(path))
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
