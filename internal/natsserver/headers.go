package natsserver

import (
	"bytes"
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
// message, checksum (8). Integers are little-endian. The checksum does not cover the
// length of the headers. Where that is damaged, the server accepts the message at its
// start, cannot read it, and replaces it by a newer one of its subject in a loop
// without end.
const (
	recordHead = 22
	recordSum  = 8
	headersBit = 1 << 31
	noMessage  = 3 << 62 // in the sequence: the message was deleted
)

// headerLength is the length of the headers of one record.
type headerLength struct {
	at    int // position of its field in the block
	value uint32
}

// restoreHeaderLengths corrects the lengths of headers in the blocks of streams. It is
// called while no server runs.
func restoreHeaderLengths(store string, streams []string) error {
	for _, name := range streams {
		blocks, err := filepath.Glob(filepath.Join(store, server.JetStreamStoreDir, accountOwn, "streams", name, "msgs", "*.blk"))
		if err != nil {
			return fmt.Errorf("natsserver: data directory: %w", err)
		}
		for _, block := range blocks {
			if err := restoreInBlock(block); err != nil {
				return fmt.Errorf("natsserver: data directory: %w", err)
			}
		}
	}
	return nil
}

func restoreInBlock(path string) error {
	block, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	wrong := wrongHeaderLengths(block)
	if len(wrong) == 0 {
		return nil
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	for _, l := range wrong {
		_, err := f.WriteAt(binary.LittleEndian.AppendUint32(nil, l.value), int64(l.at))
		if err != nil {
			return errors.Join(err, f.Close())
		}
	}
	return f.Close()
}

// wrongHeaderLengths returns the right values of the lengths of headers that are wrong
// in a block. It ends at a record of which the size is damaged: the server drops that
// one and those after it.
func wrongHeaderLengths(block []byte) (wrong []headerLength) {
	for at := 0; len(block)-at >= recordHead+recordSum; {
		size := int(binary.LittleEndian.Uint32(block[at:]) &^ headersBit)
		if size < recordHead+recordSum || size > len(block)-at {
			break
		}
		if field, value, ok := wrongHeaderLength(block[at : at+size]); ok {
			wrong = append(wrong, headerLength{at + field, value})
		}
		at += size
	}
	return wrong
}

// wrongHeaderLength returns the position and the right value of the length of a
// record's headers, if it is wrong. Headers end with the first empty line.
func wrongHeaderLength(record []byte) (field int, value uint32, ok bool) {
	little := binary.LittleEndian
	if little.Uint32(record)&headersBit == 0 || little.Uint64(record[4:])&noMessage != 0 {
		return 0, 0, false
	}
	field = recordHead + int(little.Uint16(record[20:]))
	if field+4 > len(record)-recordSum {
		return 0, 0, false
	}
	rest := record[field+4 : len(record)-recordSum]
	end := bytes.Index(rest, []byte("\r\n\r\n")) + 4
	if !bytes.HasPrefix(rest, []byte("NATS/1.0\r\n")) || end < 4 {
		return 0, 0, false
	}
	value = uint32(end)
	return field, value, little.Uint32(record[field:]) != value
}
