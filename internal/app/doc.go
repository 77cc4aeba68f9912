// Package app configures and wires the packages into what the commands run: a
// Server, which is broker, worker and gateway in one process, and clients of a
// server that runs already: Dial, Replayer and Interrupt.
//
// A Server accepts inputs only after its settings are in force. The order of
// inputs, the order of events and what a crash can lose are promises of broker
// and worker. Server adds none and takes none away.
package app
