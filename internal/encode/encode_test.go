package encode

import (
	"strings"
	"testing"
	"time"

	"streamer/internal/events"
	"streamer/test/testkit"
)

// TestNativeBytes checks the bytes of each method.
func TestNativeBytes(t *testing.T) {
	e := open(t, "native")
	var b []byte
	b = e.Open(b, Opening{Session: "a \"b\"\n<c>", From: 3, First: 1, Last: 9, Now: events.At(time.Unix(1, 0)), HeartbeatMS: 15000, RetryMS: 2345})
	b = e.Event(b, events.Record{Seq: 4, Type: events.ToolCallStart, Data: []byte(`{"type":"tool_call_start"}`)}, nil)
	b = e.Event(b, events.Record{Seq: 7, Type: events.Synthetic, Data: []byte("{\n\"role\":\r\n\"tool\"}")}, nil)
	b = e.Live(b, 7)
	b = e.Heartbeat(b)
	b = e.Heartbeat(b)
	b = e.Event(b, events.Record{Seq: 1<<64 - 1, Type: events.ToolCallResult, Data: nil}, nil)
	b = e.End(b, Shutdown)
	testkit.Golden(t, "testdata/native.sse", string(b))
}

// open returns an encoder of a protocol.
func open(t testing.TB, name string) Encoder {
	t.Helper()
	p, err := Find(name)
	if err != nil {
		t.Fatal(err)
	}
	return p.New()
}

// TestFindNamesProtocols checks the default protocol and the error for an unknown
// one.
func TestFindNamesProtocols(t *testing.T) {
	if p, err := Find(""); err != nil || p.Name != "native" {
		t.Errorf("Find(\"\"): got %v, %v, want native", p, err)
	}
	_, err := Find("nativ")
	if err == nil || !strings.Contains(err.Error(), `"nativ"; the protocols are native`) {
		t.Errorf("Find(nativ): got %v, want an error that lists native", err)
	}
}

// TestNativeAllocatesNothing checks that encoding an event does not allocate.
func TestNativeAllocatesNothing(t *testing.T) {
	e := open(t, "native")
	dst := make([]byte, 0, 4096)
	ev := events.Record{Seq: 123456, Type: events.ToolCallArgsDelta, Data: []byte(strings.Repeat("x", 300))}
	if n := testing.AllocsPerRun(100, func() { dst = e.Event(dst[:0], ev, nil) }); n != 0 {
		t.Errorf("Event: got %v allocations, want 0", n)
	}
}

// FuzzNativeFrame checks that a client reads any body as one frame with the same
// data, except for the kind of line ends.
func FuzzNativeFrame(f *testing.F) {
	f.Add(uint64(1), []byte(`{"a":1}`))
	f.Add(uint64(2), []byte("{\n\n\r\"a\"\r\n:1}\n"))
	f.Add(uint64(3), []byte("id: 9\n\nevent: evil\ndata: x\n\n"))
	f.Fuzz(func(t *testing.T, seq uint64, body []byte) {
		got := string(native{}.Event(nil, events.Record{Seq: seq, Type: "t", Data: body}, nil))
		frame, ok := strings.CutSuffix(got, "\n\n")
		if !ok || strings.Contains(frame, "\n\n") || strings.Contains(got, "\r") {
			t.Fatalf("%q: not one frame: %q", body, got)
		}
		var data []string
		for i, line := range strings.Split(frame, "\n") {
			if d, ok := strings.CutPrefix(line, "data: "); ok {
				data = append(data, d)
			} else if i > 1 {
				t.Fatalf("%q: line %d is not data: %q", body, i, line)
			}
		}
		want := strings.ReplaceAll(string(body), "\r", "\n")
		if read := strings.Join(data, "\n"); read != want {
			t.Fatalf("%q: got %q, want %q", body, read, want)
		}
	})
}
