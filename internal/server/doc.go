// Package server configures and wires what runs: a Server is broker, worker and gateway
// in one process.
//
// A Server accepts inputs only after its settings are in force. For the order of
// inputs and events, and for crashes, the promises of broker and worker apply
// unchanged.
//
// The garbage collector is paced (PaceGC), because with Go's defaults a server with 60,000
// open sessions still takes 512 MB ten seconds after a restart, instead of 256 MB, and
// streamer bench --parts throughput collects three times as often. The memory limit of a
// container is read (BoundMemory), because Go reads only its CPU limit.
package server
