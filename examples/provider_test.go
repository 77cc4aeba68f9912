package examples_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/binary"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"hash/crc32"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// endpoint is an address of a provider, and the recorded stream with which it answers.
type endpoint struct {
	address, path, key string // key is the header of the credentials
	file               string // of internal/decode/testdata
	frame              func(line []byte) []byte
	end                string
}

// endpoints returns those of the cookbook.
func endpoints() []endpoint {
	return []endpoint{
		{"api.openai.com:443", "/v1/chat/completions", "Authorization", "openai-chat/parallel", dataOf, "data: [DONE]\n\n"},
		{"api.openai.com:443", "/v1/responses", "Authorization", "openai-responses/calls", dataOf, ""},
		{"api.anthropic.com:443", "/v1/messages", "X-Api-Key", "anthropic/parallel", dataOf, ""},
		{"api.anthropic.com:443", "/v1/sessions/sesn_42/events/stream", "X-Api-Key", "claude-managed-agents/parallel", dataOf, ""},
		{"generativelanguage.googleapis.com:443", "/v1beta/models/gemini-2.5-flash:streamGenerateContent", "X-Goog-Api-Key", "gemini/partial-args", dataOf, ""},
		{"bedrock-runtime.us-east-1.amazonaws.com:443", "/model/us.amazon.nova-lite-v1:0/converse-stream", "Authorization", "bedrock/parallel", eventStreamOf, ""},
		{"127.0.0.1:11434", "/api/chat", "", "ollama/calls", lineOf, ""},
		{"127.0.0.1:4096", "/event", "", "opencode/deltas", dataOf, ""},
		{"127.0.0.1:8000", "/run_sse", "", "adk/parallel", dataOf, ""},
		{"app.example.com:443", "/api/chat", "", "vercel-ui/steps", dataOf, "data: [DONE]\n\n"},
		{"langgraph.example.com:443", "/threads/42/runs/stream", "X-Api-Key", "langchain/server-turn", eventOf, ""},
	}
}

// provide serves the endpoints, and returns a directory whose configuration lets curl
// connect to them, and to streamer, under the addresses of the cookbook.
func provide(t *testing.T, streamer string) string {
	t.Helper()
	secure := httptest.NewUnstartedServer(http.HandlerFunc(answer))
	plain := httptest.NewServer(secure.Config.Handler)
	dir := t.TempDir()
	certificate := certify(t, filepath.Join(dir, "ca.pem"))
	secure.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}
	secure.StartTLS()
	t.Cleanup(secure.Close)
	t.Cleanup(plain.Close)
	config := fmt.Sprintf("cacert = %q\n", filepath.Join(dir, "ca.pem"))
	to := func(address, server string) {
		u, err := url.Parse(server)
		if err != nil {
			t.Fatal(err)
		}
		config += fmt.Sprintf("connect-to = %q\n", address+":"+u.Host)
	}
	to("127.0.0.1:8080", streamer)
	for _, e := range endpoints() {
		if strings.HasSuffix(e.address, ":443") {
			to(e.address, secure.URL)
		} else {
			to(e.address, plain.URL)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, ".curlrc"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// answer answers a request to an endpoint with its recorded stream.
func answer(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil || r.Method == http.MethodPost && !json.Valid(body) || r.Method != http.MethodPost && len(body) > 0 {
		http.Error(w, "not a request with JSON", http.StatusBadRequest)
		return
	}
	for _, e := range endpoints() {
		if r.Host != strings.TrimSuffix(e.address, ":443") || r.URL.Path != e.path {
			continue
		}
		if e.key != "" && !strings.HasSuffix(r.Header.Get(e.key), "key") {
			http.Error(w, "no credentials", http.StatusUnauthorized)
			return
		}
		lines, err := os.ReadFile("../internal/decode/testdata/" + e.file + ".jsonl")
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		for line := range bytes.Lines(lines) {
			if _, err := w.Write(e.frame(bytes.TrimSpace(line))); err != nil {
				return // the client has ended
			}
			w.(http.Flusher).Flush()
		}
		_, _ = io.WriteString(w, e.end) // a client that has ended reads nothing
		return
	}
	http.NotFound(w, r)
}

// lineOf returns a stream event as a line.
func lineOf(line []byte) []byte { return append(line, '\n') }

// dataOf returns a stream event as SSE.
func dataOf(line []byte) []byte { return fmt.Appendf(nil, "data: %s\n\n", line) }

// eventOf returns a stream event {"event","data"} as SSE.
func eventOf(line []byte) []byte {
	var e struct {
		Event string
		Data  json.RawMessage
	}
	if err := json.Unmarshal(line, &e); err != nil {
		return line // which is rejected
	}
	return fmt.Appendf(nil, "event: %s\ndata: %s\n\n", e.Event, e.Data)
}

// eventStreamOf returns a stream event {"<type>":…} as a frame of an AWS event stream.
func eventStreamOf(line []byte) []byte {
	var e map[string]json.RawMessage
	if err := json.Unmarshal(line, &e); err != nil {
		return line // which is rejected
	}
	for kind, payload := range e {
		header := fmt.Appendf(nil, "\x0b:event-type\x07%c%c%s\x0d:message-type\x07\x00\x05event", len(kind)>>8, len(kind), kind)
		frame := binary.BigEndian.AppendUint32(nil, uint32(12+len(header)+len(payload)+4))
		frame = binary.BigEndian.AppendUint32(frame, uint32(len(header)))
		frame = binary.BigEndian.AppendUint32(frame, crc32.ChecksumIEEE(frame))
		frame = append(append(frame, header...), payload...)
		return binary.BigEndian.AppendUint32(frame, crc32.ChecksumIEEE(frame))
	}
	return nil
}

// certify returns a certificate for the endpoints, and writes it to a file.
func certify(t *testing.T, file string) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, IsCA: true, BasicConstraintsValid: true,
	}
	for _, e := range endpoints() {
		name, _, _ := strings.Cut(e.address, ":")
		template.DNSNames = append(template.DNSNames, name)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}
