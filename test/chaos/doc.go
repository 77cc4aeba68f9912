// Package chaos contains only tests. Three nats-server processes in a cluster and
// three streamer processes that share its partitions run while publishers publish.
// Faults of processes, network, disks, snapshots, checkpoints and the input stream
// are injected at random moments. Meanwhile sessions are erased, by requests and by
// `streamer forget`, of which some are killed, in runs of a minute or more also after the
// time of --retain, and new sessions are paused. Afterwards both logs are checked:
//   - Every acknowledged input has its effect once, unless it was lost when the
//     input stream was rolled back. Partitions then stop, and an operator runs
//     `streamer recover --yes`, which is killed half of the time.
//   - Each call has one result. Events are stored once, and each refers to the
//     previous one.
//   - Live readers, over NATS and over SSE, have every event once.
//   - The event log is byte for byte the fold of the input log, except for
//     sessions that lost inputs.
//   - Nothing from before an erasure is stored but, after a run of less than a minute, large
//     values, and no other session was erased. Runs that roll back the input stream erase
//     nothing.
//   - A backup is restored in a data directory, with the same events.
//
// `STREAMER_CAMPAIGNS=1 go test ./test/chaos` runs for 20 seconds. The environment
// changes that:
//   - STREAMER_CHAOS=5m sets the duration.
//   - STREAMER_SEED=n repeats the faults and inputs of a run. The state of the
//     processes at the time of each fault differs.
//   - STREAMER_CHAOS_FAULT='worker killed,server killed' makes half of the faults
//     one of these. The error for an unknown name lists the known ones. Only runs
//     that name it, and otherwise one seed of four, roll back the input stream.
//   - STREAMER_CHAOS_SKEW=1 gives the servers and streamers clocks that differ by
//     seconds.
//   - STREAMER_CHAOS_LOGS=dir keeps the logs of the processes.
//
// `go test -tags takeover ./test/chaos -run TestTakeover -v` measures takeovers.
//
// `STREAMER_CAMPAIGNS=1 go test -tags power ./test/chaos -run TestPower -v` does the same with
// servers that sync as deploy/nats recommends. All of them lose what they have not synced, one
// is replaced, and one has bit errors in the files of each stream, leads it and is replaced:
// after that, `streamer verify` must name each session in which anything is wrong.
//
// The fault of a full disk needs the permission to mount a file system, and is
// skipped without it.
package chaos
