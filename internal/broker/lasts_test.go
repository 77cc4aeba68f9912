package broker

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// lastsOf returns the subjects of which LastMessages reads a message, sorted.
func lastsOf(t *testing.T, b *Broker, stream string, subjects ...string) (got []string) {
	t.Helper()
	b.LastMessages(deadline(t), stream, subjects, func(m Message) { got = append(got, m.Subject) })
	slices.Sort(got)
	return got
}

// ownConnection returns a connection with the rights of streamer itself.
func ownConnection(t *testing.T, b *Broker) *nats.Conn {
	t.Helper()
	nc, err := nats.Connect(b.OwnURL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc
}

// makeStream creates a stream that streamer does not know.
func makeStream(t *testing.T, nc *nats.Conn, config jetstream.StreamConfig) jetstream.Stream {
	t.Helper()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	s, err := js.CreateStream(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestLastMessages checks that the last message of each subject is read whole.
func TestLastMessages(t *testing.T) {
	b := start(t, Options{Embed: embed(t.TempDir(), "127.0.0.1:0")})
	first := must(t, b, event("s", 1, 0))
	last := must(t, b, event("s", 2, first))
	want, err := b.MessageAt(deadline(t), StreamEvents, last)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	b.LastMessages(deadline(t), StreamEvents, []string{want.Subject, "toolcalls.none.event.progress"}, func(m Message) {
		n++
		if m.Seq != want.Seq || !m.At.Equal(want.At) || m.Subject != want.Subject || string(m.Data) != string(want.Data) {
			t.Errorf("got %+v, want %+v", m, want)
		}
		for k := range want.Header {
			if m.Header.Get(k) != want.Header.Get(k) {
				t.Errorf("header %s: got %q, want %q", k, m.Header.Get(k), want.Header.Get(k))
			}
		}
	})
	if n != 1 {
		t.Errorf("got %d messages, want one", n)
	}
}

// TestLastMessagesRefused checks that nothing is read of a stream without direct
// reads, and no stream is asked for some time then.
func TestLastMessagesRefused(t *testing.T) {
	b := start(t, Options{Embed: embed(t.TempDir(), "127.0.0.1:0")})
	must(t, b, event("s", 1, 0))
	subject := "toolcalls.s.event.tool_call_args_delta"
	if got := lastsOf(t, b, StreamEvents, subject); !slices.Equal(got, []string{subject}) {
		t.Fatalf("before: got %q", got)
	}
	makeStream(t, ownConnection(t, b), jetstream.StreamConfig{Name: "PLAIN", Subjects: []string{"plain.>"}})
	must(t, b, &Pub{Subject: "plain.a"})
	if got := lastsOf(t, b, "PLAIN", "plain.a"); len(got) != 0 {
		t.Errorf("a stream without direct reads: got %q", got)
	}
	if got := lastsOf(t, b, StreamEvents, subject); len(got) != 0 {
		t.Errorf("directly after: got %q, want that nothing is asked", got)
	}
	b.noLasts.Store(0)
	if got := lastsOf(t, b, StreamEvents, subject); !slices.Equal(got, []string{subject}) {
		t.Errorf("after the pause: got %q", got)
	}
}

// TestLastMessagesOfMirror checks that a mirror does not answer for the stream: it
// still has what the stream lost.
func TestLastMessagesOfMirror(t *testing.T) {
	b := start(t, Options{Embed: embed(t.TempDir(), "127.0.0.1:0")})
	seq := must(t, b, event("s", 1, 0))
	must(t, b, event("other", 1, 0))
	subject := "toolcalls.s.event.tool_call_args_delta"
	nc := ownConnection(t, b)
	makeStream(t, nc, jetstream.StreamConfig{Name: "COPY", Mirror: &jetstream.StreamSource{Name: StreamEvents}, MirrorDirect: true})
	mirrored := func() bool {
		m, err := nc.RequestWithContext(deadline(t), apiDirectGet+StreamEvents, []byte(`{"last_by_subj":"`+subject+`"}`))
		if err != nil {
			t.Fatal(err)
		}
		return m.Header.Get(headerDirectStream) == "COPY"
	}
	for !mirrored() {
		if t.Context().Err() != nil {
			t.Fatal("the mirror does not answer")
		}
	}
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	s, err := js.Stream(t.Context(), StreamEvents)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.DeleteMsg(t.Context(), seq); err != nil {
		t.Fatal(err)
	}
	for range 40 { // a random one of both answers
		if got := lastsOf(t, b, StreamEvents, subject); len(got) != 0 {
			t.Fatalf("got %q, which only the mirror has", got)
		}
	}
}

// TestLastsAnswers checks what is made of the answers of a server.
func TestLastsAnswers(t *testing.T) {
	b := start(t, Options{Embed: embed(t.TempDir(), "127.0.0.1:0")})
	nc := ownConnection(t, b)
	const stream = "FAKE"
	message := func(subject, of string) *nats.Msg {
		return &nats.Msg{Header: nats.Header{headerDirectStream: {of}, headerDirectSubject: {subject}, headerDirectSeq: {"7"}, headerDirectAt: {"2026-01-02T03:04:05.6Z"}}}
	}
	end := func(pending int) *nats.Msg {
		return &nats.Msg{Header: nats.Header{"Status": {statusEnd}, headerDirectPending: {strconv.Itoa(pending)}}}
	}
	status := func(code string) *nats.Msg { return &nats.Msg{Header: nats.Header{"Status": {code}}} }
	twice := message("a", stream)
	twice.Header.Add(headerDirectSubject, "b")
	for _, c := range []struct {
		name    string
		answers [][]*nats.Msg // to each request
		got     []string
		asked   []int // subjects of each request
		ok      bool
	}{
		{"in pieces", [][]*nats.Msg{{message("b", stream), end(2)}, {message("a", stream), message("c", stream), end(0)}}, []string{"b", "a", "c"}, []int{3, 2}, true},
		{"one is missing", [][]*nats.Msg{{message("b", stream), end(0)}}, []string{"b"}, []int{3}, true},
		{"more, but none", [][]*nats.Msg{{end(3)}}, nil, []int{3}, true},
		{"of another stream", [][]*nats.Msg{{message("b", "COPY"), end(0)}}, nil, []int{3}, true},
		{"not asked for", [][]*nats.Msg{{message("d", stream), message("b", stream), message("b", stream), end(0)}}, []string{"b"}, []int{3}, true},
		{"two subjects", [][]*nats.Msg{{twice, end(0)}}, nil, []int{3}, true},
		{"none", [][]*nats.Msg{{status("404")}}, nil, []int{3}, true},
		{"a damaged one", [][]*nats.Msg{{message("b", stream), status("404")}}, []string{"b"}, []int{3}, true},
		{"refused", [][]*nats.Msg{{status("413")}}, nil, []int{3}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			requests := make(chan int, 9)
			sub, err := nc.Subscribe(apiDirectGet+stream, func(m *nats.Msg) {
				var request struct {
					Subjects []string `json:"multi_last"`
				}
				if err := json.Unmarshal(m.Data, &request); err != nil {
					t.Error(err)
				}
				n := len(requests)
				requests <- len(request.Subjects)
				for _, a := range c.answers[min(n, len(c.answers)-1)] {
					a.Subject = m.Reply
					if err := nc.PublishMsg(a); err != nil {
						t.Error(err)
					}
				}
			})
			if err != nil || nc.Flush() != nil {
				t.Fatal(err)
			}
			var got []string
			ok := b.lasts(deadline(t), stream, []string{"a", "b", "c"}, func(m Message) { got = append(got, m.Subject) })
			if err := sub.Unsubscribe(); err != nil || nc.Flush() != nil {
				t.Fatal(err)
			}
			var asked []int
			for len(requests) > 0 {
				asked = append(asked, <-requests)
			}
			if ok != c.ok || !slices.Equal(got, c.got) || fmt.Sprint(asked) != fmt.Sprint(c.asked) {
				t.Errorf("got %q of requests for %v subjects, %v; want %q, %v, %v", got, asked, ok, c.got, c.asked, c.ok)
			}
		})
	}
}
