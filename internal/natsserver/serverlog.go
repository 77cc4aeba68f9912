package natsserver

import (
	"errors"
	"fmt"
	"strings"
	"sync"
)

// serverLog passes on the warnings and errors of the embedded server, and drops all
// other lines.
type serverLog struct {
	notice  func(string, error)
	broken  func(error) // called with the write error that a stream keeps
	limited func()      // called when the limit of storage refuses a message
	mu      sync.Mutex
	text    string
}

// Texts of the server. Nothing else in the process shows that a stream stores no more
// messages. TestDiskFull fails where a version changes them.
const (
	textWriteError = "critical write error"
	textNoRight    = "disabling JetStream" // the data directory is not writable
	textLimit      = "resource limits exceeded for server"
	textNotStored  = "failed to store a msg" // once for each message
)

func (l *serverLog) watch(format string, v []any) {
	text := fmt.Sprintf(format, v...)
	switch {
	case strings.Contains(strings.ToLower(text), textWriteError), strings.Contains(text, textNoRight):
		l.broken(cause(text, v))
	case strings.Contains(text, textLimit):
		l.limited()
	}
}

func cause(text string, v []any) error {
	for _, x := range v {
		if err, ok := x.(error); ok {
			return err
		}
	}
	return errors.New(text)
}

// expected is the beginning of a warning that does not apply: the passwords of the
// embedded server are not in a configuration file.
const expected = "Plaintext passwords detected"

func (l *serverLog) pass(format string, v []any) {
	text := fmt.Sprintf(format, v...)
	if strings.HasPrefix(text, expected) || strings.Contains(text, textNotStored) {
		return
	}
	l.mu.Lock()
	l.text = text
	l.mu.Unlock()
	l.notice("embedded NATS server", errors.New(text))
}

func (l *serverLog) last() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text
}

func (l *serverLog) Warnf(format string, v ...any) { l.pass(format, v); l.watch(format, v) }

func (l *serverLog) Errorf(format string, v ...any) { l.pass(format, v); l.watch(format, v) }

func (l *serverLog) Fatalf(format string, v ...any) { l.pass(format, v) }
func (l *serverLog) Noticef(string, ...any)         {}
func (l *serverLog) Debugf(string, ...any)          {}
func (l *serverLog) Tracef(string, ...any)          {}
