// Package chaos holds a test only. Three nats-server processes in a cluster and
// three streamer processes that share its partitions run while publishers
// publish, and processes, network, disks, snapshots, checkpoints and the input
// stream are disturbed at random moments. Both logs are checked afterwards:
// every input that was acknowledged and not lost with a stream that was put back
// counts once, each call is closed once, events are stored once and linked, and
// live readers, some of them by Server-Sent Events, have every event once. The
// event log is the fold of the input log, byte for byte, but for sessions that
// lost inputs.
//
// `go test ./test/chaos` does it for 20 seconds. STREAMER_CHAOS=5m sets another
// duration. STREAMER_SEED=n repeats what is done and published; the state of the
// processes at that moment differs. STREAMER_CHAOS_MISHAP='worker killed,server
// killed' makes half of what happens these; an unknown name is answered with the
// list. One seed of four puts the input stream back, or those runs whose
// STREAMER_CHAOS_MISHAP names it. STREAMER_CHAOS_SKEW=1 sets clocks of servers
// and streamers that differ by seconds. STREAMER_CHAOS_LOGS=dir keeps the logs of
// the processes. A full disk needs the right to mount a small one, and is left
// out without it.
package chaos
