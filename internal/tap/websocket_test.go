package tap

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"streamer/internal/final"
	"streamer/internal/inputs"
	"streamer/test/testkit"

	"github.com/coder/websocket"
	"github.com/tidwall/gjson"
)

// responseEvents returns the events of a response with a call, whose id is given.
func responseEvents(call string) []string {
	return []string{
		`{"type":"response.created","response":{"id":"resp_` + call + `","object":"response","status":"in_progress","output":[]}}`,
		`{"type":"response.output_item.added","output_index":0,"item":{"id":"fc_` + call + `","type":"function_call","call_id":"` + call + `","name":"weather","arguments":"","status":"in_progress"}}`,
		`{"type":"response.function_call_arguments.delta","item_id":"fc_` + call + `","output_index":0,"delta":"{\"city\":"}`,
		`{"type":"response.function_call_arguments.delta","item_id":"fc_` + call + `","output_index":0,"delta":"\"Oslo\"}"}`,
		`{"type":"response.function_call_arguments.done","item_id":"fc_` + call + `","output_index":0,"arguments":"{\"city\":\"Oslo\"}"}`,
		`{"type":"response.output_item.done","output_index":0,"item":{"id":"fc_` + call + `","type":"function_call","call_id":"` + call + `","name":"weather","arguments":"{\"city\":\"Oslo\"}","status":"completed"}}`,
		`{"type":"response.completed","response":{"id":"resp_` + call + `","object":"response","status":"completed","output":[{"id":"fc_` + call + `","type":"function_call","call_id":"` + call + `","name":"weather","arguments":"{\"city\":\"Oslo\"}","status":"completed"}]}}`,
	}
}

// responses is an upstream of Responses over WebSockets, whose n-th answer has the call
// call_n. Where the answer is not whole, it waits for the end of the connection.
func responses(t *testing.T, o *websocket.AcceptOptions, upTo int, ended chan<- error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := websocket.Accept(w, r, o)
		if err != nil {
			t.Error(err)
			return
		}
		defer func() { _ = c.CloseNow() }()
		for n := 0; ; n++ {
			_, data, err := c.Read(t.Context())
			if err != nil {
				if ended != nil {
					ended <- err
				}
				return
			}
			list := responseEvents(fmt.Sprint("call_", n))
			for i, e := range list {
				if i >= upTo {
					break
				}
				if err := c.Write(t.Context(), websocket.MessageText, []byte(e)); err != nil {
					t.Error(err)
				}
			}
			_ = data
		}
	})
}

// create returns the message of a client that asks for a response.
func create(fields string) string {
	return `{"type":"response.create","model":"m","client_metadata":{"session_id":"ws"},"tools":[{"type":"function"}],"input":[` + fields + `]}`
}

// TestWebSocket: the calls of two turns on one connection are in the log, with each form
// of compression, and those of the prewarm are not.
func TestWebSocket(t *testing.T) {
	modes := map[string]websocket.CompressionMode{"plain": websocket.CompressionDisabled, "takeover": websocket.CompressionContextTakeover, "no takeover": websocket.CompressionNoContextTakeover}
	for server, up := range modes {
		for client, down := range modes {
			t.Run(client+" client, "+server+" server", func(t *testing.T) {
				url, l, tp := open(t, responses(t, &websocket.AcceptOptions{CompressionMode: up, CompressionThreshold: 1}, 99, nil), nil)
				c, res, err := websocket.Dial(t.Context(), url+"/openai/v1/responses", &websocket.DialOptions{
					CompressionMode: down, CompressionThreshold: 1, HTTPHeader: http.Header{"Authorization": {"Bearer " + secretKey}, "Openai-Beta": {"responses_websockets=2026-02-06"}, "X-Codex-Turn-Metadata": {`{"request_kind":"prewarm"}`}},
				})
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = c.CloseNow() }()
				if compressed := res.Header.Get("Sec-WebSocket-Extensions") != ""; compressed != (client != "plain" && server != "plain") {
					t.Errorf("the extensions are %q", res.Header.Get("Sec-WebSocket-Extensions"))
				}
				question := `{"type":"message","role":"user","content":"weather?"}`
				for n, text := range []string{
					strings.Replace(create(question), `"model"`, `"generate":false,"model"`, 1),
					create(question),
					`{"type":"response.create","model":"m","previous_response_id":"resp_call_1","client_metadata":{"session_id":"ws"},"tools":[{"type":"function"}],"input":[{"type":"function_call_output","call_id":"call_1","output":"4 C"}]}`,
				} {
					if err := c.Write(t.Context(), websocket.MessageText, []byte(text)); err != nil {
						t.Fatal(err)
					}
					for _, want := range responseEvents(fmt.Sprint("call_", n)) {
						if _, got, err := c.Read(t.Context()); err != nil || string(got) != want {
							t.Fatalf("got %s, %v, want %s", got, err, want)
						}
					}
				}
				if err := c.Close(websocket.StatusNormalClosure, ""); err != nil {
					t.Error(err)
				}
				checkStory(t, l, tp, `ws: human weather?
					ws: call call_1 weather
					ws: args call_1 {"city":"Oslo"}
					ws: result call_1 completed "4 C"
					ws: call call_2 weather
					ws: args call_2 {"city":"Oslo"}`)
				if w := tp.Warnings(); w != nil {
					t.Error(w)
				}
			})
		}
	}
}

// TestWebSocketTurns: each of many turns is in the log, however fast the answers are.
func TestWebSocketTurns(t *testing.T) {
	const connections, turns = 8, 50
	url, l, tp := open(t, responses(t, nil, 99, nil), nil)
	for range connections {
		c, _, err := websocket.Dial(t.Context(), url+"/openai/v1/responses", nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Run("", func(t *testing.T) {
			defer func() { _ = c.CloseNow() }()
			for range turns {
				if err := c.Write(context.Background(), websocket.MessageText, []byte(create(""))); err != nil {
					t.Fatal(err)
				}
				for kind := ""; kind != "response.completed"; {
					_, data, err := c.Read(context.Background())
					if err != nil {
						t.Fatal(err)
					}
					kind = gjson.GetBytes(data, "type").Str
				}
			}
		})
	}
	closeTap(t, tp)
	if n := strings.Count(l.bodies(), `"response.completed"`); n != connections*turns {
		t.Errorf("%d answers of %d are whole", n, connections*turns)
	}
}

// bodies returns the bodies of all inputs.
func (l *inputLog) bodies() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.inputs, "\n")
}

// TestWebSocketLeaves: a client that leaves ends the connection of the upstream, and the
// calls of the answer.
func TestWebSocketLeaves(t *testing.T) {
	for _, politely := range []bool{false, true} {
		t.Run(fmt.Sprint("close frame=", politely), func(t *testing.T) {
			ended := make(chan error, 1)
			url, l, tp := open(t, responses(t, nil, 4, ended), nil)
			c, _, err := websocket.Dial(t.Context(), url+"/openai/v1/responses", nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Write(t.Context(), websocket.MessageText, []byte(create(""))); err != nil {
				t.Fatal(err)
			}
			for range 4 {
				if _, _, err := c.Read(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if politely {
				_ = c.Close(websocket.StatusGoingAway, "")
			} else {
				_ = c.CloseNow()
			}
			_ = await(t, "the end of the upstream's connection", ended)
			checkStory(t, l, tp, `ws: call call_0 weather
				ws: result call_0 cancelled "Tool call weather with id call_0 was cancelled before it was completed. It may have run in part."
				ws: run cancelled`)
		})
	}
}

// TestWebSocketEarlyFrame: a frame that is sent with the handshake arrives.
func TestWebSocketEarlyFrame(t *testing.T) {
	url, l, tp := open(t, responses(t, nil, 99, nil), nil)
	conn, host, path := dialTap(t, url+"/openai/v1/responses")
	text := create("")
	fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n%s", path, host, frame(1, text))
	r := bufio.NewReader(conn)
	res, err := http.ReadResponse(r, nil)
	if err != nil || res.StatusCode != http.StatusSwitchingProtocols {
		t.Fatal(res, err)
	}
	want := ""
	for _, e := range responseEvents("call_0") {
		head := []byte{0x81, byte(len(e))}
		if len(e) > 125 {
			head = []byte{0x81, 126, byte(len(e) >> 8), byte(len(e))}
		}
		want += string(head) + e
	}
	got := make([]byte, len(want))
	if _, err := io.ReadFull(r, got); err != nil || string(got) != want {
		t.Fatalf("got %q, %v\nwant %q", got, err, want)
	}
	conn.Close()
	checkStory(t, l, tp, `ws: call call_0 weather
		ws: args call_0 {"city":"Oslo"}`)
}

// frame returns a frame of a client, whose mask is 0.
func frame(opcode byte, text string) string {
	head := []byte{0x80 | opcode, 0x80 | 126, byte(len(text) >> 8), byte(len(text)), 0, 0, 0, 0}
	return string(head) + text
}

// TestWebSocketRefused: the answer of an upstream that refuses a WebSocket is passed on, and
// nothing is kept of it.
func TestWebSocketRefused(t *testing.T) {
	body := strings.Repeat("x", 1<<20)
	url, l, tp := openRaw(t, func(c net.Conn, r *bufio.Reader) {
		readRequest(r)
		fmt.Fprintf(c, "HTTP/1.1 426 Upgrade Required\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	}, nil)
	_, res, err := websocket.Dial(t.Context(), url+"/openai/v1/responses", nil)
	if err == nil || res == nil || res.StatusCode != http.StatusUpgradeRequired {
		t.Fatal(res, err)
	}
	checkStory(t, l, tp, "")
}

// TestWebSocketStop: an answer on a WebSocket ends as package final says, behind each of its
// events; the upstream is closed; the next message gets the final answer; and when the stop is
// lifted, a message that follows the tap's answer gets the error that it is not known.
func TestWebSocketStop(t *testing.T) {
	for upTo := range responseEvents("call_0") {
		for _, mode := range []websocket.CompressionMode{websocket.CompressionDisabled, websocket.CompressionContextTakeover} {
			t.Run(fmt.Sprint(upTo, mode), func(t *testing.T) {
				ended := make(chan error, 9)
				url, l, tp := open(t, responses(t, &websocket.AcceptOptions{CompressionMode: mode, CompressionThreshold: 1}, upTo, ended), nil)
				dial := func() *websocket.Conn {
					c, _, err := websocket.Dial(t.Context(), url+"/openai/v1/responses", &websocket.DialOptions{CompressionMode: mode, CompressionThreshold: 1})
					if err != nil {
						t.Fatal(err)
					}
					t.Cleanup(func() { _ = c.CloseNow() })
					return c
				}
				write := func(c *websocket.Conn, text string) {
					t.Helper()
					if err := c.Write(t.Context(), websocket.MessageText, []byte(text)); err != nil {
						t.Fatal(err)
					}
				}
				// read returns the next messages, up to the one that ends a response.
				read := func(c *websocket.Conn) string {
					var list []string
					for {
						_, data, err := c.Read(t.Context())
						if err != nil {
							return strings.Join(append(list, "cut"), "\n")
						}
						list = append(list, string(data))
						if kind := gjson.GetBytes(data, "type").Str; kind == "response.completed" || kind == "error" {
							return strings.Join(list, "\n")
						}
					}
				}
				c := dial()
				write(c, create(`{"type":"message","role":"user","content":"weather?"}`))
				var sent []byte
				for _, want := range responseEvents("call_0")[:upTo] {
					if _, got, err := c.Read(t.Context()); err != nil || string(got) != want {
						t.Fatalf("got %s, %v, want %s", got, err, want)
					}
					sent = append(sent, want+"\n"...)
				}
				testkit.UntilTrue(t, "the exchange", func() bool { return len(tp.sessions.at(&hold{session: "ws"})) == 1 })
				l.interrupt(t, "ws", `{"reason":"enough"}`)
				r := final.Request{Format: "openai-responses", Type: final.Lines, Model: "m", Text: "This run was stopped by an interrupt: enough.", ID: strings.Repeat("A", 26)}
				e := final.EndOf(r, sent)
				want := strings.TrimSuffix(string(e.Tail), "\n")
				if e.Cut {
					want = "cut"
				}
				if got := read(c); fixed(got) != fixed(want) {
					t.Errorf("got\n%s\nwant\n%s", got, want)
				}
				if err := await(t, "the end of the upstream", ended); err == nil {
					t.Error("the upstream has no end")
				}
				if e.Cut {
					c = dial()
				}
				write(c, create(`{"type":"function_call_output","call_id":"call_0","output":"4 C"}`))
				got := read(c)
				if want := strings.TrimSuffix(string(final.Answer(r)), "\n"); fixed(got) != fixed(want) {
					t.Errorf("the next answer is\n%s\nwant\n%s", got, want)
				}
				if _, _, err := l.publish(t.Context(), "ws", inputs.Resume, "r", nil, nil); err != nil {
					t.Fatal(err)
				}
				write(c, strings.Replace(create(`{"type":"message","role":"user","content":"go on"}`), `"model"`, `"previous_response_id":"resp_x","model"`, 1))
				if got := read(c); got != string(final.Unknown("resp_x")) {
					t.Errorf("got %s", got)
				}
				write(c, create(`{"type":"message","role":"user","content":"go on"}`))
				if got := read(c); got != "cut" {
					t.Errorf("got %s", got)
				}
				if n := strings.Count(l.bodies(), "go on"); n != 0 {
					t.Errorf("a message that the client sends again was published %d times", n)
				}
			})
		}
	}
}

// TestWebSocketBeside: while another session is stopped, the messages of a connection pass
// unchanged, also in pieces.
func TestWebSocketBeside(t *testing.T) {
	url, l, _ := open(t, responses(t, nil, 99, nil), nil)
	l.interrupt(t, "other", `{}`)
	c, _, err := websocket.Dial(t.Context(), url+"/openai/v1/responses", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.CloseNow() }()
	for n := range 3 {
		w, err := c.Writer(t.Context(), websocket.MessageText)
		if err != nil {
			t.Fatal(err)
		}
		for piece := range strings.SplitAfterSeq(create(`{"type":"message","role":"user","content":"`+strings.Repeat("x,", 10_000)+`"}`), ",") {
			if _, err := w.Write([]byte(piece)); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		for _, want := range responseEvents(fmt.Sprint("call_", n)) {
			if _, got, err := c.Read(t.Context()); err != nil || string(got) != want {
				t.Fatalf("got %s, %v, want %s", got, err, want)
			}
		}
	}
}
