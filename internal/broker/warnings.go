package broker

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Warnings returns a text for each setting of the server and its streams that
// weakens the guarantees. It explains what can be lost.
func (b *Broker) Warnings() []string { return b.warnings }

// narrowMargin is the recommended minimum of event retention minus input retention.
const narrowMargin = 2 * ageMargin

func (b *Broker) weaknesses(inputs, stored jetstream.StreamConfig) (w []string) {
	add := func(format string, v ...any) { w = append(w, fmt.Sprintf(format, v...)) }
	replicas := min(inputs.Replicas, stored.Replicas)
	switch cluster := b.nc.ConnectedClusterName(); {
	case cluster == "":
	case replicas == 1:
		add("the streams have one replica in the cluster %q: while its server is down everything waits, and with that server's disk all inputs and events are lost (--replicas 3)", cluster)
	case replicas == 2:
		add("the streams have two replicas: while either server is down everything waits, as with one replica (--replicas 3)")
	}
	if b.opts.Storage == storageMemory {
		add("the streams are in memory: when the server stops, acknowledged inputs, events and open calls are lost (--storage file)")
	}
	if margin := stored.MaxAge - inputs.MaxAge; margin < narrowMargin {
		add("events are kept only %v longer than inputs: after a server's clock jumps by more, a replay could append events again (--event-age)", margin)
	}
	return w
}

// Subjects on which a server returns information about a client and its account.
const (
	sysUserInfo    = "$SYS.REQ.USER.INFO"
	sysConnections = "$SYS.REQ.ACCOUNT.PING.CONNZ"
)

const (
	sharedWait  = 300 * time.Millisecond // for the answers of all servers of a cluster
	sharedNames = 5                      // maximum number of users in a warning
)

const globalAccount = "$G"

type userInfo struct {
	Data struct {
		User        string `json:"user"`
		Account     string `json:"account"`
		AccountName string `json:"account_name"`
	} `json:"data"`
}

// Shared returns a warning where clients have users in the account of the
// streams, or "". It returns "" too where the server does not answer.
func (b *Broker) Shared(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	var info userInfo
	if b.askOnce(ctx, sysUserInfo, nil, &info) != nil {
		return ""
	}
	const harm = "a server writes acknowledgements to any reply subject, so that a client which may publish anything can overwrite snapshots and events; " +
		"give streamer an account of its own, as deploy/nats/accounts.conf does"
	if info.Data.Account == globalAccount {
		return fmt.Sprintf("the streams are in the default account %s, which clients share: %s", info.Data.Account, harm)
	}
	others := b.otherUsers(ctx, info.Data.User)
	if len(others) == 0 {
		return ""
	}
	names := strings.Join(others[:min(len(others), sharedNames)], ", ")
	return fmt.Sprintf("other users (%s) are connected to the account %s of the streams: unless they are as trusted as streamer, %s", names, cmp.Or(info.Data.AccountName, info.Data.Account), harm)
}

func (b *Broker) otherUsers(ctx context.Context, own string) []string {
	sub, err := b.nc.SubscribeSync(b.nc.NewInbox())
	if err != nil {
		return nil
	}
	defer sub.Unsubscribe()
	if b.nc.PublishRequest(sysConnections, sub.Subject, []byte(`{"auth":true}`)) != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, sharedWait)
	defer cancel()
	found := map[string]bool{}
	for {
		m, err := sub.NextMsgWithContext(ctx)
		if err != nil { // the time for answers is over
			return slices.Sorted(maps.Keys(found))
		}
		var answer struct {
			Data struct {
				Conns []struct {
					User string `json:"authorized_user"`
				} `json:"connections"`
			} `json:"data"`
		}
		if json.Unmarshal(m.Data, &answer) != nil {
			continue
		}
		for _, c := range answer.Data.Conns {
			if c.User != own {
				found[c.User] = true
			}
		}
	}
}
