package inspect

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"streamer/internal/broker"
	"streamer/internal/broker/brokertest"
	"streamer/internal/client"
	"streamer/internal/server"
	"streamer/internal/sink"
	"streamer/test/testkit"
)

// TestSinks: the dead letters of a sink are listed, and the doctor warns of them. There is an
// error for a sink that does not exist, and without a URL.
func TestSinks(t *testing.T) {
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusGone) }))
	defer hook.Close()
	ctx, out := brokertest.Deadline(t), new(strings.Builder)
	b := servingWith(t, func(c *server.Config) {
		c.Sink = server.SinkFlags{SinkURL: hook.URL, SinkName: "crm", SinkTypes: []string{"run_started"}}
	}).Broker
	testkit.UntilTrue(t, "the sink", func() bool { list, err := sink.List(ctx, b); return err == nil && len(list) == 1 })
	begin(t, b, "s", 10)
	testkit.UntilTrue(t, "the dead letter", func() bool { list, err := sink.List(ctx, b); return err == nil && list[0].Dead == 1 })
	for _, name := range []string{"", "crm"} {
		if err := Sinks(ctx, b, Output{W: out}, name); err != nil {
			t.Error(err)
		}
	}
	check(t, "sinks", out.String(), []string{"crm ", "run_started  refused: the server answers 410"}, nil)
	fs := Diagnose(ctx, client.BrokerOptions{Options: broker.Options{URL: b.OwnURL()}})
	if warned := failing(fs, Warning); !slices.Contains(warned, "sink: crm: 1 dead letters") {
		t.Errorf("got the warnings %q", warned)
	}
	for want, err := range map[string]error{
		`there is no sink "other"; sinks: crm`:   Sinks(ctx, b, Output{W: out}, "other"),
		`there is no sink "default"; sinks: crm`: Redeliver(ctx, b, out, &server.SinkFlags{SinkURL: hook.URL}),
		"--again needs --sink-url":               Redeliver(ctx, b, out, &server.SinkFlags{SinkName: "crm"}),
	} {
		if err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
