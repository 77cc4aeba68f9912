// Package backup copies the streams of a running streamer to a directory, and creates
// them from it.
//
// It promises:
//   - A backup that is complete has the file streamer-backup.json. A restored streamer
//     continues as after a crash at the time of the backup.
//   - A restore that fails leaves none of the streams that it created, and changes no
//     other: whatever the files of a backup say, it creates streams of streamer alone.
//   - It changes no order and makes no duplicates: messages keep their sequences.
package backup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"streamer/internal/broker"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
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
	manifestFile = "streamer-backup.json" // written last: a backup without it is incomplete
	streamFile   = "backup.json"
	dataFile     = "stream.arc.s2"
)

// copied are the streams of a backup, in the order in which they are copied.
// Workers write while the copies are made, and a restored worker continues from the
// checkpoints. Therefore each stream is copied before the ones that it refers to or
// that its content is derived from: a checkpoint relies on snapshots, and all refer
// to inputs. A restored worker then finds the state after a crash.
var copied = [...]string{broker.StreamDead, "KV_STREAMER_CHECKPOINT", "KV_STREAMER_SNAPSHOT", broker.StreamEvents, "STREAMER_BLOBS", broker.StreamInputs}

// members is the stream that is not copied.
const members = "KV_STREAMER_MEMBER"

// chunkSize is the size of the messages that carry a backup, and chunkTime the
// maximum time between two of them.
const (
	chunkSize = 128 << 10
	chunkTime = 30 * time.Second
)

// Stream describes a stream in a backup.
type Stream struct {
	Name     string `json:"stream"`
	Messages uint64 `json:"messages"`
	Last     uint64 `json:"last_seq"`
	Bytes    int64  `json:"bytes"` // of its file
}

// String returns the description in one line.
func (s Stream) String() string {
	return fmt.Sprintf("%-23s %9d messages, %d bytes", s.Name, s.Messages, s.Bytes)
}

// Report receives what a backup or a restore has copied. Functions that are nil
// are not called.
type Report struct {
	Into   func(server string)                     // before a restore creates the first stream
	Copied func(stream string, bytes, total int64) // repeatedly; total is 0 if unknown
	Done   func(Stream)                            // after each stream
}

func (r Report) copied(stream string, bytes, total int64) {
	if r.Copied != nil {
		r.Copied(stream, bytes, total)
	}
}

func (r Report) done(s Stream) {
	if r.Done != nil {
		r.Done(s)
	}
}

// manifest is the content of manifestFile.
type manifest struct {
	At         time.Time `json:"at"`
	Partitions int       `json:"partitions"`
	Streams    []Stream  `json:"streams"`
}

// streamCopy is the content of streamFile.
type streamCopy struct {
	Config map[string]json.RawMessage `json:"config"` // also settings that this version does not know
	State  json.RawMessage            `json:"state"`
}

// Create copies the streams to a new directory while they are in use.
func Create(ctx context.Context, b *broker.Broker, dir string, report Report) error {
	switch err := os.Mkdir(dir, 0o700); {
	case errors.Is(err, os.ErrExist):
		return fmt.Errorf("backup: %s exists: name a directory that does not exist, or delete this one: %w", dir, err)
	case err != nil:
		return fmt.Errorf("backup: %w", err)
	}
	all := manifest{At: time.Now().UTC(), Partitions: b.Partitions()}
	for _, name := range copied {
		if name == broker.StreamDead { // there is none without a sink
			if _, exists, err := b.StreamEnd(ctx, name); err == nil && !exists {
				continue
			}
		}
		one, err := create(ctx, b.Conn(), name, filepath.Join(dir, name), report)
		if err != nil {
			return fmt.Errorf("backup of stream %s: %w", name, err)
		}
		all.Streams = append(all.Streams, one)
		report.done(one)
	}
	return writeJSON(filepath.Join(dir, manifestFile), all)
}

func create(ctx context.Context, nc *nats.Conn, name, dir string, report Report) (done Stream, err error) {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return done, err
	}
	file, err := os.OpenFile(filepath.Join(dir, dataFile), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return done, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	inbox := nc.NewInbox()
	sub, err := nc.SubscribeSync(inbox)
	if err != nil {
		return done, err
	}
	defer func() { _ = sub.Unsubscribe() }() // fails only where the connection is closed
	var answer streamCopy
	request, _ := json.Marshal(map[string]any{"deliver_subject": inbox, "no_consumers": true, "chunk_size": chunkSize}) // cannot fail
	if err := ask(ctx, nc, apiSnapshot+name, request, &answer); err != nil {
		return done, err
	}
	var state struct {
		Messages uint64 `json:"messages"`
		Last     uint64 `json:"last_seq"`
	}
	if err := json.Unmarshal(answer.State, &state); err != nil {
		return done, fmt.Errorf("unreadable answer: %w", err)
	}
	done = Stream{Name: name, Messages: state.Messages, Last: state.Last}
	if done.Bytes, err = receive(ctx, sub, file, func(n int64) { report.copied(name, n, 0) }); err != nil {
		return done, err
	}
	if err := file.Sync(); err != nil {
		return done, err
	}
	return done, writeJSON(filepath.Join(dir, streamFile), answer)
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

func next(ctx context.Context, sub *nats.Subscription) (*nats.Msg, error) {
	ctx, cancel := context.WithTimeout(ctx, chunkTime)
	defer cancel()
	return sub.NextMsgWithContext(ctx)
}

// Restore creates the streams from a backup, on the server of opts. There must be none
// of them yet. Of the options of the streams only Replicas applies. If an error is
// returned, the streams that it created are deleted.
func Restore(ctx context.Context, opts broker.Options, dir string, report Report) (err error) {
	files, err := os.OpenRoot(dir) // a link in a backup leads nowhere else
	if err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	defer files.Close()
	list, err := read(files)
	if err != nil {
		return fmt.Errorf("restore: %s: %w", dir, err)
	}
	b, err := broker.OpenBare(ctx, opts)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	if err := vacant(ctx, b, opts); err != nil {
		return err
	}
	if report.Into != nil {
		report.Into(fmt.Sprintf("the NATS server %s at %s", b.Conn().ConnectedServerName(), b.Conn().ConnectedUrlRedacted()))
	}
	for i, one := range list {
		created, err := restore(ctx, b, opts, one, files, report)
		if created {
			i++
		}
		if err != nil {
			remove(ctx, b.Conn(), list[:i])
			return fmt.Errorf("restore of stream %s: %w", one.Name, err)
		}
		report.done(one.Stream)
	}
	return nil
}

// source is a stream that is to be restored, with the content of its streamFile.
type source struct {
	Stream
	was streamCopy
}

// read returns the streams of a backup. They are the streams that a backup copies, with
// their own names, subjects and destinations.
func read(files *os.Root) (list []source, err error) {
	var all manifest
	switch err := readJSON(files, manifestFile, &all); {
	case errors.Is(err, os.ErrNotExist):
		return nil, fmt.Errorf("not a complete backup: %w", err)
	case err != nil:
		return nil, err
	}
	missing := slices.Clone(copied[:])
	for _, one := range all.Streams {
		i := slices.Index(missing, one.Name)
		if i < 0 {
			return nil, fmt.Errorf("%s names the stream %q, which no backup has, or has once", manifestFile, one.Name)
		}
		missing = slices.Delete(missing, i, i+1)
		s := source{Stream: one}
		if err := readJSON(files, filepath.Join(one.Name, streamFile), &s.was); err != nil {
			return nil, err
		}
		if err := s.was.check(one.Name); err != nil {
			return nil, fmt.Errorf("%s/%s: %w", one.Name, streamFile, err)
		}
		list = append(list, s)
	}
	missing = slices.DeleteFunc(missing, func(name string) bool { return name == broker.StreamDead })
	if len(missing) > 0 {
		return nil, fmt.Errorf("not a complete backup: it lacks the streams %s", strings.Join(missing, ", "))
	}
	return list, nil
}

// check returns an error if the configuration would write to, or read from, anything but
// the stream's own subjects.
func (c *streamCopy) check(name string) error {
	text, err := json.Marshal(c.Config)
	if err != nil {
		return err
	}
	var config jetstream.StreamConfig
	if err := json.Unmarshal(text, &config); err != nil {
		return err
	}
	own := broker.Destinations(name)
	subjects := slices.Clone(config.Subjects)
	if t := config.SubjectTransform; t != nil {
		subjects = append(subjects, t.Destination)
	}
	if r := config.RePublish; r != nil {
		subjects = append(subjects, r.Destination)
	}
	switch {
	case config.Name != name:
		return fmt.Errorf("the configuration is that of a stream %q", config.Name)
	case config.Mirror != nil || len(config.Sources) > 0:
		return errors.New("the stream copies another one")
	}
	for _, s := range subjects {
		if !slices.ContainsFunc(own, func(root string) bool { return strings.HasPrefix(s, root) }) {
			return fmt.Errorf("the stream has the subject %q; need one of %s", s, strings.Join(own, ", "))
		}
	}
	return nil
}

// vacant returns an error if there is one of the streams.
func vacant(ctx context.Context, b *broker.Broker, opts broker.Options) error {
	for _, name := range append(copied[:], members) {
		_, exists, err := b.StreamEnd(ctx, name)
		switch {
		case err != nil:
			return err
		case exists && opts.URL == "":
			return fmt.Errorf("restore: stream %s exists in the data directory: name an empty one", name)
		case exists:
			return fmt.Errorf("restore: stream %s exists on %s: stop every streamer and delete all of its streams first", name, b.URL())
		}
	}
	return nil
}

// remove deletes the streams that a failed restore has created, so that it can be
// repeated. A stream that cannot be deleted is named by the next restore.
func remove(ctx context.Context, nc *nats.Conn, list []source) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), chunkTime)
	defer cancel()
	for _, one := range list {
		_ = ask(ctx, nc, apiDelete+one.Name, nil, nil)
	}
}

// restore creates a stream. It reports whether the server acknowledged that: another
// process may have created one of that name meanwhile.
func restore(ctx context.Context, b *broker.Broker, opts broker.Options, one source, files *os.Root, report Report) (created bool, err error) {
	if opts.Replicas != 0 || opts.URL == "" {
		one.was.Config["num_replicas"] = json.RawMessage(strconv.Itoa(max(opts.Replicas, 1)))
	}
	file, err := files.Open(filepath.Join(one.Name, dataFile))
	if err != nil {
		return false, err
	}
	defer file.Close()
	var answer struct {
		To string `json:"deliver_subject"`
	}
	request, err := json.Marshal(one.was)
	if err != nil {
		return false, err
	}
	if err := ask(ctx, b.Conn(), apiRestore+one.Name, request, &answer); err != nil {
		return false, err
	}
	if err := sendChunks(ctx, b.Conn(), answer.To, file, func(n int64) { report.copied(one.Name, n, one.Bytes) }); err != nil {
		return false, err
	}
	last, exists, err := b.StreamEnd(ctx, one.Name)
	switch {
	case err != nil:
		return true, err
	case !exists:
		return false, errors.New("the server did not create it")
	case last != one.Last:
		return true, fmt.Errorf("its last message is %d, %d in the backup", last, one.Last)
	}
	return true, nil
}

// sendChunks sends a file to the subject that restores a stream. The server refuses
// a chunk with the error of the whole restore. copied is called with the bytes so far.
func sendChunks(ctx context.Context, nc *nats.Conn, to string, file io.Reader, copied func(int64)) error {
	chunk, sent := make([]byte, chunkSize), int64(0)
	for {
		n, err := io.ReadFull(file, chunk)
		if n == 0 && !errors.Is(err, io.EOF) {
			return err
		}
		if err := ask(ctx, nc, to, chunk[:n], nil); err != nil || n == 0 { // the empty one ends the restore
			return err
		}
		sent += int64(n)
		copied(sent)
	}
}

// ask sends a request once, because a second one would copy the stream twice to the same
// subject. It unmarshals the answer into v, if that is not nil.
func ask(ctx context.Context, nc *nats.Conn, subject string, request []byte, v any) error {
	ctx, cancel := context.WithTimeout(ctx, chunkTime)
	defer cancel()
	reply, err := nc.RequestWithContext(ctx, subject, request)
	if err != nil {
		return fmt.Errorf("no answer on %s: %w", subject, err)
	}
	var end struct {
		Error *struct {
			Code        int    `json:"err_code"`
			Description string `json:"description"`
		} `json:"error"`
	}
	if len(reply.Data) > 0 {
		err = json.Unmarshal(reply.Data, &end)
	}
	if err == nil && end.Error != nil {
		return fmt.Errorf("%s (%d)", end.Error.Description, end.Error.Code)
	}
	if err == nil && v != nil {
		err = json.Unmarshal(reply.Data, v)
	}
	if err != nil {
		return fmt.Errorf("unreadable answer on %s: %w", subject, err)
	}
	return nil
}

func writeJSON(path string, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o600)
}

func readJSON(files *os.Root, path string, v any) error {
	text, err := files.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, v); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
