package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"
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
			err := f.LogFailure(&log, cause)
			if _, logged := errors.AsType[Logged](err); logged != (c.want != "") || !errors.Is(err, cause) {
				t.Errorf("got the error %#v", err)
			}
			if err := json.Unmarshal(log.Bytes(), &entry); c.want != "" && err != nil || entry.Error != c.want {
				t.Errorf("got the log %s, %v", log.Bytes(), err)
			}
		})
	}
}
