package encode

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"streamer/internal/events"
	"streamer/internal/inputs"
)

// durableStream is what a client of Durable Streams reads.
type durableStream struct {
	messages []json.RawMessage
	offsets  []string
	upToDate []bool
}

// readDurable reads frames by the rules of the protocol: each frame data has an array, and
// the frame after it is control.
func readDurable(t *testing.T, text string) (s durableStream) {
	t.Helper()
	pending := false
	for frame := range strings.SplitSeq(strings.TrimSuffix(text, "\n\n"), "\n\n") {
		if strings.HasSuffix(frame, ": hb") {
			continue
		}
		var event string
		var data []string
		for line := range strings.SplitSeq(frame, "\n") {
			name, value, _ := strings.Cut(line, ":")
			switch value = strings.TrimPrefix(value, " "); name {
			case "event":
				event = value
			case "data":
				data = append(data, value)
			}
		}
		body := []byte(strings.Join(data, "\n"))
		switch {
		case event == "data" && !pending:
			var list []json.RawMessage
			if err := json.Unmarshal(body, &list); err != nil {
				t.Fatalf("%v: %s", err, body)
			}
			s.messages, pending = append(s.messages, list...), true
		case event == "control":
			var c struct {
				StreamNextOffset string
				UpToDate         bool
			}
			if err := json.Unmarshal(body, &c); err != nil {
				t.Fatalf("%v: %s", err, body)
			}
			s.offsets, s.upToDate, pending = append(s.offsets, c.StreamNextOffset), append(s.upToDate, c.UpToDate), false
		default:
			t.Fatalf("frame %q is neither data, nor control after it", frame)
		}
	}
	if pending {
		t.Fatalf("no control follows the last message")
	}
	return s
}

// TestDurableRules checks that a client gets each event of a recorded stream once and in
// order, as it is stored, and offsets that grow as text.
func TestDurableRules(t *testing.T) {
	for _, rec := range recordings(t) {
		l := &inputLog{t: t}
		for i, line := range rec.lines {
			l.add(int64(i), inputs.Delta, line)
		}
		enc := open(t, "durable-streams")
		b := enc.Open(nil, Opening{})
		for i := range l.log {
			l.log[i].Seq *= 7 // other sessions have sequences too
			if i == len(l.log)/2 {
				b = enc.Live(b, l.log[max(0, i-1)].Seq)
			}
			b = enc.Event(b, l.log[i], nil)
		}
		if len(l.log) == 0 {
			continue
		}
		s := readDurable(t, string(b))
		if len(s.messages) != len(l.log) {
			t.Fatalf("%s: got %d messages, want %d", rec.file, len(s.messages), len(l.log))
		}
		for i, message := range s.messages {
			if r := l.log[i]; r.Type != events.Synthetic && !bytes.Equal(message, r.Data) {
				t.Fatalf("%s: message %d is\n%s\nwant\n%s", rec.file, i, message, r.Data)
			}
		}
		for i := 1; i < len(s.offsets); i++ {
			if s.offsets[i] < s.offsets[i-1] || s.upToDate[i-1] && !s.upToDate[i] {
				t.Fatalf("%s: offset %s follows %s, up to date %v and %v", rec.file, s.offsets[i], s.offsets[i-1], s.upToDate[i-1], s.upToDate[i])
			}
		}
	}
}

// FuzzDurableFrame checks that a client reads any body as one message.
func FuzzDurableFrame(f *testing.F) {
	f.Add("run_started", []byte(`{"a":1}`))
	f.Add("synthetic", []byte("{\n\n\r\"a\"\r\n:1}\n"))
	f.Add("rejected", []byte("id: 9\n\nevent: evil\ndata: x\n\n"))
	f.Fuzz(func(t *testing.T, typ string, body []byte) {
		enc := open(t, "durable-streams")
		r := events.Record{Seq: 3, Type: events.Type(typ), Data: body}
		s := readDurable(t, string(enc.End(enc.Event(enc.Event(nil, r, nil), r, nil), Shutdown)))
		if len(s.messages) != 2 || len(s.offsets) != 1 || s.offsets[0] != DurableOffset(3) {
			t.Fatalf("%q: got %d messages and offsets %q", body, len(s.messages), s.offsets)
		}
	})
}

// TestDurableArrays checks that arrays of stored events are bounded, and that the server
// can end the stream in the middle of one.
func TestDurableArrays(t *testing.T) {
	enc := open(t, "durable-streams")
	var b []byte
	for seq := range uint64(5) {
		b = enc.Event(b, events.Record{Seq: seq + 1, Type: events.RunStarted, Data: events.Quote(strings.Repeat("x", maxArray/2))}, nil)
	}
	s := readDurable(t, string(enc.End(b, Rotation)))
	if want := []string{DurableOffset(2), DurableOffset(4), DurableOffset(5)}; len(s.messages) != 5 || !slices.Equal(s.offsets, want) {
		t.Errorf("got %d messages and the offsets %q, want 5 and %q", len(s.messages), s.offsets, want)
	}
}
