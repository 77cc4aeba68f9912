//go:build !unix

package wrap

import "os"

// statusOf returns the exit status of a command that failed.
func statusOf(s *os.ProcessState) int { return s.ExitCode() }

// terminations are the signals that are passed on to the command: none, as it gets those of
// the terminal by itself.
var terminations []os.Signal
