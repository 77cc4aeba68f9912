package client

import (
	"errors"
	"strings"

	"streamer/internal/broker"
)

// ConnectionError is the error of a connection to the streams, with what to do.
type ConnectionError struct {
	Err error
	Fix string
}

func (e *ConnectionError) Error() string { return e.Err.Error() + "; " + e.Fix }

func (e *ConnectionError) Unwrap() error { return e.Err }

// CredentialsFix returns what to do if the user of a connection is the cause of an
// error, "" if it is not.
func CredentialsFix(err error) string {
	text := err.Error()
	switch {
	case strings.Contains(text, "Authorization Violation"):
		return "check the user and password in --nats-url, or --nats-creds"
	case errors.Is(err, broker.ErrRefused), strings.Contains(text, "no JetStream"), strings.Contains(text, Violation):
		return "connect as streamer's own user, in the account of the streams (STREAMER in deploy/nats/accounts.conf; the file nats-url in the data directory of an embedded server), which may publish everything but toolcalls.>; streamer doctor --role checks the user of a client"
	}
	return ""
}

// Violation is in the text of an error about a missing permission.
const Violation = "Permissions Violation"
