//go:build !(linux || darwin || freebsd)

package broker

import "errors"

type dirLock struct{}

// lockDir refuses: there is no lock here that a killed process gives back.
func lockDir(string) (*dirLock, error) {
	return nil, errors.New("broker: the embedded server cannot lock its data directory on this system: run a NATS server and give its URL")
}

func (l *dirLock) release() error { return nil }

func freeBytes(string) int64 { return 0 }
