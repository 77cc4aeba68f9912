package examples_test

import (
	"encoding/json"
	"fmt"
	"testing"

	deploy "streamer/deploy/nats"
	"streamer/internal/broker/brokertest"
	"streamer/internal/events"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"
)

// TestCookbookSource runs a server with the configuration of the cookbook, in which the
// input stream has another stream as its source. Messages that the other stream had
// before and gets later must both arrive, once each.
func TestCookbookSource(t *testing.T) {
	t.Parallel()
	url := chatServer(t)
	chat := brokertest.JetStream(t, "nats://chat:x@"+url)
	if _, err := chat.CreateStream(t.Context(), jetstream.StreamConfig{Name: "TOKENS", Subjects: []string{"chat.*.tokens"}}); err != nil {
		t.Fatal(err)
	}
	send := func(delta string) {
		if _, err := chat.Publish(t.Context(), "chat.trip=207.tokens", []byte(delta)); err != nil {
			t.Fatal(err)
		}
	}
	args := []string{"--nats-url", "nats://streamer:x@" + url}
	_, _, stop := serveWith(t, args...)
	awaitService(t, "nats://app:x@"+url) // the input stream exists
	stop()

	send(`{"id":"m1","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_1","function":{"name":"search","arguments":"{\"q\":"}}]}}]}`)
	addSource(t, brokertest.JetStream(t, "nats://streamer:x@"+url))
	page, _, _ := serveWith(t, args...)
	send(`{"id":"m1","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"1}"}}]},"finish_reason":"tool_calls"}]}`)
	log := read(t, page, "trip%207", func(e *events.Event) bool { return e.Type == events.ToolCallArgsComplete })
	want(t, "the args", *log[len(log)-1].ArgsText, `{"q":1}`)
	want(t, "the session", log[0].Session, "trip 7")
}

// chatServer runs a NATS server with the accounts of deploy/nats and the account CHAT of
// the cookbook, and returns its address.
func chatServer(t *testing.T) string {
	t.Helper()
	blocks := cookbook(t, "conf")
	if len(blocks) != 2 {
		t.Fatalf("the cookbook has %d blocks of configuration, want those of CHAT and STREAMER", len(blocks))
	}
	text := fmt.Sprintf(`accounts {
  STREAMER { jetstream: enabled
%s
%s
    users: [{user: streamer, password: x, permissions: {publish: {deny: ["toolcalls.>"]}}}] }
  APP {
%s
    users: [{user: app, password: x}] }
  CHAT { jetstream: enabled
%s
    users: [{user: chat, password: x}] }
}`, deploy.Exports, blocks[1].code, deploy.Imports, blocks[0].code)
	options := &server.Options{}
	if err := options.ProcessConfigString(text); err != nil {
		t.Fatal(err)
	}
	return runNATS(t, options)
}

// addSource adds the source of the cookbook to the input stream.
func addSource(t *testing.T, js jetstream.JetStream) {
	t.Helper()
	stream, err := js.Stream(t.Context(), "LLM")
	if err != nil {
		t.Fatal(err)
	}
	config := stream.CachedInfo().Config
	if err := json.Unmarshal([]byte(cookbook(t, "json")[0].code), &config); err != nil {
		t.Fatal(err)
	}
	if _, err := js.UpdateStream(t.Context(), config); err != nil {
		t.Fatal(err)
	}
}
