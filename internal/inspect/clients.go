package inspect

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"streamer/internal/cli"
	"streamer/internal/gateway"

	"github.com/nats-io/nats.go/micro"
)

// usageTime is the time without another answer after which all gateways have answered.
const usageTime = 300 * time.Millisecond

// usages returns the use of each gateway that answers.
func (d diagnosis) usages(ctx context.Context) (list []gateway.Usage, err error) {
	inbox := d.Conn().NewInbox()
	answers, err := d.Conn().SubscribeSync(inbox)
	if err != nil {
		return nil, err
	}
	defer func() { _ = answers.Unsubscribe() }() // fails only if the connection is closed
	if err := d.Conn().PublishRequest(micro.APIPrefix+".STATS.streamer", inbox, nil); err != nil {
		return nil, err
	}
	for {
		waiting, cancel := context.WithTimeout(ctx, usageTime)
		m, err := answers.NextMsgWithContext(waiting)
		cancel()
		if err != nil {
			return list, nil // no other answer
		}
		var stats struct {
			Endpoints []struct{ Data *gateway.Usage }
		}
		_ = json.Unmarshal(m.Data, &stats) // an answer that no service is there has no data
		for _, e := range stats.Endpoints {
			if e.Data != nil {
				list = append(list, *e.Data)
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
	}
	var limits []string
	for _, u := range list {
		limits = append(limits, fmt.Sprintf("a client over HTTP, at each of %d gateways: %d inputs and %d bytes per second, %d open sessions (0 is no limit)", len(list), u.Inputs, u.Bytes, u.Sessions))
	}
	slices.Sort(limits)
	for _, text := range slices.Compact(limits) {
		d.ok("limits", "%s", text)
	}
	for _, u := range list {
		for _, c := range u.Clients {
			report := d.ok
			if c.Refused > 0 || c.Near || c.Repeated*100 >= c.Inputs*manyRepeated {
				report = func(check, format string, args ...any) {
					d.warn(check, "raise the limit (--http-max-inputs, --http-max-input-bytes, --http-max-sessions); use a new Idempotency-Key for each input", format, args...)
				}
			}
			report("client", "%s: %d refused or delayed, %d open sessions, %d of %d inputs repeated", cli.Printable(strings.ReplaceAll(c.Client, "\n", " ")), c.Refused, c.Open, c.Repeated, c.Inputs)
		}
	}
}
