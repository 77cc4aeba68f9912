package gateway

import (
	"crypto/tls"
	"encoding/binary"
	"io"
	"net/http"
	"strings"
	"testing"
)

// The frames and settings of HTTP/2 (RFC 9113) that TestNoWindow uses.
const (
	framePreface        = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
	frameHeaders        = 1
	frameReset          = 3
	frameSettings       = 4
	flagsOfWholeRequest = 5 // END_STREAM and END_HEADERS
)

// frame returns a frame of HTTP/2.
func frame(kind, flags byte, stream uint32, payload string) string {
	head := binary.BigEndian.AppendUint32(nil, uint32(len(payload)))[1:]
	head = append(head, kind, flags)
	return string(binary.BigEndian.AppendUint32(head, stream)) + payload
}

// literal returns a field of HPACK with an indexed name, or with a name of its own.
func literal(index byte, name, value string) string {
	field := string([]byte{index})
	if index == 0 {
		field += string([]byte{byte(len(name))}) + name
	}
	return field + string([]byte{byte(len(value))}) + value
}

// TestNoWindow: a client that never opens a window has no more requests in progress than
// one address may have, without a token too.
func TestNoWindow(t *testing.T) {
	const most = 3
	client, url := secureServer(t, Options{MaxPerAddress: most, Token: "0123456789abcdef"}, newMemory())
	host := strings.TrimPrefix(url, "https://")
	conn, err := tls.Dial("tcp", host, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	request := "\x82\x87" + literal(4, "", "/v1/openapi.json") + literal(1, "", host) + literal(0, "x-forwarded-for", "192.0.2.1")
	out := framePreface + frame(frameSettings, 0, 0, "\x00\x04\x00\x00\x00\x00")
	for i := range uint32(most + 2) {
		out += frame(frameHeaders, flagsOfWholeRequest, 2*i+1, request)
	}
	if _, err := io.WriteString(conn, out); err != nil {
		t.Fatal(err)
	}
	answered, reset := 0, 0
	for answered+reset < most+2 {
		var head [9]byte
		if _, err := io.ReadFull(conn, head[:]); err != nil {
			t.Fatal(err)
		}
		if _, err := io.CopyN(io.Discard, conn, int64(binary.BigEndian.Uint32(append([]byte{0}, head[:3]...)))); err != nil {
			t.Fatal(err)
		}
		switch head[3] {
		case frameHeaders:
			answered++
		case frameReset:
			reset++
		}
	}
	if answered != most || reset != 2 {
		t.Errorf("%d requests were answered and %d reset, want %d and 2", answered, reset, most)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/metrics", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer 0123456789abcdef")
	resp, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if text, err := io.ReadAll(resp.Body); err != nil || !strings.Contains(string(text), "streamer_http_connections_refused_total 2\n") {
		t.Errorf("the metrics do not count them: %v, %s", err, text)
	}
}
