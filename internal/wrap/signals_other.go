//go:build !unix

package wrap

import "os"

// terminations are the signals that are passed on to the command: none, as it gets those of
// the terminal by itself.
var terminations []os.Signal
