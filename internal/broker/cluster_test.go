package broker_test

import (
	"strings"
	"testing"

	"streamer/internal/broker"
	"streamer/internal/broker/brokertest"
)

// Fewer replicas than a cluster can have are reported.
func TestWarningOfReplicas(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("three servers take some seconds")
	}
	c := brokertest.NewCluster(t)
	got := brokertest.Start(t, broker.Options{URL: c.URL(), Partitions: 1}).Warnings()
	if want := `one replica in the cluster "c"`; len(got) != 2 || !strings.Contains(got[0], want) {
		t.Errorf("got %q, want %q first", got, want)
	}
}
