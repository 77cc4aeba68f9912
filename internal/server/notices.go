package server

import (
	"strings"
	"sync"

	"streamer/internal/client"

	"github.com/rs/zerolog"
)

// notices logs the notices of a connection. Those about missing permissions wait until
// it is known whether the connection fails for that reason: one error says it.
type notices struct {
	logger zerolog.Logger

	mu     sync.Mutex
	open   bool
	denied []error
}

func (n *notices) log(msg string, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.open && err != nil && strings.Contains(err.Error(), client.Violation) {
		n.denied = append(n.denied, err)
		return
	}
	n.logger.Warn().Err(err).Msg(msg)
}

// flush logs the notices that waited. Later ones do not wait.
func (n *notices) flush() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.open = true
	for _, err := range n.denied {
		n.logger.Warn().Err(err).Msg("NATS denies a permission")
	}
	n.denied = nil
}
