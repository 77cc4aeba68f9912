package broker

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
)

// ServerReport describes the server of the connection, and its user there.
type ServerReport struct {
	URL, Name, Version, Cluster string
	MaxPayload                  int64
	RTT                         time.Duration
	Account, User               string // "" if the server does not return them
}

// Server returns a description of the server.
func (b *Broker) Server(ctx context.Context) (ServerReport, error) {
	r := ServerReport{
		URL: redacted(b.nc.ConnectedUrl()), Name: b.nc.ConnectedServerName(), Version: b.nc.ConnectedServerVersion(),
		Cluster: b.nc.ConnectedClusterName(), MaxPayload: b.nc.MaxPayload(),
	}
	var err error
	if r.RTT, err = b.nc.RTT(); err != nil {
		return r, fmt.Errorf("broker: round trip: %w", err)
	}
	var info userInfo
	if b.askOnce(ctx, sysUserInfo, nil, &info) == nil {
		r.Account, r.User = cmp.Or(info.Data.AccountName, info.Data.Account), info.Data.User
	}
	return r, nil
}

// StreamReport describes a stream.
type StreamReport struct {
	Name     string
	Bounds   Bounds
	Storage  string
	Replicas int
	Cluster  string // "" if the server is in none
	Leader   string // the server itself if it is in no cluster
	Behind   []string
	MaxAge   time.Duration
	MaxBytes int64     // 0 for no limit
	Clock    time.Time // of the server that answered
	// Consumers is the number of consumers, and MaxConsumers the number above which
	// clients can create none; 0 for no limit.
	Consumers, MaxConsumers int
}

// StreamReports returns a description of each stream.
func (b *Broker) StreamReports(ctx context.Context) (list []StreamReport, err error) {
	for _, name := range streamNames {
		var info streamInfo
		if err := b.askOnce(ctx, apiStreamInfo+name, nil, &info); err != nil {
			return list, fmt.Errorf("stream %s does not answer: %w", name, err)
		}
		c := info.Config
		r := StreamReport{
			Name: name, Bounds: info.State.Bounds, Storage: c.Storage.String(), Replicas: c.Replicas,
			MaxAge: c.MaxAge, MaxBytes: max(c.MaxBytes, 0), Clock: info.Clock, Consumers: info.State.Consumers,
		}
		if name == StreamEvents {
			r.MaxConsumers = b.clientConsumers
		}
		if info.Cluster != nil {
			r.Cluster, r.Leader = info.Cluster.Name, info.Cluster.Leader
			for _, p := range info.Cluster.Replicas {
				if p.Offline || !p.Current {
					r.Behind = append(r.Behind, p.Name)
				}
			}
		}
		list = append(list, r)
	}
	return list, nil
}

// Storage returns how many bytes the account of the streams has stored, and how many it
// may store; 0 for no limit.
func (b *Broker) Storage(ctx context.Context) (used, most int64, err error) {
	var info struct {
		Used   int64 `json:"storage"`
		Limits struct {
			Most int64 `json:"max_storage"`
		} `json:"limits"`
	}
	if err := b.askOnce(ctx, apiAccountInfo, nil, &info); err != nil {
		return 0, 0, fmt.Errorf("broker: account: %w", err)
	}
	return info.Used, max(info.Limits.Most, 0), nil
}

// PartitionReport describes how far a partition is folded.
type PartitionReport struct {
	Partition  int
	Last       uint64    // sequence of its last input; 0 if there is none
	LastAt     time.Time // when that was stored
	Checkpoint uint64    // first input that is not covered by its checkpoint
	Folded     uint64    // the last input that its checkpoint shows to have been folded
}

// PartitionReports returns a description of each partition.
func (b *Broker) PartitionReports(ctx context.Context) (list []PartitionReport, err error) {
	for p := range b.partitions {
		r := PartitionReport{Partition: p}
		m, err := b.LastMessage(ctx, StreamInputs, "_llm."+strconv.Itoa(p)+".>")
		if err != nil {
			return list, err
		}
		if m != nil {
			r.Last, r.LastAt = m.Seq, m.At
		}
		c, _, err := b.LoadCheckpoint(ctx, p)
		if err != nil {
			return list, err
		}
		r.Checkpoint, r.Folded = c.Seq, max(c.Seq, c.Read.Seq+1)-1
		list = append(list, r)
	}
	return list, nil
}

// Connect connects a client, with the rights of its user, to the server that o names.
// Errors that arrive later, such as missing permissions, are passed to onError.
func Connect(ctx context.Context, o Options, onError func(error)) (*nats.Conn, error) {
	o.Existing = true // it does not wait for the server
	b := &Broker{opts: o, again: newSignal()}
	if err := checkURLs(o.URL); err != nil {
		return nil, err
	}
	return b.dial(ctx, nats.CustomInboxPrefix("_INBOX"), nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { onError(err) }))
}

// Counts are the failures since Open from which the broker recovered.
type Counts struct {
	Disconnected uint64 // connections that were lost
	Reconnected  uint64 // connections that were restored
	Resent       uint64 // publishes sent again because their outcome was unknown
	Retried      uint64 // requests to JetStream tried again
	Remade       uint64 // consumers that were lost and replaced
	Slow         uint64 // subscriptions that dropped messages
	Foreign      uint64 // messages on an internal subject that streamer did not write, or in place of what it stored there
	Denied       uint64 // permissions or credentials that were refused
	Restarted    uint64 // restarts of the embedded server after a write error
}

type counts struct {
	disconnected, reconnected, resent, retried, remade, slow, foreign, denied atomic.Uint64
}

// Counts returns the current counts.
func (b *Broker) Counts() Counts {
	c := &b.counts
	n := Counts{
		Disconnected: c.disconnected.Load(), Reconnected: c.reconnected.Load(), Resent: c.resent.Load(),
		Retried: c.retried.Load(), Remade: c.remade.Load(), Slow: c.slow.Load(), Foreign: c.foreign.Load(), Denied: c.denied.Load(),
	}
	if b.embedded != nil {
		n.Restarted = b.embedded.Restarts()
	}
	return n
}

// Connected reports whether both connections are up.
func (b *Broker) Connected() bool {
	return b.nc.Status() == nats.CONNECTED && b.reads.Status() == nats.CONNECTED
}
