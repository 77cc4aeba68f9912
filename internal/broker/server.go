package broker

import (
	"errors"
	"fmt"
	"net"
)

// Embedded is a NATS server in this process, as package natsserver runs it.
type Embedded interface {
	InProcessConn() (net.Conn, error) // connects to the server that runs now
	Own() (user, password string)     // the rights of streamer itself
	Admit() error                     // starts to listen for clients; net.ErrClosed after Close
	URL() string                      // for clients, OwnURL and AgentURL for users; "" if only this process can connect
	OwnURL() string
	AgentURL() string
	Dir() string    // data directory
	Problem() error // why it stores nothing, or nil
	Drop(err error) // starts it again without the damaged message that err names
	Restarts() uint64
	Close() error
}

func (b *Broker) embed() error {
	if b.opts.Embed == nil {
		return errors.New("broker: there is neither the URL of a server nor an embedded one")
	}
	s, err := b.opts.Embed(b.Notice)
	if err != nil {
		return err
	}
	b.embedded = s
	return nil
}

var errDamagedEnd = errors.New("broker: damaged on the disk")

// DamagedEnd returns the error for a session whose last event in a stream cannot
// be read. The embedded server is started again without the damaged message.
func (b *Broker) DamagedEnd(stream, token string) error {
	err := fmt.Errorf("%w: the last event of session %s in stream %s cannot be read", errDamagedEnd, token, stream)
	if b.embedded != nil {
		b.embedded.Drop(err)
		return err
	}
	return fmt.Errorf("%w; stop the NATS server, remove index.db of that stream and start it: it then drops what is damaged, and streamer appends it again", err)
}
