package inspect

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"streamer/internal/broker"
	"streamer/internal/broker/brokertest"
	"streamer/internal/client"
)

// TestDiagnoseCluster: a server of three that does not run is found, and that the
// streams have too few replicas to survive that.
func TestDiagnoseCluster(t *testing.T) {
	t.Parallel()
	c := brokertest.NewCluster(t)
	b, err := client.OpenBroker(brokertest.Deadline(t), broker.Options{URL: c.URL(), Replicas: 3, Partitions: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	victim := c[0]
	if c.Leader(t, b.Broker, broker.StreamInputs) == victim { // its successor needs seconds
		victim = c[1]
	}
	victim.Stop()
	want := "replicas: server " + victim.Options.ServerName + " does not run"
	for ctx := brokertest.Deadline(t); ; {
		fs := examine(ctx, b)
		if failed := failing(fs, Failed); slices.ContainsFunc(failed, func(f string) bool { return strings.HasPrefix(f, want) }) {
			return
		} else if ctx.Err() != nil {
			t.Fatalf("got %q, want %s", failed, want)
		}
	}
}

// TestReplicas checks the findings about replicas.
func TestReplicas(t *testing.T) {
	for _, c := range []struct {
		name         string
		cluster      string
		replicas     int
		behind       []string
		state        State
		checks, text string
	}{
		{"all are current", "c", 3, nil, "", "", ""},
		{"one of three", "c", 3, []string{"n1"}, Failed, "replicas", "server n1 does not run or is behind, for LLM, TOOLCALLS"},
		{"two of three", "c", 3, []string{"n1", "n2"}, Failed, "replicas replicas majority", "LLM has 1 of 3, TOOLCALLS has 1 of 3"},
		{"one replica in a cluster", "c", 1, nil, Warning, "replicas", "LLM has 1, TOOLCALLS has 1"},
		{"one server", "", 1, nil, OK, "replicas", "one server has the streams"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var fs Findings
			list := []broker.StreamReport{}
			for _, name := range []string{"LLM", "TOOLCALLS"} {
				list = append(list, broker.StreamReport{Name: name, Replicas: c.replicas, Cluster: c.cluster, Leader: "n0", Behind: c.behind})
			}
			diagnosis{Findings: &fs}.replicas(list)
			var checks []string
			for _, f := range fs {
				checks = append(checks, f.Check)
				if f.State != c.state || (f.Fix == "") != (c.state == OK) {
					t.Errorf("%s: got %+v", c.name, f)
				}
			}
			if got := strings.Join(checks, " "); got != c.checks || !strings.Contains(fmt.Sprint(fs), c.text) {
				t.Errorf("%s: got %+v", c.name, fs)
			}
		})
	}
}

// TestClock: the clock of each leader is compared.
func TestClock(t *testing.T) {
	now := time.Now()
	for _, c := range []struct {
		ahead time.Duration
		state State
	}{{0, OK}, {-clockDifference / 2, OK}, {-10 * time.Second, Warning}, {10 * time.Second, Warning}} {
		t.Run(fmt.Sprint(c.ahead), func(t *testing.T) {
			var fs Findings
			diagnosis{Findings: &fs}.clock([]broker.StreamReport{
				{Name: "LLM", Leader: "n0", Clock: now}, {Name: "TOOLCALLS", Leader: "n1", Clock: now.Add(c.ahead)},
			}, now)
			if len(fs) != 1 || fs[0].State != c.state || c.state == Warning && !strings.Contains(fs[0].Text, "n1") {
				t.Errorf("ahead by %s: got %+v", c.ahead, fs)
			}
		})
	}
}
