package inspect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"streamer/internal/cli"
	"streamer/internal/gateway"
	"streamer/internal/server"

	"github.com/nats-io/nats.go/micro"
)

// process is the state of a process, as far as it is known without asking NATS.
type process struct {
	*gateway.Usage          // nil without a gateway
	Error          string   `json:"error,omitempty"` // why it is not ready
	Warnings       []string `json:"warnings,omitempty"`
}

func stateOf(s *server.Server) process {
	p := process{Warnings: s.Warnings()}
	if s.Page() != "" {
		u := s.Usage()
		p.Usage = &u
	}
	if err := errors.Join(s.Broker.Broken(), s.Problem()); err != nil {
		p.Error = err.Error()
	}
	return p
}

// answerTime is the time without another answer after which all processes have answered.
const answerTime = 300 * time.Millisecond

// states returns the state of each process that answers.
func (d diagnosis) states(ctx context.Context) (list []process, err error) {
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
		waiting, cancel := context.WithTimeout(ctx, answerTime)
		m, err := answers.NextMsgWithContext(waiting)
		cancel()
		if err != nil {
			return list, nil // no other answer
		}
		var stats struct {
			Endpoints []struct{ Data *process }
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

// processes reports which processes are not ready, and the limits and clients of gateways.
func (d diagnosis) processes(ctx context.Context) {
	list, err := d.states(ctx)
	if err != nil {
		d.warn("processes", "", "they cannot be asked: %v", err)
	}
	var usages []*gateway.Usage
	for _, p := range list {
		if p.Error != "" {
			d.once(Finding{"process", Failed, "not ready: " + p.Error, "see \"Stopped partitions\" and \"Failures of NATS\" in docs/operations.md"})
		}
		for _, w := range p.Warnings {
			d.once(Finding{"process", Warning, w, ""})
		}
		if p.Usage != nil {
			usages = append(usages, p.Usage)
		}
	}
	d.clients(usages)
}

// once adds what a process reports, unless another reported the same.
func (d diagnosis) once(f Finding) {
	f.Text = cli.Printable(strings.ReplaceAll(f.Text, "\n", "; "))
	if !slices.Contains(*d.Findings, f) {
		*d.Findings = append(*d.Findings, f)
	}
}

// clients lists the limits of clients that store inputs over HTTP, and those that reach them.
func (d diagnosis) clients(list []*gateway.Usage) {
	var limits []string
	for _, u := range list {
		limits = append(limits, fmt.Sprintf("%d inputs and %d bytes per second, %d open sessions", u.Inputs, u.Bytes, u.Sessions))
	}
	slices.Sort(limits)
	switch limits = slices.Compact(limits); len(limits) {
	case 0:
	case 1:
		d.ok("limits", "a client over HTTP, at each of %d gateways: %s (0 is no limit)", len(list), limits[0])
	default:
		d.warn("limits", "start all with the same flags (--http-max-inputs, --http-max-input-bytes, --http-max-sessions)", "the %d gateways differ: %s (0 is no limit)", len(list), strings.Join(limits, "; "))
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
