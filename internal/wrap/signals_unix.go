//go:build unix

package wrap

import (
	"os"
	"syscall"
)

// statusOf returns the exit status of a command that failed, as a shell does.
func statusOf(s *os.ProcessState) int {
	if w, ok := s.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return 128 + int(w.Signal())
	}
	return s.ExitCode()
}

// terminations are the signals that are passed on to the command. SIGINT and SIGQUIT of a
// terminal reach it by themselves.
var terminations = []os.Signal{syscall.SIGTERM, syscall.SIGHUP}
