package examples_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"streamer/internal/broker/brokertest"
	"streamer/internal/events"
)

// publishNode publishes with the client of Node to the subject in docs/clients.md, and prints
// the error and its cause.
const publishNode = `
import { jetstream } from "@nats-io/jetstream";
import { connect } from "@nats-io/transport-node";
const nc = await connect({ servers: process.env.STREAMER_NATS_URL });
await jetstream(nc).publish("llm.demo.deltas", "{}").catch((e) => console.log(e + "|" + e.cause.message));
await nc.close();
`

// TestNoEventsArrive checks the errors of clients that docs/clients.md names.
func TestNoEventsArrive(t *testing.T) {
	_, url := serve(t)
	text, err := os.ReadFile("../docs/clients.md")
	if err != nil {
		t.Fatal(err)
	}
	named := func(client, problem string) {
		t.Helper()
		for line := range strings.Lines(string(text)) {
			if strings.HasPrefix(line, "| "+client) && strings.Contains(line, "`"+problem+"`") {
				return
			}
		}
		t.Errorf("docs/clients.md does not name the error %q of %s", problem, client)
	}
	js := brokertest.JetStream(t, url)
	if _, err := js.Publish(t.Context(), "llm.demo.deltas", nil); err == nil {
		t.Error("nats.go: a publish without a stream succeeds")
	} else {
		named("nats.go", err.Error())
	}
	if _, err := js.Conn().Request("llm.demo.deltas", nil, within); err == nil {
		t.Error("nats.go: a request without a responder succeeds")
	} else {
		named("nats.go", err.Error())
	}
	old, err := js.Conn().JetStream()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := old.PullSubscribe("toolcalls.>", "d"); err == nil {
		t.Error("nats.go: a subscription finds its stream")
	} else if problem := strings.TrimPrefix(err.Error(), "nats: "); !strings.Contains(string(text), "`"+problem+"`") {
		t.Errorf("docs/clients.md does not name %q", problem)
	}
	t.Run("node", func(t *testing.T) {
		requireNode(t, "agent-node")
		cmd := exec.Command("node", "--input-type=module", "-e", publishNode)
		cmd.Dir, cmd.Env = "agent-node", append(os.Environ(), "STREAMER_NATS_URL="+url)
		out, _ := run(t, cmd, "")
		problem, cause, _ := strings.Cut(strings.TrimSpace(out), "|")
		named("nats.js 3", problem)
		named("nats.js 3", cause)
	})
}

// TestNode runs the JavaScript with which docs/clients.md publishes, and that with which
// it reads events, until its first one.
func TestNode(t *testing.T) {
	requireNode(t, "agent-node")
	server, url := serve(t)
	node := func(block int) string {
		code := blocksOf(t, "../docs/clients.md", "js")[block].code
		cmd := exec.Command("node", "--input-type=module", "-e", strings.Replace(code, "m.ack();", "m.ack();\n  await nc.drain();", 1))
		cmd.Dir, cmd.Env = "agent-node", append(os.Environ(), "STREAMER_NATS_URL="+url)
		out, _ := run(t, cmd, "")
		return out
	}
	node(0)
	log := read(t, server, "demo", func(e *events.Event) bool { return e.Type == events.ToolCallResult })
	want(t, "the result", string(log[len(log)-1].ToolResult), `"42"`)
	want(t, "the event that was read", node(1), "demo search completed\n")
}
