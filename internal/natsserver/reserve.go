package natsserver

import "net"

// reservation keeps a port until the server listens on it, so that no other program
// gets it as a free one. A connection of the port to this process holds it. Nothing
// listens meanwhile, so clients are refused.
type reservation []*net.TCPConn // both ends of the connection, or none

func reserve(l net.Listener) (reservation, error) {
	defer l.Close()
	near, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		return nil, err
	}
	for {
		far, err := l.Accept()
		if err != nil {
			near.Close()
			return nil, err
		}
		if far.RemoteAddr().String() == near.LocalAddr().String() {
			return reservation{near.(*net.TCPConn), far.(*net.TCPConn)}, nil
		}
		far.Close() // of a client that came too early
	}
}

// release closes the connection. Neither end lingers, so that the port is free at once.
func (r reservation) release() {
	for _, end := range r {
		_ = end.SetLinger(0) // the port is free later if that fails
		end.Close()
	}
}
