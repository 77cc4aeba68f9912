package server

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"streamer/internal/client"
)

const agentURLFile = "nats-agent-url"

// writeURLs writes the files. Only this user can read them.
func writeURLs(dir string, b *client.Broker) error {
	for name, u := range map[string]string{client.URLFile: b.OwnURL(), agentURLFile: b.AgentURL()} {
		path := filepath.Join(dir, name)
		err := os.WriteFile(path+".new", []byte(u+"\n"), 0o600)
		if err == nil {
			err = os.Rename(path+".new", path) // a process that is killed here loses no password
		}
		if err != nil {
			return fmt.Errorf("data directory: %w", err)
		}
	}
	return nil
}

// password returns the password in a file that an earlier process wrote, or ""
// if there is none. It stays the same from start to start, so that clients can
// reconnect.
func password(dir, file string) string {
	text, err := os.ReadFile(filepath.Join(dir, file))
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
