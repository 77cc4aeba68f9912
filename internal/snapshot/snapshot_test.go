package snapshot

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"streamer/internal/inputs"
	"streamer/internal/session"

	"github.com/klauspost/compress/s2"
)

// sealed returns content in the stored form.
func sealed(content []byte) []byte {
	block := s2.Encode(nil, content)
	data := append([]byte{magic, version, 0, 0, 0, 0}, block...)
	binary.LittleEndian.PutUint32(data[2:], checksum(block))
	return data
}

// TestRoundTrip checks that what is encoded is loaded as it was, by an encoder that is used
// more than once.
func TestRoundTrip(t *testing.T) {
	var e Encoder
	for n := range uint64(3) {
		want := &session.State{N: n}
		data, err := e.Encode(want)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Load(data)
		if err != nil || got.N != n {
			t.Errorf("got %+v, %v, want %+v", got, err, want)
		}
	}
}

// TestErrors checks that an error names the place where a snapshot is wrong.
func TestErrors(t *testing.T) {
	good, err := new(Encoder).Encode(&session.State{N: 7})
	if err != nil {
		t.Fatal(err)
	}
	changed := func(i int, b byte) []byte {
		data := bytes.Clone(good)
		data[i] = b
		return data
	}
	huge := sealed(nil)[:head]
	huge = binary.AppendUvarint(huge, most+1)
	binary.LittleEndian.PutUint32(huge[2:], checksum(huge[head:]))
	for _, c := range []struct {
		name string
		data []byte
		want Error
	}{
		{"empty", nil, Error{Offset: 0, Msg: "ends here"}},
		{"JSON", []byte(`{"state":{"v":1}}`), Error{Offset: 0, Msg: "it is no snapshot"}},
		{"another magic", changed(0, 'x'), Error{Offset: 0, Msg: "0x78, want 0xf5"}},
		{"a later version", changed(1, 2), Error{Offset: 1, Msg: "version 2: this program reads version 1"}},
		{"damaged", changed(len(good)-1, good[len(good)-1]^1), Error{Offset: 2, Msg: "it is damaged"}},
		{"cut off", good[:len(good)-1], Error{Offset: 2, Msg: "it is damaged"}},
		{"cut off early", good[:3], Error{Offset: 3, Msg: "ends here"}},
		{"too large", huge, Error{Offset: head, Msg: "at most 1073741824"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Load(c.data)
			got, ok := errors.AsType[*Error](err)
			if !ok || got.Offset != c.want.Offset || !strings.Contains(got.Msg, c.want.Msg) {
				t.Errorf("got %v, want offset %d and %q", err, c.want.Offset, c.want.Msg)
			}
		})
	}
}

// FuzzLoad checks that whatever is stored is loaded or refused with an error.
func FuzzLoad(f *testing.F) {
	good, err := new(Encoder).Encode(&session.State{N: 7})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add([]byte(`{"state":{}}`))
	f.Add(sealed(nil))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, stored := range [][]byte{data, sealed(data)} {
			if s, err := Load(stored); (s == nil) == (err == nil) {
				t.Fatalf("%x: got %v and %v", stored, s, err)
			}
		}
	})
}

// openCall returns a session with a call whose args have streamed for a second.
func openCall(tb testing.TB) *session.State {
	tb.Helper()
	const (
		chunk = `{"id":"chatcmpl-AbCdEfGh","object":"chat.completion.chunk","created":1700000000,"model":"gpt-4o-2024-08-06","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,%s}]},"finish_reason":null}]}`
		start = `"id":"call_u3Qz81mKpLw0","type":"function","function":{"name":"search","arguments":"{\"q\":\""}`
	)
	state := new(session.State)
	for i := range 40 {
		fields := fmt.Sprintf(`"function":{"arguments":"word%d "}`, i)
		if i == 0 {
			fields = start
		}
		session.Fold(nil, state, session.Input{Input: inputs.Input{
			Seq: 4711 + uint64(i)*16, At: time.UnixMilli(1_772_000_000_000 + int64(i)*25), Token: "thread-4711",
			Kind: inputs.Delta, Data: fmt.Appendf(nil, chunk, fields),
		}})
	}
	return state
}

// TestSize checks that the snapshot of a session with an open call is below 1 KiB.
func TestSize(t *testing.T) {
	data, err := new(Encoder).Encode(openCall(t))
	if err != nil || len(data) > 1<<10 {
		t.Errorf("got %d bytes, %v, want at most 1 KiB", len(data), err)
	}
}

// TestLoad checks that the state of a snapshot is that which was encoded.
func TestLoad(t *testing.T) {
	state := openCall(t)
	want, err := state.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	data, err := new(Encoder).Encode(state)
	if err != nil {
		t.Fatal(err)
	}
	loaded, err := Load(data)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := loaded.Marshal(); err != nil || !bytes.Equal(got, want) {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}

// BenchmarkSnapshot measures encoding and loading a session with an open call.
func BenchmarkSnapshot(b *testing.B) {
	state := openCall(b)
	var e Encoder
	data, err := e.Encode(state)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("encode", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := e.Encode(state); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(len(data)), "bytes")
	})
	b.Run("load", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := Load(data); err != nil {
				b.Fatal(err)
			}
		}
	})
}
