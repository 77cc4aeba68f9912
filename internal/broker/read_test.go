package broker

import (
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
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
		t.Run(reply, func(t *testing.T) {
			if got, ok := parseAck(reply); ok {
				t.Errorf("%s: got %+v, want none", reply, got)
			}
		})
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

// A dropped message shows in the consumer's count.
func TestReaderSeesAGap(t *testing.T) {
	next, pending := uint64(10), uint64(0)
	p := &pull{next: &next}
	for _, c := range []struct {
		reply string
		want  error
	}{
		{"$JS.ACK.LLM.c.1.10.1.1.3", nil},
		{"$JS.ACK.LLM.c.1.12.2.1.2", nil}, // 11 is another partition's
		{"$JS.ACK.LLM.c.1.15.4.1.0", errAgain},
	} {
		if err := p.one(&nats.Msg{Reply: c.reply}, &pending); !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", c.reply, err, c.want)
		}
	}
	if len(p.batch) != 2 || pending != 2 {
		t.Errorf("read %d messages, %d pending, want 2, 2", len(p.batch), pending)
	}
}

// A status message that ends a request returns its credit. One that ends the consumer
// ends the read.
func TestStatusMessages(t *testing.T) {
	for _, c := range []struct {
		status, left string
		credit       int
		want         error
	}{
		{"100", "", 100, nil},
		{"408", "60", 40, nil},
		{"409", "30", 70, nil}, // max_bytes reached
		{"409", "", 100, errAgain},
		{"503", "", 100, errAgain},
	} {
		t.Run(c.status+" "+c.left, func(t *testing.T) {
			p := &pull{credit: 100}
			h := nats.Header{"Status": {c.status}}
			if c.left != "" {
				h.Set("Nats-Pending-Messages", c.left)
			}
			if err := p.status(&nats.Msg{Header: h}); !errors.Is(err, c.want) || p.credit != c.credit {
				t.Errorf("%s %s: got %v, credit %d, want %v, %d", c.status, c.left, err, p.credit, c.want, c.credit)
			}
		})
	}
}

func TestForbidden(t *testing.T) {
	subject, ok := forbidden(`nats: permissions violation: Permissions Violation for Publish to "toolcalls.s.x"`)
	if !ok || subject != "toolcalls.s.x" {
		t.Errorf("got %q, %v", subject, ok)
	}
	if subject, ok := forbidden(`Permissions Violation for Subscription to "x"`); ok {
		t.Errorf("got %q", subject)
	}
}
