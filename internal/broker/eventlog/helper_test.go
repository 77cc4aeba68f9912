package eventlog

import (
	"errors"
	"os"
	"strconv"
	"testing"

	"streamer/internal/broker"
	"streamer/internal/broker/brokertest"
	"streamer/internal/events"
	"streamer/test/testkit"
)

func TestMain(m *testing.M) {
	testkit.AtOnce(8) // they wait more than they compute
	os.Exit(m.Run())
}

// errEnough ends a read.
var errEnough = errors.New("enough")

// testLog is a broker with its event log.
type testLog struct {
	*broker.Broker
	*Log
}

// start opens a broker, which is closed at the end of the test.
func start(t testing.TB, opts broker.Options) testLog {
	t.Helper()
	b := brokertest.Start(t, opts)
	return testLog{b, New(b)}
}

// must publishes p and returns its sequence.
func must(t testing.TB, b testLog, p *broker.Pub) uint64 {
	t.Helper()
	return brokertest.Must(t, b.Broker, p)
}

// event returns the publish of event n of a session, after the one at prev.
func event(b testLog, token string, n int, prev uint64) *broker.Pub {
	e := &events.Event{Type: events.ToolCallArgsDelta, EventID: events.ID{Seq: uint64(n)}, Call: "1.0"}
	return b.EventPub(token, e, []byte(`{"n":`+strconv.Itoa(n)+`}`), nil, prev)
}

// grow appends n events to a session, numbered from first on, and returns the
// sequence of the last.
func grow(t testing.TB, b testLog, token string, first, n int, prev uint64) uint64 {
	t.Helper()
	for i := range n {
		prev = must(t, b, event(b, token, first+i, prev))
	}
	return prev
}
