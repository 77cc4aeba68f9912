package e2e

import (
	"context"
	"encoding/json"
	"os"
	"time"

	"streamer/internal/broker"
	"streamer/internal/broker/brokertest"
	"streamer/internal/client"
	"streamer/internal/lifecycle"
	"streamer/internal/server"
	"streamer/internal/worker"

	"github.com/nats-io/nuid"
	"github.com/rs/zerolog"
)

// greedyEnv is a settings value as JSON. The test binary is then a worker that
// carries all partitions, whichever other worker carries them too.
const greedyEnv = "STREAMER_TEST_GREEDY"

// settings are the settings of a process that a test kills: a snapshot after each
// change, sessions that leave memory at once, and calls that time out soon.
type settings struct {
	URL       string // of NATS
	Result    time.Duration
	Deltas    lifecycle.Deltas
	Unguarded bool // appends and snapshots as if without conditions
}

const (
	crashPartitions = 4
	crashArgs       = time.Second
	crashIdle       = 2 * time.Second
)

// runGreedy runs a worker with settings until ctx ends.
func runGreedy(ctx context.Context, text string) error {
	var s settings
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return err
	}
	b, err := client.OpenBroker(ctx, broker.Options{URL: s.URL, Partitions: crashPartitions})
	if err != nil {
		return err
	}
	defer b.Close()
	c := server.Rules{Base: lifecycle.DefaultRules()}
	c.Base.ArgsTimeout, c.Base.ResultTimeout, c.Base.RunIdle = lifecycle.Of(crashArgs), lifecycle.Of(s.Result), lifecycle.Of(crashIdle)
	c.Base.Deltas = s.Deltas
	rules, err := c.Fold(b.Retention())
	if err != nil {
		return err
	}
	var log worker.Log = b
	if s.Unguarded {
		log = unguarded{b, brokertest.Unguard(b.Broker)}
	}
	w := &worker.Worker{Log: log, Logger: zerolog.New(os.Stderr).Level(zerolog.WarnLevel), Options: worker.Options{
		Rules: rules, SnapshotEvery: 10 * time.Millisecond, EvictAfter: time.Millisecond, MaxMemory: 1, Nonce: nuid.Next(),
	}}
	all := make([]int, crashPartitions)
	for i := range all {
		all[i] = i
	}
	return w.Run(ctx, all)
}

// unguarded is a broker that publishes as if without conditions.
type unguarded struct {
	*client.Broker
	brokertest.Unguarded
}

// flags returns the flags of `streamer serve` with these settings.
func (s *settings) flags(more ...string) []string {
	return append([]string{
		"serve", "--nats-url", s.URL, "--http-listen", "127.0.0.1:0", "--save-every", "10ms", "--evict-after", "1ms",
		"--partitions", "4", "--args-timeout", crashArgs.String(), "--result-timeout", s.Result.String(),
		"--run-idle", crashIdle.String(), "--deltas", string(s.Deltas), "--log-level", "warn",
	}, more...)
}
