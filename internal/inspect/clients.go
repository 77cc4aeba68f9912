package inspect

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"streamer/internal/gateway"

	"github.com/nats-io/nats.go/micro"
)

// usageTime is the time without another answer after which all gateways have answered.
const usageTime = 300 * time.Millisecond

// usages returns the use of each gateway that answers.
func (d diagnosis) usages(ctx context.Context) (list []gateway.Usage, err error) {
	nc := d.Conn()
	inbox := nc.NewInbox()
	answers, err := nc.SubscribeSync(inbox)
	if err != nil {
		return nil, err
	}
	defer func() { _ = answers.Unsubscribe() }() // fails only if the connection is closed
	if err := nc.PublishRequest(micro.APIPrefix+".STATS.streamer", inbox, nil); err != nil {
		return nil, err
	}
	for {
		waiting, cancel := context.WithTimeout(ctx, usageTime)
		m, err := answers.NextMsgWithContext(waiting)
		cancel()
		if err != nil {
			return list, nil // no other answer
		}
		var stats micro.Stats
		if json.Unmarshal(m.Data, &stats) != nil {
			continue // no service is there
		}
		for _, e := range stats.Endpoints {
			var u gateway.Usage
			if len(e.Data) > 0 && json.Unmarshal(e.Data, &u) == nil {
				list = append(list, u)
			}
		}
	}
}

// manyRepeated is the percentage of repeated inputs that is a warning: retries are fewer.
const manyRepeated = 5

// clients lists the limits of clients that store inputs over HTTP, and those that reach them.
func (d diagnosis) clients(ctx context.Context) {
	list, err := d.usages(ctx)
	if err != nil {
		d.warn("limits", "", "the gateways cannot be asked: %v", err)
		return
	}
	var limits []string
	for _, u := range list {
		if text := limitsText(&u); !slices.Contains(limits, text) {
			limits = append(limits, text)
		}
	}
	if len(limits) > 0 {
		d.ok("limits", "gateways: %d, each for a client over HTTP: %s", len(list), strings.Join(limits, "; other ones: "))
	}
	for _, u := range list {
		for _, c := range u.Clients {
			text := fmt.Sprintf("%s: %d refused or delayed, %d open sessions, %d of %d inputs repeated", printable(c.Client), c.Refused, c.Open, c.Repeated, c.Stored)
			switch {
			case c.Refused > 0 || u.Near(&c):
				d.warn("client", "raise the limit (--http-max-inputs, --http-max-input-bytes, --http-max-sessions), or have the client do less", "%s", text)
			case c.Repeated*100 >= c.Stored*manyRepeated:
				d.warn("client", "use a new Idempotency-Key for each input: one with the key of another is not stored", "%s", text)
			default:
				d.ok("client", "%s", text)
			}
		}
	}
}

func limitsText(u *gateway.Usage) string {
	var list []string
	for _, l := range []struct {
		most int
		of   string
	}{{u.Inputs, "inputs per second"}, {u.Bytes, "bytes per second"}, {u.Sessions, "open sessions"}} {
		if l.most > 0 {
			list = append(list, fmt.Sprintf("%d %s", l.most, l.of))
		}
	}
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(list, ", ")
}
