package tap

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"streamer/internal/inputs"

	"github.com/rs/zerolog"
	"github.com/tidwall/gjson"
)

// fuzzed returns a tap that publishes nothing, and an exchange of it.
func fuzzed(t *testing.T, path string) (*Tap, *exchange) {
	t.Helper()
	tp, err := New(Options{Log: zerolog.Nop(), Patience: time.Nanosecond, Publish: func(context.Context, string, inputs.Kind, string, inputs.Header, []byte) (uint64, bool, error) {
		return 1, false, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tp.stop)
	x := &exchange{tap: tp, up: &route{}, endpoint: endpointOf(path), header: http.Header{}, id: "x", answered: make(chan struct{})}
	x.in, x.out = newWhole(-1, &tp.memory), newQueue(maxWaiting, &tp.memory, &tp.kept)
	return tp, x
}

// FuzzRequest: no body and no header field makes the tap fail, and what it publishes of a
// body is JSON.
func FuzzRequest(f *testing.F) {
	for _, e := range endpoints {
		for _, body := range []string{
			ask, `null`, `[]`, `{"messages":{}}`, `{"messages":[null,1,"x",{"role":1}]}`, `{"input":[{"type":7},{"type":"x_output","call_id":{}}]}`,
			`{"contents":[{"role":"user","parts":[{"functionResponse":{}},{"functionResponse":null}]}]}`, `{"messages":[{"role":"tool","tool_call_id":"a","content":null}]}`,
			`{"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","is_error":true,"content":"The user doesn't want to proceed with this tool use."}]}]}`,
			`{"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","is_error":true,"content":[{"text":"The user doesn't want to proceed with this tool use."}]}]}]}`,
		} {
			f.Add(e.shape, "X-Claude-Code-Session-Id", `{"session_id":"a"}`, []byte(body))
		}
	}
	f.Add("responses", "X-Codex-Turn-Metadata", `{"request_kind":"turn"}`, []byte(`{"input":"x","client_metadata":{"x-codex-turn-metadata":"{"}}`))
	f.Fuzz(func(t *testing.T, shape, name, value string, body []byte) {
		if !gjson.ValidBytes(body) {
			return
		}
		tp, x := fuzzed(t, "/v1/chat/completions")
		x.endpoint = &endpoint{shape: shape, format: "openai-chat"}
		x.header = http.Header{http.CanonicalHeaderKey(name): {value}}
		r := x.requestOf(body)
		l := tp.sessions.line(r)
		items, keys := tp.sessions.news(l, r)
		if len(items) != len(keys) {
			t.Fatal(len(items), len(keys))
		}
		for i := range items {
			if items[i].role == result && !json.Valid(items[i].input()) {
				t.Errorf("%q of %q is no JSON", items[i].input(), body)
			}
			if !json.Valid(humanMessage(items[i].text)) {
				t.Errorf("%q is no JSON", humanMessage(items[i].text))
			}
		}
		awsScope(&http.Request{Header: http.Header{"Authorization": {value}}})
		printable(value)
		if again, _ := tp.sessions.news(tp.sessions.line(r), r); len(again) > 0 && r.session != "" {
			t.Errorf("a repeated request has news: %v", again)
		}
	})
}

// FuzzFraming: the pieces of an answer are the answer, however it arrives, in each format
// and encoding.
func FuzzFraming(f *testing.F) {
	for i, kind := range []string{"text/event-stream", "application/x-ndjson; a=b", "application/vnd.amazon.eventstream", "application/json", "?"} {
		f.Add(kind, uint8(i), []byte(chatCall), uint16(7))
		f.Add(kind, uint8(i), []byte("a\r\n\r\nb\r\rc\n"), uint16(1))
		f.Add(kind, uint8(i), []byte{0, 0, 0, 17, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 0}, uint16(3))
	}
	encodings := []struct{ header, name string }{{"", ""}, {"gzip", "gzip"}, {"br", "br"}, {"zstd", "zstd"}, {"deflate", "deflate"}, {"deflate", "bare deflate"}}
	f.Fuzz(func(t *testing.T, kind string, encoding uint8, data []byte, size uint16) {
		e := encodings[int(encoding)%len(encodings)]
		sent := data
		if e.name != "" {
			sent = compressed(t, e.name, string(data))
		}
		_, x := fuzzed(t, "/v1/chat/completions")
		x.answer(200, http.Header{"Content-Type": {kind}, "Content-Encoding": {e.header}})
		go func() {
			for n := max(1, int(size)); len(sent) > 0; sent = sent[min(n, len(sent)):] {
				x.out.write(sent[:min(n, len(sent))])
			}
			x.out.close(io.EOF)
		}()
		var got []byte
		err := x.pieces(func(piece []byte) bool {
			got = append(got, piece...)
			return true
		})
		if bare := e.name == "bare deflate"; bare && err != nil && !errors.Is(err, io.EOF) {
			return // it looked like zlib
		}
		if !errors.Is(err, io.EOF) || string(got) != string(data) && string(got) != string(data)+"\n\n" {
			t.Errorf("got %q, %v of %q", got, err, data)
		}
	})
}

// FuzzAnswer: no answer makes the tap fail, whatever its encoding is said to be.
func FuzzAnswer(f *testing.F) {
	for _, e := range endpoints {
		f.Add(e.format, "text/event-stream", "", []byte(chatCall))
		f.Add(e.format, "application/json", "gzip,br", []byte(`{"choices":[{}]}`))
	}
	f.Fuzz(func(t *testing.T, format, kind, encoding string, data []byte) {
		_, x := fuzzed(t, "/v1/chat/completions")
		x.endpoint = &endpoint{format: format}
		x.answer(200, http.Header{"Content-Type": {kind}, "Content-Encoding": {encoding}})
		x.out.write(data)
		x.out.close(io.EOF)
		x.publishAnswer(newLine(place{session: "s"}))
	})
}

// FuzzFrames: no frames make the copy of a WebSocket fail or wait for ever.
func FuzzFrames(f *testing.F) {
	text := []byte(frame(1, create("")))
	f.Add(text, []byte("\x81\x02{}"), "", uint16(5))
	f.Add(text, []byte("\xc1\x02{}\x88\x00"), "permessage-deflate", uint16(1))
	f.Add([]byte("\x01\x81\x00\x00\x00\x00{\x80\x81\x00\x00\x00\x00}"), []byte("\x89\x00\x8a\x00\x01\x01a\x80\x01b"), "permessage-deflate; client_no_context_takeover; server_max_window_bits=10", uint16(3))
	f.Add([]byte("\x81\xff\xff\xff\xff\xff\xff\xff\xff\xff"), []byte("\x81\x7f\x00\x00\x00\x00\x7f\xff\xff\xff"), "x, permessage-deflate", uint16(64))
	f.Fuzz(func(t *testing.T, sent, received []byte, extensions string, size uint16) {
		tp, x := fuzzed(t, "/v1/responses")
		conn := &fuzzedConn{bytes.NewReader(received)}
		res := &http.Response{Body: conn, Header: http.Header{"Upgrade": {"websocket"}, "Sec-Websocket-Extensions": {extensions}}}
		x.upgrade(res)
		both, ok := res.Body.(io.ReadWriteCloser)
		if !ok {
			t.Fatalf("%T", res.Body)
		}
		buf := make([]byte, max(1, int(size)))
		for len(sent) > 0 || conn.Len() > 0 {
			n := min(len(sent), len(buf))
			_, _ = both.Write(sent[:n])
			sent = sent[n:]
			_, _ = both.Read(buf)
		}
		both.Close()
		closeTap(t, tp)
		if n := tp.memory.Load(); n != 0 {
			t.Errorf("%d bytes are kept", n)
		}
	})
}

type fuzzedConn struct{ *bytes.Reader }

func (*fuzzedConn) Write(p []byte) (int, error) { return len(p), nil }
func (*fuzzedConn) Close() error                { return nil }

// TestQueueBounds: a queue that is full says how much is lost, and keeps no memory.
func TestQueueBounds(t *testing.T) {
	var memory atomic.Int64
	q := newQueue(10, &memory, new(atomic.Int64))
	q.write(make([]byte, 8))
	q.write(make([]byte, 8))
	q.write(make([]byte, 8))
	n, err := io.Copy(io.Discard, q)
	if ended, lost := q.ended(); n != 8 || !errors.Is(err, errLost) || !ended || lost != 16 || memory.Load() != 0 {
		t.Errorf("%d bytes, %v; ended %v, %d lost; %d kept", n, err, ended, lost, memory.Load())
	}
}
