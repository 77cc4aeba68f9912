package nearest

import (
	"strings"
	"testing"
)

func TestName(t *testing.T) {
	fields := []string{"reason", "tool_call_ids", "tool_call_id", "calls", "call", "message_id", "run"}
	for word, want := range map[string]string{
		"run_id":                 "run",
		"Calls":                  "calls",
		"cals":                   "calls",
		"toolCallIds":            "tool_call_ids",
		"toolCallId":             "tool_call_id",
		"message":                "message_id",
		"messageId":              "message_id",
		"reasons":                "reason",
		"resaon":                 "reason",
		"":                       "run",
		strings.Repeat("x", 1e6): "reason",
	} {
		t.Run(word, func(t *testing.T) {
			if got := Name(word, fields); got != want {
				t.Errorf("Name(%.20q): got %q, want %q", word, got, want)
			}
		})
	}
	if got := Name("x", nil); got != "" {
		t.Errorf("Name among none: got %q", got)
	}
}

func TestTypo(t *testing.T) {
	names := []string{"STREAMER_HTTP_LISTEN", "STREAMER_NATS_URL"}
	for word, want := range map[string]string{
		"STREAMER_HTP_LISTEN":   "STREAMER_HTTP_LISTEN",
		"STREAMER_NATS_ULR":     "STREAMER_NATS_URL",
		"STREAMER_SERVICE_HOST": "",
		"STREAMER_PORT":         "",
	} {
		t.Run(word, func(t *testing.T) {
			if got := Typo(word, names); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
	if got := Typo("x", nil); got != "" {
		t.Errorf("among none: got %q", got)
	}
}
