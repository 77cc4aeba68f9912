package app

import (
	"errors"
	"strings"
	"sync"

	"streamer/internal/broker"

	"github.com/rs/zerolog"
)

// ConnectionError is the error of a connection to the streams, with what to do.
type ConnectionError struct {
	Err error
	Fix string
}

func (e *ConnectionError) Error() string { return e.Err.Error() + "; " + e.Fix }

func (e *ConnectionError) Unwrap() error { return e.Err }

// credentialsFix returns what to do where the user of a connection is the cause of an
// error, "" where it is not.
func credentialsFix(err error) string {
	text := err.Error()
	switch {
	case strings.Contains(text, "Authorization Violation"):
		return "check the user and password in --nats-url, or --nats-creds"
	case errors.Is(err, broker.ErrRefused), strings.Contains(text, "no JetStream"), strings.Contains(text, violation):
		return "connect as streamer's own user, in the account of the streams (STREAMER in deploy/nats/accounts.conf; the file nats-url in the data directory of an embedded server), which may publish everything but toolcalls.>; streamer doctor --role checks the user of a client"
	}
	return ""
}

// violation is in the text of an error about a missing permission.
const violation = "Permissions Violation"

// openNotices are the notices of a connection. Those about missing permissions wait
// until it is known whether the connection fails for that reason: one error says it.
type openNotices struct {
	log zerolog.Logger

	mu   sync.Mutex
	open bool
	held []error
}

// notice logs a notice.
func (n *openNotices) notice(msg string, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.open && err != nil && strings.Contains(err.Error(), violation) {
		n.held = append(n.held, err)
		return
	}
	n.log.Warn().Err(err).Msg(msg)
}

// opened logs the notices that waited, and those that follow at once.
func (n *openNotices) opened() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.open = true
	for _, err := range n.held {
		n.log.Warn().Err(err).Msg("NATS denies a permission")
	}
	n.held = nil
}
