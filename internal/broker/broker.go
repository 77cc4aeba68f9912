// Package broker is everything NATS: it opens the connection or the embedded
// server, makes and checks the streams, appends, reads, tails and saves.
//
// It promises:
//   - A publish is sent again, the same bytes with the same condition, until
//     it is stored or definitively refused; every Pub gets exactly one Ack. So
//     a conditional append is stored at most once, whatever fails.
//   - Inputs and events come in stream order, without gap or duplicate,
//     through restarts of the server; what was lost is an error, never a gap.
//   - Reads that decide anything are answered by the stream's leader. Even
//     those can be stale after a change of leader: only the condition of an
//     append is the truth.
//
// The order of several Pubs in flight at once is not kept: one in flight per
// session keeps that session's order.
//
// It relies on an account that only streamer, and agents trusted as it is, have
// users in: only streamer publishes on _llm.>, _toolcalls.>, _blobs.> and
// $KV.STREAMER_*.>, and only the server on toolcalls.>, where it republishes
// what is stored. Permissions do not enforce that in an account shared with
// clients, because a server writes acknowledgements to any reply subject. The
// embedded server has such an account, with the configuration in deploy/nats.
package broker

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
)

// Errors a caller branches on.
var (
	// ErrConflict is the refusal of a conditional publish: the chain or key is
	// not where the condition says. After an uncertain first try it can also
	// mean that this very publish is already stored: read before going on.
	ErrConflict = errors.New("broker: condition refused")
	// ErrTooLarge is a message above the server's or the stream's limit.
	ErrTooLarge = errors.New("broker: message too large")
	// ErrRefused is any other definitive refusal, such as a missing permission.
	ErrRefused = errors.New("broker: publish refused")
	// ErrFull is the refusal of a stream that has as many bytes as it may have,
	// where Pub.RefuseFull asks for it.
	ErrFull = errors.New("broker: stream is full")
	// ErrClosed answers what was under way when the broker was closed.
	ErrClosed = errors.New("broker: closed")
	// ErrDamaged is a snapshot, checkpoint or blob in whose place something else
	// is stored, or that cannot be read. The error names it.
	ErrDamaged = errors.New("broker: damaged")
	// ErrReplaced says that the input stream is not the one there was at the
	// start: somebody deleted that and made another.
	ErrReplaced = errors.New("broker: the input stream was replaced")
	// ErrBackwards refuses a checkpoint that is before the stored one.
	ErrBackwards = errors.New("broker: checkpoint would move back")
)

// Options say which server to use and what the streams are to be. The zero
// value of each but DataDir is usable. What an existing stream has recorded
// is adopted where an option is zero, and refused in words where it differs.
type Options struct {
	URL     string // comma-separated server URLs; "" runs the embedded server
	Creds   string // credentials file
	TLSCA   string // PEM file
	TLSCert string // PEM file
	TLSKey  string // PEM file

	DataDir string // of the embedded server; one process at a time
	// Listen is the embedded server's loopback address, on which it listens from
	// Admit on. If the port is taken at the start another free one is used, which
	// Broker.URL returns. If "", only this process can connect.
	Listen string
	// OwnPassword and AgentPassword are those of the embedded server's users for
	// streamer itself and for trusted agents; if "", new ones.
	OwnPassword   string
	AgentPassword string
	SyncAlways    bool // the embedded server syncs every message to disk, else once a second

	Partitions  int           // if zero, what is recorded, or 16
	Replicas    int           // if zero, what the streams have, or 1
	Storage     string        // file or memory; if "", what the streams have, or file
	MaxBytes    int64         // of inputs: more are refused until old ones go; if zero, what the stream has, or no limit
	InputAge    time.Duration // retention of inputs; if zero, what the stream has, or 12 h
	EventAge    time.Duration // retention of events; if zero, what the stream has, or 24 h
	SnapshotAge time.Duration // life of a snapshot; if zero, InputAge + EventAge + 1 h
	Duplicates  time.Duration // window of Nats-Msg-Id; if zero, what the stream has, or 2 min, or the age if that is less

	// Existing is for tools beside a running streamer: the server and the
	// streams have to be there already. Open waits for no server and makes no
	// stream, which would have a tool's settings and not the operator's.
	Existing bool

	Name string // of the connection; if "", "streamer"
	// OnNotice is told of connection changes, retries and the embedded
	// server's warnings, from any goroutine; err may be nil. It must not
	// block. If nil, nobody is.
	OnNotice func(msg string, err error)

	// NoCondition leaves the conditions out of appends and saves. It is there
	// for tests only: it shows that without them a second writer does harm.
	NoCondition bool
	// Shared puts the clients of the embedded server into the account of the
	// streams. It is there for tests only: it shows what the accounts prevent.
	Shared bool
}

// Broker is two connections with their streams: one reads in bulk, the other
// does everything else. Its methods may be called from any goroutine.
type Broker struct {
	opts        Options
	partitions  int
	created     time.Time // of the input stream
	warnings    []string
	inputAge    time.Duration
	replicated  bool // the inputs
	eventAge    time.Duration
	snapshotAge time.Duration

	embedded *embedded // nil where a URL was given
	nc       *nats.Conn
	reads    *nats.Conn // what readers pull: acks must not wait behind it
	pubs     *publisher
	// consumers answers clients that create consumers; nil in tools.
	consumers       *consumerGate
	clientConsumers int     // how many there may be of the event stream
	again           *signal // fires after every reconnection
	counts          counts
	subs            subscriptions
	notices         noticeLimit
	down            downtime
	denied          atomic.Pointer[string] // the subject the server last forbade

	closing  sync.Once
	closeErr error
}

// Open starts or reaches the server, makes the streams that are missing and
// checks those that are there. It waits for the server as long as ctx allows;
// ctx bounds Open only.
func Open(ctx context.Context, opts Options) (*Broker, error) {
	b := &Broker{opts: opts, again: newSignal(), clientConsumers: clientConsumers}
	if err := b.open(ctx); err != nil {
		b.Close()
		return nil, err
	}
	return b, nil
}

func (b *Broker) open(ctx context.Context) (err error) {
	if b.opts.URL == "" {
		if b.embedded, err = startEmbedded(b.opts, b.notice, &b.counts.restarted); err != nil {
			return err
		}
	}
	if err := b.connect(ctx); err != nil {
		return err
	}
	if b.pubs, err = newPublisher(b.nc, b.report, &b.counts.resent, &b.down); err != nil {
		return err
	}
	if err := b.makeStreams(ctx); err != nil {
		return err
	}
	if b.opts.Existing {
		return nil
	}
	if b.embedded != nil {
		if err := errors.Join(b.wasDown(ctx), b.forgetMembers(ctx)); err != nil {
			return err
		}
	} else if w := b.sharedAccount(ctx); w != "" {
		b.warnings = append(b.warnings, w)
	}
	return b.serveConsumers()
}

// Close answers every Pub still in flight with ErrClosed and shuts the
// connection and the embedded server down. Reads must have been ended by
// their contexts before. Closing twice is closing once.
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
	if b.embedded != nil { // last: everything else talks to it
		return b.embedded.close()
	}
	return nil
}

// Admit lets the embedded server listen for clients, which until then only this
// process can reach. Calling it again, or with another server, does nothing.
func (b *Broker) Admit() error {
	if b.embedded == nil {
		return nil
	}
	err := b.embedded.admit()
	if err == nil {
		b.down.end(time.Now())
	}
	return err
}

// URL gives the address clients can connect to, without any password. It is
// "" where only this process can.
func (b *Broker) URL() string {
	if b.embedded == nil {
		return redacted(b.opts.URL)
	}
	return b.embedded.url("", "")
}

// OwnURL is URL with the rights of streamer itself. It is a secret.
func (b *Broker) OwnURL() string {
	if b.embedded == nil {
		return b.opts.URL
	}
	return b.embedded.url(ownUser, b.embedded.own)
}

// AgentURL is URL with the rights of a trusted agent: it publishes inputs in the
// account of the streams, which is cheaper than from the account of clients. Its
// acknowledgements can reach every subject there, so it is a secret. It is ""
// where the server is not embedded.
func (b *Broker) AgentURL() string {
	if b.embedded == nil {
		return ""
	}
	return b.embedded.url(agentUser, b.embedded.agent)
}

// Partitions gives the number of partitions of the input stream.
func (b *Broker) Partitions() int { return b.partitions }

// MaxPayload gives the largest message in bytes the server takes, headers
// included.
func (b *Broker) MaxPayload() int { return int(b.nc.MaxPayload()) }

// Conditional reports whether appends carry conditions. Only tests leave them out.
func (b *Broker) Conditional() bool { return !b.opts.NoCondition }

func (b *Broker) notice(msg string, err error) {
	if b.opts.OnNotice != nil {
		b.opts.OnNotice(msg, err)
	}
}
