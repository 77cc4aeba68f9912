// Package app configures and wires the packages for the commands. A Server is
// broker, worker and gateway in one process. Dial, Replayer and Interrupt are for
// clients of a running server.
//
// A Server accepts inputs only after its settings are in force. For the order of
// inputs and events, and for crashes, the promises of broker and worker apply
// unchanged.
package app
