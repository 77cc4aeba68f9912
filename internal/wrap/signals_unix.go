//go:build unix

package wrap

import (
	"os"
	"syscall"
)

// terminations are the signals that are passed on to the command. SIGINT and SIGQUIT of a
// terminal reach it by themselves.
var terminations = []os.Signal{syscall.SIGTERM, syscall.SIGHUP}
