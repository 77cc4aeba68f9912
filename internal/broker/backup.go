package broker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
)

// Subjects of the JetStream API for backups; the name of a stream follows.
const (
	apiSnapshot = "$JS.API.STREAM.SNAPSHOT."
	apiRestore  = "$JS.API.STREAM.RESTORE."
	apiDelete   = "$JS.API.STREAM.DELETE."
)

// The files of a backup. The directory of each stream can also be restored with
// `nats stream restore`.
const (
	backupFile       = "streamer-backup.json" // written last: a backup without it is incomplete
	backupStreamFile = "backup.json"
	backupDataFile   = "stream.arc.s2"
)

// backupStreams are the streams of a backup, in the order in which they are copied.
// Workers write while the copies are made, and a restored worker continues from the
// checkpoints. Therefore each stream is copied before the ones that it refers to or
// that its content is derived from: a checkpoint relies on snapshots, and all refer
// to inputs. A restored worker then finds the state after a crash. Heartbeats of
// members are not copied.
var backupStreams = [...]string{streamCheckpoints, streamSnapshots, StreamEvents, streamBlobs, StreamInputs}

// chunkSize is the size of the messages that carry a backup, and chunkTime the
// maximum time between two of them.
const (
	chunkSize = 128 << 10
	chunkTime = 30 * time.Second
)

// BackedUp describes a stream in a backup.
type BackedUp struct {
	Stream   string `json:"stream"`
	Messages uint64 `json:"messages"`
	Last     uint64 `json:"last_seq"`
	Bytes    int64  `json:"bytes"` // of its file
}

// String returns the description in one line.
func (s BackedUp) String() string {
	return fmt.Sprintf("%-23s %9d messages, %d bytes", s.Stream, s.Messages, s.Bytes)
}

// BackupReport receives what a backup or a restore has copied. Functions that are nil
// are not called.
type BackupReport struct {
	Copied func(stream string, bytes, total int64) // repeatedly; total is 0 if unknown
	Done   func(BackedUp)                          // after each stream
}

func (r BackupReport) copied(stream string, bytes, total int64) {
	if r.Copied != nil {
		r.Copied(stream, bytes, total)
	}
}

func (r BackupReport) done(s BackedUp) {
	if r.Done != nil {
		r.Done(s)
	}
}

// backupOf is the content of backupFile.
type backupOf struct {
	At         time.Time  `json:"at"`
	Partitions int        `json:"partitions"`
	Streams    []BackedUp `json:"streams"`
}

// streamBackup is the content of backupStreamFile.
type streamBackup struct {
	Config map[string]json.RawMessage `json:"config"` // also settings that this version does not know
	State  json.RawMessage            `json:"state"`
}

// Backup copies the streams to a new directory while they are in use.
func (b *Broker) Backup(ctx context.Context, dir string, report BackupReport) error {
	switch err := os.Mkdir(dir, 0o700); {
	case errors.Is(err, os.ErrExist):
		return fmt.Errorf("broker: backup: %s exists: name a directory that does not exist, or delete this one: %w", dir, err)
	case err != nil:
		return fmt.Errorf("broker: backup: %w", err)
	}
	all := backupOf{At: time.Now().UTC(), Partitions: b.partitions}
	for _, name := range backupStreams {
		one, err := b.backup(ctx, name, filepath.Join(dir, name), report)
		if err != nil {
			return fmt.Errorf("broker: backup of stream %s: %w", name, err)
		}
		all.Streams = append(all.Streams, one)
		report.done(one)
	}
	return writeJSON(filepath.Join(dir, backupFile), all)
}

// backup copies a stream to a new directory.
func (b *Broker) backup(ctx context.Context, name, dir string, report BackupReport) (done BackedUp, err error) {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return done, err
	}
	file, err := os.OpenFile(filepath.Join(dir, backupDataFile), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return done, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	inbox := b.nc.NewInbox()
	sub, err := b.nc.SubscribeSync(inbox)
	if err != nil {
		return done, err
	}
	defer func() { _ = sub.Unsubscribe() }() // fails only where the connection is closed
	var begun struct {
		failure
		streamBackup
	}
	request := map[string]any{"deliver_subject": inbox, "no_consumers": true, "chunk_size": chunkSize}
	// A second request would send the stream twice to the same subject.
	if err := b.askWithin(ctx, chunkTime, apiSnapshot+name, request, &begun); err != nil {
		return done, err
	}
	var state struct {
		Messages uint64 `json:"messages"`
		Last     uint64 `json:"last_seq"`
	}
	if err := json.Unmarshal(begun.State, &state); err != nil {
		return done, fmt.Errorf("%w: %w", errUnreadable, err)
	}
	done = BackedUp{Stream: name, Messages: state.Messages, Last: state.Last}
	if done.Bytes, err = receive(ctx, sub, file, func(n int64) { report.copied(name, n, 0) }); err != nil {
		return done, err
	}
	if err := file.Sync(); err != nil {
		return done, err
	}
	return done, writeJSON(filepath.Join(dir, backupStreamFile), begun.streamBackup)
}

// receive writes the chunks of a backup to w, until the server sends the end. It calls
// copied with the bytes so far.
func receive(ctx context.Context, sub *nats.Subscription, w io.Writer, copied func(int64)) (n int64, err error) {
	for {
		m, err := next(ctx, sub)
		if err != nil {
			return n, fmt.Errorf("after %d bytes: %w", n, err)
		}
		if len(m.Data) == 0 {
			if status := m.Header.Get("Status"); status != "" && status != "204" {
				return n, fmt.Errorf("after %d bytes: the server stopped: %s %s", n, status, m.Header.Get("Description"))
			}
			return n, nil
		}
		if _, err := w.Write(m.Data); err != nil {
			return n, err
		}
		n += int64(len(m.Data))
		copied(n)
		if m.Reply == "" { // the last chunk
			continue
		}
		if err := m.Respond(nil); err != nil {
			return n, err
		}
	}
}

// next returns the next chunk of a backup.
func next(ctx context.Context, sub *nats.Subscription) (*nats.Msg, error) {
	ctx, cancel := context.WithTimeout(ctx, chunkTime)
	defer cancel()
	return sub.NextMsgWithContext(ctx)
}

// Restore creates the streams from a backup, on the server of opts. There must be none of them yet. Of
// the options of the streams only Replicas applies. If an error is returned, the streams
// that it created are deleted.
func Restore(ctx context.Context, opts Options, dir string, report BackupReport) (err error) {
	var all backupOf
	switch err := readJSON(filepath.Join(dir, backupFile), &all); {
	case errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("broker: restore: %s is not a complete backup: %w", dir, err)
	case err != nil:
		return fmt.Errorf("broker: restore: %w", err)
	}
	b := &Broker{opts: opts, again: newSignal()}
	defer func() { err = errors.Join(err, b.Close()) }()
	if err := b.openBare(ctx); err != nil {
		return err
	}
	for _, name := range streamNames {
		if info, err := b.stream(ctx, name); err != nil {
			return err
		} else if info != nil {
			return fmt.Errorf("broker: restore: stream %s exists on %s: stop every streamer and delete all of its streams first", name, b.URL())
		}
	}
	for i, one := range all.Streams {
		if err := b.restore(ctx, one, filepath.Join(dir, one.Stream), report); err != nil {
			b.remove(ctx, all.Streams[:i+1])
			return fmt.Errorf("broker: restore of stream %s: %w", one.Stream, err)
		}
		report.done(one)
	}
	return nil
}

// remove deletes the streams that a failed restore has created, so that it can be
// repeated. A stream that cannot be deleted is named by the next restore.
func (b *Broker) remove(ctx context.Context, list []BackedUp) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), chunkTime)
	defer cancel()
	for _, one := range list {
		_ = b.askOnce(ctx, apiDelete+one.Stream, nil, &failure{})
	}
}

// openBare starts the embedded server or connects to a server, and leaves the streams
// as they are.
func (b *Broker) openBare(ctx context.Context) error {
	if b.opts.URL == "" {
		if err := b.embed(); err != nil {
			return err
		}
	}
	if err := b.connect(ctx); err != nil {
		return err
	}
	return b.checkServer(ctx)
}

// restore creates a stream from its directory in a backup.
func (b *Broker) restore(ctx context.Context, one BackedUp, dir string, report BackupReport) error {
	var was streamBackup
	if err := readJSON(filepath.Join(dir, backupStreamFile), &was); err != nil {
		return err
	}
	if replicas := b.opts.Replicas; replicas != 0 || b.embedded != nil {
		was.Config["num_replicas"] = json.RawMessage(strconv.Itoa(max(replicas, 1)))
	}
	file, err := os.Open(filepath.Join(dir, backupDataFile))
	if err != nil {
		return err
	}
	defer file.Close()
	var begun struct {
		failure
		To string `json:"deliver_subject"`
	}
	if err := b.askWithin(ctx, chunkTime, apiRestore+one.Stream, was, &begun); err != nil {
		return err
	}
	if err := b.sendChunks(ctx, begun.To, file, func(n int64) { report.copied(one.Stream, n, one.Bytes) }); err != nil {
		return err
	}
	info, err := b.stream(ctx, one.Stream)
	switch {
	case err != nil:
		return err
	case info == nil:
		return errors.New("the server did not create it")
	case info.State.Last != one.Last:
		return fmt.Errorf("its last message is %d, %d in the backup", info.State.Last, one.Last)
	}
	return nil
}

// sendChunks sends a file to the subject that restores a stream. The server refuses
// a chunk with the error of the whole restore. copied is called with the bytes so far.
func (b *Broker) sendChunks(ctx context.Context, to string, file io.Reader, copied func(int64)) error {
	chunk, sent := make([]byte, chunkSize), int64(0)
	for {
		n, err := io.ReadFull(file, chunk)
		if n == 0 && !errors.Is(err, io.EOF) {
			return err
		}
		answer, asked := b.sendChunk(ctx, to, chunk[:n]) // the empty one ends the restore
		if asked != nil {
			return asked
		}
		var end failure
		if len(answer) > 0 {
			if err := json.Unmarshal(answer, &end); err != nil {
				return fmt.Errorf("%w on %s: %w", errUnreadable, to, err)
			}
		}
		if end.Err != nil {
			return end.Err
		}
		if n == 0 {
			return nil
		}
		sent += int64(n)
		copied(sent)
	}
}

func (b *Broker) sendChunk(ctx context.Context, to string, chunk []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, chunkTime)
	defer cancel()
	reply, err := b.nc.RequestWithContext(ctx, to, chunk)
	if err != nil {
		return nil, err
	}
	return reply.Data, nil
}

func writeJSON(path string, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o600)
}

func readJSON(path string, v any) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, v); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
