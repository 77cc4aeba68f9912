package worker

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"streamer/internal/events"
	"streamer/internal/inputs"
	"streamer/internal/session"

	"github.com/klauspost/compress/s2"
)

// fullRecord returns a record in which every field is set.
func fullRecord() record {
	return record{
		State: []byte(`{"v":1,"n":7}`),
		Head:  point{9, events.ID{Seq: 7, N: 1}},
		Base:  point{5, events.ID{Seq: 4, N: 0}},
		Events: []outgoing{
			{ID: events.ID{Seq: 6, N: 0}, Type: events.ToolCallStart, Call: "6.0", Body: []byte(`{"type":"tool_call_start"}`), Seq: 8},
			{
				ID: events.ID{Seq: 7, N: 1}, Type: events.ToolCallResult, Call: "6.0", Status: events.Completed,
				Trace: map[string]string{"traceparent": "00-1", "tracestate": "a=b"},
				Body:  []byte(`{"type":"tool_call_result"}`), Blobs: []events.Blob{events.NewBlob([]byte("large"))}, Seq: 9,
			},
		},
	}
}

// sealed returns content in the stored form.
func sealed(content []byte) []byte {
	block := s2.Encode(nil, content)
	data := append([]byte{snapshotMagic, snapshotVersion, 0, 0, 0, 0}, block...)
	binary.LittleEndian.PutUint32(data[2:], checksum(block))
	return data
}

// TestSnapshotRoundTrip checks that what is encoded is decoded as it was, by an
// encoder that is used more than once.
func TestSnapshotRoundTrip(t *testing.T) {
	var e snapshotEncoder
	var all [][]byte
	records := []record{fullRecord(), {State: []byte("{}")}, {State: bytes.Repeat([]byte("x"), 2*keptScratch)}, fullRecord()}
	for i := range records {
		data, err := e.encode(&records[i])
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, data)
	}
	for i, want := range records {
		got, err := decodeSnapshot(all[i])
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("record %d: got %+v, %v, want %+v", i, got, err, want)
		}
	}
}

// TestSnapshotGolden checks that snapshots stored earlier can be read. The form
// of new ones may differ only in how they are compressed.
func TestSnapshotGolden(t *testing.T) {
	const stored = "f501247750cab001dc0d7b2276223a312c226e223a377d090701050400020806000f746f6f6c5f63616c6c5f737461727403362e3000001a7b2274797065223a223a1f0018227d000907011019161072657375" +
		"6c0536f04d09636f6d706c65746564020b7472616365706172656e740430302d310a7472616365737461746503613d621b7b2274797065223a22746f6f6c5f63616c6c5f726573756c74227d01056c61726765"
	data, err := hex.DecodeString(stored)
	if err != nil {
		t.Fatal(err)
	}
	got, err := decodeSnapshot(data)
	if want := fullRecord(); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
}

// TestSnapshotErrors checks that an error names the place where a snapshot is wrong.
func TestSnapshotErrors(t *testing.T) {
	r := fullRecord()
	good, err := new(snapshotEncoder).encode(&r)
	if err != nil {
		t.Fatal(err)
	}
	changed := func(i int, b byte) []byte {
		data := bytes.Clone(good)
		data[i] = b
		return data
	}
	huge := sealed(nil)[:snapshotHead]
	huge = binary.AppendUvarint(huge, maxSnapshot+1)
	binary.LittleEndian.PutUint32(huge[2:], checksum(huge[snapshotHead:]))
	content := appendRecord(nil, &r)
	for _, c := range []struct {
		name string
		data []byte
		want SnapshotError
	}{
		{"empty", nil, SnapshotError{Offset: 0, Msg: "ends here"}},
		{"another magic", changed(0, 'x'), SnapshotError{Offset: 0, Msg: "0x78, want 0xf5"}},
		{"a later version", changed(1, 2), SnapshotError{Offset: 1, Msg: "version 2: this program reads version 1"}},
		{"damaged", changed(len(good)-1, good[len(good)-1]^1), SnapshotError{Offset: 2, Msg: "it is damaged"}},
		{"cut off", good[:len(good)-1], SnapshotError{Offset: 2, Msg: "it is damaged"}},
		{"cut off early", good[:3], SnapshotError{Offset: 3, Msg: "ends here"}},
		{"too large", huge, SnapshotError{Offset: snapshotHead, Msg: "at most 1073741824"}},
		{"a length and nothing else", sealed(content[:1]), SnapshotError{Offset: 0, Content: true, Msg: "state: 13 where 0 bytes are left"}},
		{"content cut off", sealed(content[:len(content)-1]), SnapshotError{Offset: len(content) - 6, Content: true, Msg: "blob: 5 where 4 bytes are left"}},
		{"content too long", sealed(append(content, "more"...)), SnapshotError{Offset: len(content), Content: true, Msg: "4 bytes follow the last event"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := decodeSnapshot(c.data)
			got, ok := errors.AsType[*SnapshotError](err)
			if !ok || got.Offset != c.want.Offset || got.Content != c.want.Content || !strings.Contains(got.Msg, c.want.Msg) {
				t.Errorf("got %v, want offset %d and %q", err, c.want.Offset, c.want.Msg)
			}
		})
	}
}

// FuzzSnapshot checks that whatever is stored is decoded or refused with a typed
// error, and that decoded content is encoded to the same record.
func FuzzSnapshot(f *testing.F) {
	r := fullRecord()
	f.Add(appendRecord(nil, &r))
	f.Add([]byte(`{"state":{}}`))
	f.Add(sealed(nil))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, stored := range [][]byte{data, sealed(data)} {
			r, err := decodeSnapshot(stored)
			if _, typed := errors.AsType[*SnapshotError](err); err != nil && !typed {
				t.Fatalf("%x: got the error %v, want a SnapshotError", stored, err)
			}
			if err != nil {
				continue
			}
			again, err := new(snapshotEncoder).encode(&r)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := decodeSnapshot(again); err != nil || !reflect.DeepEqual(got, r) {
				t.Fatalf("got %+v, %v, want %+v", got, err, r)
			}
		}
	})
}

// openCall returns a session with a call whose args have streamed for a second,
// and the events of them.
func openCall(tb testing.TB) *resident {
	tb.Helper()
	const (
		chunk = `{"id":"chatcmpl-AbCdEfGh","object":"chat.completion.chunk","created":1700000000,"model":"gpt-4o-2024-08-06","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,%s}]},"finish_reason":null}]}`
		start = `"id":"call_u3Qz81mKpLw0","type":"function","function":{"name":"search","arguments":"{\"q\":\""}`
	)
	s := &resident{token: "thread-4711", state: new(session.State)}
	for i := range 40 {
		fields := fmt.Sprintf(`"function":{"arguments":"word%d "}`, i)
		if i == 0 {
			fields = start
		}
		for _, e := range session.Fold(nil, s.state, session.Input{Input: inputs.Input{
			Seq: 4711 + uint64(i)*16, At: time.UnixMilli(1_772_000_000_000 + int64(i)*25), Token: s.token,
			Kind: inputs.Delta, Data: fmt.Appendf(nil, chunk, fields),
		}}) {
			body, err := e.Body()
			if err != nil {
				tb.Fatal(err)
			}
			s.log.seq, s.log.id = 9000+uint64(i)*20, e.EventID
			s.log.acked = append(s.log.acked, &outgoing{ID: e.EventID, Type: e.Type, Call: e.Call, Status: e.Status, Body: body, Seq: s.log.seq})
		}
	}
	return s
}

// TestSnapshotSize checks that the snapshot of a session with an open call is
// about 1 KiB.
func TestSnapshotSize(t *testing.T) {
	s := openCall(t)
	for _, c := range []struct{ events, most int }{{len(s.log.acked), 2 << 10}, {3, 1 << 10}} {
		s.log.acked = s.log.acked[:c.events]
		data, err := s.encode(new(snapshotEncoder))
		if err != nil || len(data) > c.most {
			t.Errorf("with %d events: got %d bytes, %v, want at most %d", c.events, len(data), err, c.most)
		}
	}
}

// BenchmarkSnapshot measures encoding a session with an open call and its last
// events.
func BenchmarkSnapshot(b *testing.B) {
	s := openCall(b)
	for _, n := range []int{len(s.log.acked), 3, 0} {
		s.log.acked = s.log.acked[:n]
		b.Run(fmt.Sprintf("%d_events", n), func(b *testing.B) {
			b.ReportAllocs()
			var e snapshotEncoder
			var data []byte
			for b.Loop() {
				var err error
				if data, err = s.encode(&e); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(len(data)), "bytes")
		})
	}
}

// BenchmarkSnapshotDecode measures decoding the same, without the state.
func BenchmarkSnapshotDecode(b *testing.B) {
	data, err := openCall(b).encode(new(snapshotEncoder))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := decodeSnapshot(data); err != nil {
			b.Fatal(err)
		}
	}
}
