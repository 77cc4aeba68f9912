//go:build !(linux || darwin || freebsd)

package broker

import "errors"

type dirLock struct{}

// lockDir returns an error: these systems have no lock that a killed process
// releases.
func lockDir(string) (*dirLock, error) {
	return nil, errors.New("broker: the embedded server cannot lock its data directory on this system: run a NATS server and give its URL")
}

func (l *dirLock) release() error { return nil }

func freeBytes(string) int64 { return 0 }
