package inputlog

import (
	"errors"
	"strconv"
	"testing"

	"streamer/internal/broker"
	"streamer/internal/broker/brokertest"
	"streamer/internal/inputs"
)

func TestMain(m *testing.M) { brokertest.Main(m) }

// errEnough ends a read.
var errEnough = errors.New("enough")

// testLog is a broker with its input log.
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

// fill publishes n inputs of a number of sessions, s0, s1 and so on.
func fill(t testing.TB, b testLog, n, sessions int, data []byte) {
	t.Helper()
	acks := make(chan broker.Ack, n)
	for i := range n {
		b.Publish(b.InputPub("s"+strconv.Itoa(i%sessions), inputs.Delta, "m"+strconv.Itoa(i), nil, data), acks)
	}
	for range n {
		if a := <-acks; a.Err != nil {
			t.Fatal(a.Err)
		}
	}
}

// purge deletes inputs. body is that of the API request.
func purge(t testing.TB, b testLog, body string) {
	t.Helper()
	brokertest.Request(t, brokertest.Connect(t, b.Broker), "$JS.API.STREAM.PURGE."+broker.StreamInputs, body)
}
