package eventlog

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"streamer/internal/broker"
	"streamer/internal/broker/brokertest"
	"streamer/internal/events"

	"github.com/nats-io/nats.go"
)

func TestConditionalAppend(t *testing.T) {
	b := start(t, broker.Options{})
	first := must(t, b, event(b, "s", 1, 0))
	must(t, b, event(b, "other", 1, 0)) // another session
	second := must(t, b, event(b, "s", 2, first))
	for _, prev := range []uint64{0, first, second + 5} {
		if a := b.PublishWait(brokertest.Deadline(t), event(b, "s", 3, prev)); !errors.Is(a.Err, broker.ErrConflict) {
			t.Errorf("append after %d where the head is %d: got %+v, want ErrConflict", prev, second, a)
		}
	}
	seq, end, err := b.Head(brokertest.Deadline(t), "s")
	if want := (events.ID{Seq: 2}); err != nil || seq != second || end.ID != want {
		t.Errorf("Head: got %d, %v, %v, want %d, %v", seq, end.ID, err, second, want)
	}
	if seq, end, err := b.Head(brokertest.Deadline(t), "nobody"); seq != 0 || end.ID != (events.ID{}) || err != nil {
		t.Errorf("Head of no session: got %d, %v, %v", seq, end.ID, err)
	}
}

// Messages that streamer did not append are not events. The head's event is the last one
// before them, appends follow them, and a tail skips them. Only Entries returns them.
func TestForged(t *testing.T) {
	b := start(t, broker.Options{})
	live := follow(t, b, "s", 0)
	everything := follow(t, b, "", 0)
	live.waitLive()
	everything.waitLive()
	forge := func(h nats.Header) uint64 {
		return must(t, b, &broker.Pub{Subject: "_toolcalls.s.event.tool_call_result", Header: h, Data: []byte("{")})
	}
	early := forge(nil)
	if seq, last, err := b.Head(brokertest.Deadline(t), "s"); seq != early || last.Seq != 0 || err != nil {
		t.Errorf("a session with nothing else: got %d, %+v, %v, want %d and no event", seq, last, err, early)
	}
	first := must(t, b, event(b, "s", 1, early))
	forge(nats.Header{events.HeaderEventID: {"9.0"}})
	late := forge(nats.Header{events.HeaderEventID: {"?"}})
	seq, last, err := b.Head(brokertest.Deadline(t), "s")
	if seq != late || last.Seq != first || err != nil {
		t.Errorf("head: got %d, event %d, %v, want %d, event %d", seq, last.Seq, err, late, first)
	}
	if _, err := b.Event(brokertest.Deadline(t), "s", late); !errors.Is(err, events.ErrNotFound) {
		t.Errorf("a forged event by its sequence: got %v, want ErrNotFound", err)
	}
	must(t, b, event(b, "s", 2, late))
	after := follow(t, b, "s", 0)
	for _, f := range []*follower{live, everything, after} {
		f.want(1, 2)
	}
	var genuine []uint64
	if err := b.Events(brokertest.Deadline(t), "s", 0, func(r events.Record) error { genuine = append(genuine, r.ID.Seq); return nil }); err != nil {
		t.Fatal(err)
	}
	if want := []uint64{1, 2}; !slices.Equal(genuine, want) {
		t.Errorf("Events: got ids %v, want %v", genuine, want)
	}
	var forged []string
	if err := b.Entries(brokertest.Deadline(t), "s", 0, func(m Entry) error { forged = append(forged, m.Forged); return nil }); err != nil {
		t.Fatal(err)
	}
	if len(forged) != 5 || forged[0] == "" || forged[1] != "" || forged[2] != "stored without a condition" || forged[3] == "" || forged[4] != "" {
		t.Errorf("Entries: got %q, want that messages 1, 3 and 4 are forged", forged)
	}
}

// A stale writer stores nothing, and subscribers receive each stored event once, with its
// sequence.
func TestStaleWriter(t *testing.T) {
	b := start(t, broker.Options{})
	live, sub := listen(t, b)
	defer live.Close()
	last := grow(t, b, "s", 1, 3, 0)
	if a := b.PublishWait(brokertest.Deadline(t), event(b, "s", 2, 1)); !errors.Is(a.Err, broker.ErrConflict) {
		t.Fatalf("stale writer: got %+v, want broker.ErrConflict", a)
	}
	must(t, b, event(b, "s", 4, last))
	for i := uint64(1); i <= 4; i++ {
		m, err := sub.NextMsg(brokertest.Within)
		if err != nil {
			t.Fatal(err)
		}
		got := fmt.Sprintln(m.Subject, m.Header.Get(headerSeq), m.Header.Get(broker.HeaderPrev), m.Header.Get(events.HeaderEventID), string(m.Data))
		want := fmt.Sprintf("toolcalls.s.event.tool_call_args_delta %d %d %d.0 {\"n\":%d}\n", i, i-1, i, i)
		if got != want {
			t.Errorf("subscriber: got %s, want %s", got, want)
		}
	}
}

// The control of the test above: without its condition the stale writer's event is stored,
// and subscribers receive it twice.
func TestStaleWriterWithoutCondition(t *testing.T) {
	b := start(t, broker.Options{})
	live, sub := listen(t, b)
	defer live.Close()
	grow(t, b, "s", 1, 3, 0)
	again := event(b, "s", 2, 1)
	again.Header.Del(broker.HeaderPrev)
	again.Header.Del(broker.HeaderPrevOf)
	must(t, b, again)
	seen := map[string]int{}
	for range 4 {
		m, err := sub.NextMsg(brokertest.Within)
		if err != nil {
			t.Fatal(err)
		}
		seen[m.Header.Get(events.HeaderEventID)]++
	}
	if seen["2.0"] != 2 {
		t.Errorf("received %v, want 2.0 twice", seen)
	}
}

// listen subscribes as a client does.
func listen(t *testing.T, b testLog) (*nats.Conn, *nats.Subscription) {
	t.Helper()
	nc, err := nats.Connect(b.URL())
	if err != nil {
		t.Fatal(err)
	}
	sub, err := nc.SubscribeSync("toolcalls.>")
	if err != nil {
		t.Fatal(err)
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	return nc, sub
}

// The server is stopped and started again under load, three times. Every append gets
// exactly one Ack, and every session's event log is complete and without duplicates.
func TestRestartUnderLoad(t *testing.T) {
	t.Parallel()
	const sessions, length, restarts = 40, 150, 3
	s := brokertest.NewServer(t)
	b := start(t, broker.Options{URL: s.URL()})
	acks := make(chan broker.Ack, sessions)
	type head struct {
		n    int
		prev uint64
	}
	ends := map[string]*head{}
	next := func(token string) {
		p := event(b, token, ends[token].n+1, ends[token].prev)
		p.Key = token
		b.Publish(p, acks)
	}
	for i := range sessions {
		token := fmt.Sprint("s", i)
		ends[token] = &head{}
		next(token)
	}
	conflicts := 0
	for got, open := 0, sessions; open > 0; {
		a := <-acks
		token := a.Pub.Key.(string)
		end := ends[token]
		switch {
		case a.Err == nil:
			end.n, end.prev = end.n+1, a.Seq
			got++
		case errors.Is(a.Err, broker.ErrConflict): // the answer was lost: stored, or not
			conflicts++
			seq, last, err := b.Head(brokertest.Deadline(t), token)
			id := last.ID
			if err != nil || int(id.Seq) != end.n+1 && int(id.Seq) != end.n {
				t.Fatalf("session %s: conflict after %d, but the head is %v, %v", token, end.n, id, err)
			}
			got += int(id.Seq) - end.n
			end.n, end.prev = int(id.Seq), seq
		default:
			t.Fatal(a.Err)
		}
		if got%(sessions*length/(restarts+1)) == 0 && got < sessions*length {
			s.Stop()
			s.Start()
		}
		if end.n == length {
			open--
			continue
		}
		next(token)
	}
	select {
	case a := <-acks:
		t.Errorf("one Ack too many: %+v", a)
	default:
	}
	checkComplete(t, b, sessions, length)
	t.Logf("%d conflicts after lost answers", conflicts)
}

func checkComplete(t *testing.T, b testLog, sessions, length int) {
	t.Helper()
	last := map[string]events.Record{}
	total := 0
	err := b.Events(brokertest.Deadline(t), "", 0, func(s events.Record) error {
		total++
		if before := last[s.Token]; s.Prev != before.Seq || s.ID.Seq != before.ID.Seq+1 {
			t.Errorf("session %s: %v at %d after %d follows %v at %d", s.Token, s.ID, s.Seq, s.Prev, before.ID, before.Seq)
		}
		last[s.Token] = s
		return nil
	})
	if err != nil || total != sessions*length || len(last) != sessions {
		t.Errorf("read %d events of %d sessions, %v, want %d of %d", total, len(last), err, sessions*length, sessions)
	}
}

func BenchmarkAppend64Sessions(b *testing.B) {
	br := start(b, broker.Options{})
	const sessions = 64
	acks := make(chan broker.Ack, sessions)
	prev := map[string]uint64{}
	body := make([]byte, 300)
	e := &events.Event{Type: events.ToolCallArgsDelta, Call: "1.0"}
	next := func(token string, n int) {
		e := *e
		e.EventID.Seq = uint64(n)
		p := br.EventPub(token, &e, body, nil, prev[token])
		p.Key = token
		br.Publish(p, acks)
	}
	b.ReportAllocs()
	b.ResetTimer()
	sent := 0
	for ; sent < min(sessions, b.N); sent++ {
		next(fmt.Sprint("s", sent), sent+1)
	}
	for range b.N {
		a := <-acks
		if a.Err != nil {
			b.Fatal(a.Err)
		}
		token := a.Pub.Key.(string)
		prev[token] = a.Seq
		if sent < b.N {
			sent++
			next(token, sent)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
}
