package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/rs/zerolog"
)

// TestLinesOfJSON: in the format json, the addresses and the last error are JSON, too.
func TestLinesOfJSON(t *testing.T) {
	var out bytes.Buffer
	open(t, t.TempDir()).writeAddresses(&out, "json")
	var line struct{ Page, NATS, Data, Message string }
	if err := json.Unmarshal(out.Bytes(), &line); err != nil {
		t.Fatalf("%s: %v", out.Bytes(), err)
	}
	if line.Page == "" || line.NATS == "" || line.Data == "" || line.Message != "ready" {
		t.Errorf("got %s", out.Bytes())
	}
	for _, c := range []struct {
		format string
		want   string // the text of the error in the log
	}{{"json", "no disk"}, {"text", ""}} {
		t.Run(c.format, func(t *testing.T) {
			var log bytes.Buffer
			var entry struct{ Error string }
			cause := errors.New("no disk")
			f := LogFlags{LogLevel: "info", LogFormat: c.format}
			err := f.LogFailure(t.Context(), &log, cause)
			if _, logged := errors.AsType[Logged](err); logged != (c.want != "") || !errors.Is(err, cause) {
				t.Errorf("got the error %#v", err)
			}
			if err := json.Unmarshal(log.Bytes(), &entry); c.want != "" && err != nil || entry.Error != c.want {
				t.Errorf("got the log %s, %v", log.Bytes(), err)
			}
		})
	}
}

// TestStoppedAtStart: a server that is stopped while it starts did not fail.
func TestStoppedAtStart(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	c := NewConfig()
	c.Broker.DataDir, c.Broker.Listen, c.HTTPListen = t.TempDir(), "127.0.0.1:0", "127.0.0.1:0"
	_, err := Open(ctx, c, zerolog.Nop())
	if err == nil {
		t.Fatal("the server started")
	}
	var log bytes.Buffer
	f := LogFlags{LogLevel: "info", LogFormat: "json"}
	if got := f.LogFailure(ctx, &log, err); got != nil || log.Len() > 0 {
		t.Errorf("got %v and the log %s for %v", got, log.Bytes(), err)
	}
	if got := f.LogFailure(t.Context(), &log, err); got == nil || log.Len() == 0 {
		t.Errorf("a server that was not stopped ended without an error")
	}
}
