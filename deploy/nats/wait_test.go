package nats_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"streamer/internal/broker"
	"streamer/internal/client"
	"streamer/internal/events"
	"streamer/test/testkit"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// TestQuietPull checks that a pull of a quiet session gets its event for as long as
// docs/clients.md says. Where the threshold of the export is shorter than the wait, the
// server forgets where the answer goes, and the event is lost.
func TestQuietPull(t *testing.T) {
	t.Parallel()
	const export, promised = "$JS.API.CONSUMER.MSG.NEXT.TOOLCALLS.*", 15 * time.Minute
	s := run(t, load(t, "server.conf"))
	b, err := client.OpenBroker(t.Context(), broker.Options{URL: address(s, "streamer"), Partitions: 2, InputAge: time.Hour, EventAge: 4 * time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	account, err := s.LookupAccount("STREAMER")
	if err != nil {
		t.Fatal(err)
	}
	configured, err := account.ServiceExportResponseThreshold(export)
	if err != nil || configured < promised {
		t.Errorf("answers of %s: got a threshold of %v, %v, want %v", export, configured, err, promised)
	}
	r := newRole(t, s, "subscriber")
	reader, err := r.js.CreateOrUpdateConsumer(t.Context(), "TOOLCALLS", jetstream.ConsumerConfig{Durable: "reader", AckPolicy: jetstream.AckExplicitPolicy})
	if err != nil {
		t.Fatal(err)
	}
	prev := uint64(0)
	for i, c := range []struct {
		threshold time.Duration
		forgotten bool
	}{{time.Millisecond, true}, {configured, false}} {
		if err := account.SetServiceExportResponseThreshold(export, c.threshold); err != nil {
			t.Fatal(err)
		}
		in, err := r.nc.SubscribeSync(r.nc.NewInbox())
		if err == nil {
			err = r.nc.PublishRequest("streamer.api.CONSUMER.MSG.NEXT.TOOLCALLS.reader", in.Subject, []byte(`{"batch":1,"expires":840000000000}`))
		}
		if err != nil {
			t.Fatal(err)
		}
		testkit.Until(t, "the pull waits, and is forgotten or not", func() error {
			info, err := reader.Info(t.Context())
			if err == nil && (info.NumWaiting != 1 || (account.NumPendingResponses(export) == 0) != c.forgotten) {
				err = fmt.Errorf("%d pulls wait, of which %d are known", info.NumWaiting, account.NumPendingResponses(export))
			}
			return err
		})
		e := &events.Event{Type: events.ToolCallStart, EventID: events.ID{Seq: uint64(i + 1)}}
		a := b.PublishWait(t.Context(), b.EventPub("quiet", e, []byte("{}"), nil, prev))
		if prev = a.Seq; a.Err != nil {
			t.Fatal(a.Err)
		}
		if !c.forgotten {
			if _, err := in.NextMsg(within); err != nil {
				t.Errorf("the event: got %v", err)
			}
			continue
		}
		testkit.Until(t, "the server delivers the event", func() error {
			info, err := reader.Info(t.Context())
			if err == nil && info.Delivered.Consumer == 0 {
				err = errors.New("not yet")
			}
			return err
		})
		if err := r.nc.Flush(); err != nil {
			t.Fatal(err)
		}
		if m, err := in.NextMsg(time.Millisecond); !errors.Is(err, nats.ErrTimeout) {
			t.Errorf("a pull that was forgotten: got %v, %v, want nothing", m, err)
		}
	}
}
