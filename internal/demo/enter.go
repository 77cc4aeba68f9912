package demo

import (
	"bufio"
	"io"

	"streamer/internal/cli"
)

// Enter returns a channel that is closed when a line is read from a terminal. It
// returns nil if in is no terminal.
func Enter(in io.Reader) <-chan struct{} {
	if !cli.IsTerminal(in) {
		return nil
	}
	key := make(chan struct{})
	go func() { // until the process ends: a read of a terminal cannot be stopped
		if _, err := bufio.NewReader(in).ReadString('\n'); err == nil {
			close(key)
		}
	}()
	return key
}
