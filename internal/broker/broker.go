// Package broker is the client of NATS. It connects to a server, creates and checks the
// streams, publishes messages, reads streams, and keeps snapshots,
// checkpoints, membership and blobs. Packages inputlog and eventlog build on it.
//
// It promises:
//   - Duplicates: a publish is sent again, the same bytes with the same condition,
//     until it is stored or definitively refused, and every Pub gets exactly one
//     Ack. So a conditional publish is stored at most once, whatever fails.
//   - Order: a read delivers messages in stream order, without gap or duplicate,
//     through restarts of the server. The order of several Pubs in flight at once
//     is not kept: a caller has one in flight per session.
//   - Crashes: an Ack without an error means that the message is stored. A Pub
//     without an Ack may or may not be stored.
//   - The stream's leader answers all reads that decide anything. After a change of
//     leader even its answer can be outdated. Only the condition of an append is
//     certain.
//
// The package relies on an account whose only users are streamer and agents that
// are trusted as streamer is: only streamer publishes on _llm.>, _toolcalls.>,
// _blobs.> and $KV.STREAMER_*.>, and only the server on toolcalls.>, where it
// republishes the stored events. In an account shared with clients, permissions do
// not enforce that, because a server writes acknowledgements to any reply subject.
// The embedded server has such an account, with the configuration in deploy/nats.
package broker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
)

// Errors a caller branches on.
var (
	// ErrConflict is the refusal of a conditional publish: another message is the
	// last. After an uncertain first try it can also mean that this publish itself
	// is stored: the caller reads the log before it continues.
	ErrConflict = errors.New("broker: condition refused")
	// ErrTooLarge is a message above the server's or the stream's limit.
	ErrTooLarge = errors.New("broker: message too large")
	// ErrRefused is any other definitive refusal, such as a missing permission.
	ErrRefused = errors.New("broker: publish refused")
	// ErrFull is the refusal of a stream that has as many bytes as it may have. Only
	// a Pub with RefuseFull returns it; others wait.
	ErrFull = errors.New("broker: stream is full")
	// ErrClosed reports that the broker was closed before the outcome was known.
	ErrClosed = errors.New("broker: closed")
	// ErrDamaged is a snapshot, checkpoint or blob in whose place something else
	// is stored, or that cannot be read. The error names it.
	ErrDamaged = errors.New("broker: damaged")
	// ErrReplaced reports that the input stream is not the one of the start: that one
	// was deleted, and another created.
	ErrReplaced = errors.New("broker: the input stream was replaced")
	// ErrBackwards refuses a checkpoint that is before the stored one.
	ErrBackwards = errors.New("broker: checkpoint would move back")
)

// Options select the server and configure the streams. One of URL and Embed is needed.
// If another option is zero, the value that an existing stream has recorded is adopted;
// a value that differs from it is refused with an explanation.
type Options struct {
	URL     string // comma-separated server URLs; "" runs the server of Embed
	Creds   string // credentials file
	TLSCA   string // PEM file
	TLSCert string // PEM file
	TLSKey  string // PEM file

	// Embed starts a server in this process, if URL is "". The server calls notice from
	// any goroutine. The broker closes the server.
	Embed func(notice func(msg string, err error)) (Embedded, error)

	Partitions  int           // if zero, the recorded number, or 16
	Replicas    int           // if zero, that of the streams, or 1
	Storage     string        // file or memory; if "", that of the streams, or file
	MaxBytes    int64         // limit of the input stream, which refuses inputs above it; if zero, that of the stream, or none
	InputAge    time.Duration // retention of inputs; if zero, that of the stream, or 12 h
	EventAge    time.Duration // retention of events; if zero, that of the stream, or 24 h
	SnapshotAge time.Duration // life of a snapshot; if zero, InputAge + EventAge + 1 h

	// Existing is for tools beside a running streamer: the server and the streams
	// must exist. Open does not wait for a server and creates no stream, which would
	// have the tool's settings instead of the operator's.
	Existing bool

	// OnNotice is called from any goroutine on connection changes, retries and
	// warnings of the embedded server; err may be nil. It must not block. If nil,
	// notices are dropped.
	OnNotice func(msg string, err error)
}

// Broker is two connections to the streams: one reads in bulk, the other does
// everything else. Its methods may be called from any goroutine.
type Broker struct {
	opts        Options
	partitions  int
	created     time.Time // of the input stream
	warnings    []string
	inputAge    time.Duration
	replicated  bool // the inputs
	eventAge    time.Duration
	snapshotAge time.Duration

	embedded Embedded // nil where a URL was given
	nc       *nats.Conn
	reads    *nats.Conn // for readers: acks must not wait behind their messages
	pubs     *inflights
	// consumers handles requests of clients that create consumers; nil in tools.
	consumers       *consumerGate
	clientConsumers int     // maximum number of consumers of the event stream
	again           *signal // fires after every reconnection
	counts          counts
	subs            subscriptions
	notices         noticeLimit
	down            downtime
	denied          atomic.Pointer[string] // the subject the server last forbade

	closing  sync.Once
	closeErr error
}

// Open starts the embedded server or connects to a server, creates the streams that
// are missing and checks those that exist. It waits for the server as long as ctx
// allows; ctx applies to Open only.
func Open(ctx context.Context, opts Options) (*Broker, error) {
	b := &Broker{opts: opts, again: newSignal(), clientConsumers: clientConsumers}
	if err := b.open(ctx); err != nil {
		b.Close()
		return nil, err
	}
	return b, nil
}

// OpenBare starts the embedded server or connects to a server, and leaves the streams as
// they are. With the result, only Conn, URL, StreamEnd and Close can be used.
func OpenBare(ctx context.Context, opts Options) (*Broker, error) {
	b := &Broker{opts: opts, again: newSignal()}
	err := b.reach(ctx)
	if err == nil {
		err = b.checkServer(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

func (b *Broker) reach(ctx context.Context) error {
	if b.opts.URL == "" {
		if err := b.embed(); err != nil {
			return err
		}
	}
	return b.connect(ctx)
}

func (b *Broker) open(ctx context.Context) (err error) {
	if err := b.reach(ctx); err != nil {
		return err
	}
	if b.pubs, err = newInflights(b); err != nil {
		return err
	}
	if err := b.makeStreams(ctx); err != nil {
		return err
	}
	if b.opts.Existing {
		return nil
	}
	if b.embedded != nil {
		if err := errors.Join(b.wasDown(ctx), b.forgetMembers(ctx, rootMembers+">")); err != nil {
			return err
		}
	} else if w := b.Shared(ctx); w != "" {
		b.warnings = append(b.warnings, w)
	}
	return b.serveConsumers()
}

// Close answers every Pub in flight with ErrClosed, closes the connections and
// stops the embedded server. Reads must have ended before, by their contexts. A
// second call returns the result of the first.
func (b *Broker) Close() error {
	b.closing.Do(func() { b.closeErr = b.close() })
	return b.closeErr
}

func (b *Broker) close() error {
	if b.pubs != nil {
		b.pubs.close()
	}
	for _, nc := range []*nats.Conn{b.reads, b.nc} {
		if nc != nil {
			nc.Close()
		}
	}
	if b.consumers != nil {
		b.consumers.close()
	}
	if b.embedded != nil { // last: everything else is connected to it
		return b.embedded.Close()
	}
	return nil
}

// Admit starts to listen for clients with the embedded server, to which until then
// only this process can connect. It does nothing if called again, or where the
// server is not embedded.
func (b *Broker) Admit() error {
	if b.embedded == nil {
		return nil
	}
	err := b.embedded.Admit()
	switch {
	case err == nil:
		b.down.end(time.Now())
	case errors.Is(err, net.ErrClosed):
		return ErrClosed
	}
	return err
}

// URL returns the address that clients connect to, without any password. It is ""
// where only this process can connect.
func (b *Broker) URL() string {
	if b.embedded == nil {
		return redacted(b.opts.URL)
	}
	return b.embedded.URL()
}

// OwnURL returns the URL with the rights of streamer itself. It is a secret.
func (b *Broker) OwnURL() string {
	if b.embedded == nil {
		return b.opts.URL
	}
	return b.embedded.OwnURL()
}

// AgentURL returns the URL with the rights of a trusted agent, a secret too. It is "" if
// the server is not embedded.
func (b *Broker) AgentURL() string {
	if b.embedded == nil {
		return ""
	}
	return b.embedded.AgentURL()
}

// Conn returns the connection, with the rights of streamer itself.
func (b *Broker) Conn() *nats.Conn { return b.nc }

// Partitions returns the number of partitions of the input stream.
func (b *Broker) Partitions() int { return b.partitions }

// MaxPayload returns the maximum size of a message in bytes, headers included.
func (b *Broker) MaxPayload() int { return int(b.nc.MaxPayload()) }

// Notice passes a notice to OnNotice.
func (b *Broker) Notice(msg string, err error) {
	if b.opts.OnNotice != nil {
		b.opts.OnNotice(msg, err)
	}
}

// Embedded is a NATS server in this process, as package natsserver runs it.
type Embedded interface {
	InProcessConn() (net.Conn, error) // connects to the server that runs now
	Own() (user, password string)     // the rights of streamer itself
	Admit() error                     // starts to listen for clients; net.ErrClosed after Close
	URL() string                      // for clients, OwnURL and AgentURL for users; "" if only this process can connect
	OwnURL() string
	AgentURL() string
	Dir() string    // data directory
	Problem() error // why it stores nothing, or nil
	Drop(err error) // starts it again without the damaged message that err names
	Restarts() uint64
	Close() error
}

func (b *Broker) embed() error {
	if b.opts.Embed == nil {
		return errors.New("broker: there is neither the URL of a server nor an embedded one")
	}
	s, err := b.opts.Embed(b.Notice)
	if err != nil {
		return err
	}
	b.embedded = s
	return nil
}

var errDamagedEnd = errors.New("broker: damaged on the disk")

// DamagedEnd returns the error for a session whose last event in a stream cannot
// be read. The embedded server is started again without the damaged message.
func (b *Broker) DamagedEnd(stream, token string) error {
	err := fmt.Errorf("%w: the last event of session %s in stream %s cannot be read", errDamagedEnd, token, stream)
	if b.embedded != nil {
		b.embedded.Drop(err)
		return err
	}
	return fmt.Errorf("%w; stop the NATS server, remove index.db of that stream and start it: it then drops what is damaged, and streamer appends it again", err)
}
