package broker

import (
	"errors"
	"fmt"
	"strings"
	"sync"
)

// serverLog hands the embedded server's warnings and errors on, and drops the
// rest.
type serverLog struct {
	notice func(string, error)
	mu     sync.Mutex
	text   string
}

// expected begins a warning that does not apply: the embedded server's passwords
// are in no configuration file.
const expected = "Plaintext passwords detected"

func (l *serverLog) tell(format string, v []any) {
	text := fmt.Sprintf(format, v...)
	if strings.HasPrefix(text, expected) {
		return
	}
	l.mu.Lock()
	l.text = text
	l.mu.Unlock()
	l.notice("embedded NATS server", errors.New(text))
}

// last is the last thing the server complained of.
func (l *serverLog) last() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text
}

func (l *serverLog) Warnf(format string, v ...any)  { l.tell(format, v) }
func (l *serverLog) Errorf(format string, v ...any) { l.tell(format, v) }
func (l *serverLog) Fatalf(format string, v ...any) { l.tell(format, v) }
func (l *serverLog) Noticef(string, ...any)         {}
func (l *serverLog) Debugf(string, ...any)          {}
func (l *serverLog) Tracef(string, ...any)          {}
