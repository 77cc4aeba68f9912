package broker

import (
	"testing"
	"time"
)

func TestParseAck(t *testing.T) {
	want := ackPosition{seq: 12, count: 7, at: time.Unix(1, 5).UTC(), pending: 3}
	for _, reply := range []string{
		"$JS.ACK.LLM.c.1.12.7.1000000005.3",
		"$JS.ACK.hub.hash.LLM.c.1.12.7.1000000005.3",
		"$JS.ACK.hub.hash.LLM.c.1.12.7.1000000005.3.token",
	} {
		if got, ok := parseAck(reply); !ok || got != want {
			t.Errorf("%s: got %+v, %v, want %+v", reply, got, ok, want)
		}
	}
	for _, reply := range []string{"", "$JS.ACK.", "$JS.ACK.LLM.c.1.12.7.1000000005", "$JS.ACK.LLM.c.1.12.x.1000000005.3", "_INBOX.1"} {
		if got, ok := parseAck(reply); ok {
			t.Errorf("%s: got %+v, want none", reply, got)
		}
	}
}

func FuzzParseAck(f *testing.F) {
	f.Add("$JS.ACK.LLM.c.1.12.7.1000000005.3")
	f.Add("$JS.ACK.hub.hash.LLM.c.1.12.7.1000000005.3.token")
	f.Fuzz(func(t *testing.T, reply string) {
		if pos, ok := parseAck(reply); !ok && pos != (ackPosition{}) {
			t.Errorf("%q: not read, but %+v", reply, pos)
		}
	})
}

func TestForbiddenInWords(t *testing.T) {
	subject, ok := forbidden(`nats: permissions violation: Permissions Violation for Publish to "toolcalls.s.x"`)
	if !ok || subject != "toolcalls.s.x" {
		t.Errorf("got %q, %v", subject, ok)
	}
	if subject, ok := forbidden(`Permissions Violation for Subscription to "x"`); ok {
		t.Errorf("got %q", subject)
	}
}
