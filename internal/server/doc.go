// Package server configures and wires what runs: a Server is broker, worker and gateway
// in one process.
//
// A Server accepts inputs only after its settings are in force. For the order of
// inputs and events, and for crashes, the promises of broker and worker apply
// unchanged.
package server
