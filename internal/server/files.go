package server

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"streamer/internal/client"

	"github.com/rs/zerolog"
)

const certificateEvery = time.Second

// certificate is the certificate of the gateway. It is read again when one of its
// files has changed. A pair that cannot be read leaves the last one in use, because a
// renewal replaces the files one after the other.
type certificate struct {
	certFile, keyFile string
	log               zerolog.Logger

	mu      sync.Mutex
	checked time.Time
	stamp   [2]fileStamp
	pair    *tls.Certificate
}

type fileStamp struct {
	at   time.Time
	size int64
}

func newCertificate(certFile, keyFile string, log zerolog.Logger) (*certificate, error) {
	if certFile == "" || keyFile == "" {
		return nil, errors.New("need both")
	}
	c := &certificate{certFile: certFile, keyFile: keyFile, log: log}
	return c, c.read(time.Now())
}

func (c *certificate) current(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := time.Now(); now.Sub(c.checked) >= certificateEvery {
		if err := c.read(now); err != nil {
			c.log.Warn().Err(err).Msg("cannot read the new certificate; keeping the previous one")
		}
	}
	return c.pair, nil
}

// read reads the files if one of them has changed since the last read. After an error
// it reads them again when they change again.
func (c *certificate) read(now time.Time) error {
	c.checked = now
	var stamp [2]fileStamp
	for i, name := range []string{c.certFile, c.keyFile} {
		info, err := os.Stat(name)
		if err != nil {
			return err
		}
		stamp[i] = fileStamp{info.ModTime(), info.Size()}
	}
	if stamp == c.stamp {
		return nil
	}
	c.stamp = stamp
	pair, err := tls.LoadX509KeyPair(c.certFile, c.keyFile)
	if err != nil {
		return err
	}
	c.pair = &pair
	return nil
}

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
