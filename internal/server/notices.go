package server

import (
	"strings"
	"sync"

	"streamer/internal/client"

	"github.com/rs/zerolog"
)

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
	if !n.open && err != nil && strings.Contains(err.Error(), client.Violation) {
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
