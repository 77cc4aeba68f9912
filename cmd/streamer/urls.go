package main

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"streamer/internal/broker"
)

// Files of the data directory with the URLs of the running embedded server: the
// one for streamer's own commands, and the one for agents that are trusted.
const (
	urlFile      = "nats-url"
	agentURLFile = "nats-agent-url"
)

// writeURLs writes the files, which only this user can read.
func writeURLs(dir string, b *broker.Broker) error {
	for name, u := range map[string]string{urlFile: b.OwnURL(), agentURLFile: b.AgentURL()} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(u+"\n"), 0o600); err != nil {
			return fmt.Errorf("data directory: %w", err)
		}
	}
	return nil
}

// agentPassword returns the password in the agents' URL that an earlier process
// wrote, so that it stays the same, or "" if there is none.
func agentPassword(dir string) string {
	text, err := os.ReadFile(filepath.Join(dir, agentURLFile))
	if err != nil {
		return ""
	}
	u, err := url.Parse(strings.TrimSpace(string(text)))
	if err != nil {
		return ""
	}
	password, _ := u.User.Password()
	return password
}
