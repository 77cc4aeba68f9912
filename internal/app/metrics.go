package app

import (
	"context"
	"strconv"
	"time"

	"streamer/internal/gateway"
	"streamer/internal/worker"
)

// boundsTime bounds the question how long the input log is: numbers that come
// without the lag are better than none.
const boundsTime = time.Second

// metrics lists what GET /metrics tells of worker and broker. Counters begin at
// 0 with the process.
func (s *Server) metrics(ctx context.Context) []gateway.Metric {
	w, c := s.Worker.Stats(), s.Broker.Counts()
	list := []gateway.Metric{
		gateway.Number("streamer_inputs_folded_total", "Inputs folded, those folded again after a restart too.", w.Folded),
		gateway.Number("streamer_inputs_rejected_total", "Inputs that could not be used and became a rejected event.", w.Rejected),
		gateway.Number("streamer_inputs_skipped_total", "Inputs skipped because they stood on a subject that is not their own, or no server can answer.", w.Skipped),
		gateway.Number("streamer_clock_inputs_total", "Clock inputs asked for, because a deadline or a pause was due.", w.Asked),
		gateway.Number("streamer_events_appended_total", "Events this process stored.", w.Appended),
		gateway.Number("streamer_events_adopted_total", "Events found stored already, by another process or by a try whose answer was lost.", w.Adopted),
		gateway.Number("streamer_events_refused_total", "Appends the server refused for good.", w.Refused),
		gateway.Number("streamer_events_forged_total", "Times that a message no streamer wrote was found at a chain's end, and stepped over.", w.Forged),
		gateway.Number("streamer_events_diverged_total", "Events found stored that are not what their inputs give.", w.Diverged),
		gateway.Number("streamer_calls_started_total", "Calls whose start this process stored.", w.Started),
		closed(w),
		gateway.Number("streamer_calls_open", "Calls that are open, in the partitions this process carries.", w.Open),
		gateway.Number("streamer_sessions_in_memory", "Sessions in memory.", w.Sessions),
		gateway.Number("streamer_sessions_stuck", "Sessions whose next event the server refused for good, tried again every minute, or again and again.", w.Stuck),
		gateway.Number("streamer_queued_bytes", "Bytes of events that are not stored yet.", w.Queued),
		gateway.Number("streamer_saves_total", "Saved states of sessions.", w.Snapshots),
		gateway.Number("streamer_save_conflicts_total", "Saves that found the state of another process, or of a try whose answer was lost.", w.SnapshotConflicts),
		gateway.Number("streamer_log_rewinds_total", "Rewinds of the input log that this process recorded, by partition: it came back shorter than what was folded of it.", w.Rewinds),
		gateway.Number("streamer_states_damaged_total", "Checkpoints and snapshots found missing, unreadable or outdated, and sessions whose events were lost.", w.Damaged),
		gateway.Number("streamer_sessions_refolded_total", "Sessions whose inputs were folded again because of that.", w.Refolded),
		gateway.Number("streamer_partition_restarts_total", "Times a partition was started again from its mark after an error.", w.Restarts),
		gateway.Number("streamer_partitions_carried", "Partitions this process carries.", len(w.Carried)),
		gateway.Number("streamer_partitions_stopped", "Partitions that cannot go on; the log and /readyz say why.", stopped(w)),
	}
	list = append(list, s.lags(ctx, w)...)
	return append(list,
		gateway.Number("streamer_nats_connected", "Whether there is a connection to NATS.", one(s.Broker.Connected())),
		gateway.Number("streamer_nats_disconnections_total", "Connections to NATS that were lost.", c.Disconnected),
		gateway.Number("streamer_nats_reconnections_total", "Connections to NATS that came back.", c.Reconnected),
		gateway.Number("streamer_publishes_resent_total", "Publishes sent again because their outcome was not known.", c.Resent),
		gateway.Number("streamer_reads_retried_total", "Requests to JetStream tried again: streams, messages, saved states, marks.", c.Retried),
		gateway.Number("streamer_consumers_remade_total", "Consumers that were lost and made again.", c.Remade),
		gateway.Number("streamer_sweeps_total", "Times one consumer read for many partitions that were far behind.", c.Swept),
		gateway.Number("streamer_slow_consumers_total", "Subscriptions that dropped messages; they read the log again.", c.Slow),
		gateway.Number("streamer_foreign_messages_total", "Times that something was found on an internal subject that is not streamer's, or not what streamer stored there.", c.Foreign),
		gateway.Number("streamer_nats_denied_total", "Refusals by NATS for want of a permission, or of valid credentials.", c.Denied),
		gateway.Number("streamer_nats_server_restarts_total", "Restarts of the embedded NATS server after a write error, such as a full disk.", c.Restarted),
	)
}

func closed(w worker.Stats) gateway.Metric {
	m := gateway.Metric{Name: "streamer_calls_closed_total", Help: "Calls whose result this process stored, by status."}
	for i, n := range w.Closed {
		m.Samples = append(m.Samples, gateway.Sample{Label: "status", Value: string(worker.Ends[i]), Number: float64(n)})
	}
	return m
}

func stopped(w worker.Stats) (n int) {
	for _, c := range w.Carried {
		n += one(c.Stopped)
	}
	return n
}

// lags tells how far each partition is; without the end of the input log,
// which has to be asked for, only how old.
func (s *Server) lags(ctx context.Context, w worker.Stats) []gateway.Metric {
	mark := gateway.Metric{Name: "streamer_partition_mark_lag", Help: "Sequences from a partition's mark to the end of the input log: what a restart reads again at the most."}
	behind := gateway.Metric{Name: "streamer_partition_behind_seconds", Help: "Age of what a partition folds now; below 2 where it is up to date."}
	ctx, cancel := context.WithTimeout(ctx, boundsTime)
	defer cancel()
	_, last, err := s.Broker.InputBounds(ctx)
	for _, c := range w.Carried {
		p := strconv.Itoa(c.Partition)
		behind.Samples = append(behind.Samples, gateway.Sample{Label: "partition", Value: p, Number: c.Behind.Seconds()})
		if err == nil && c.Checkpoint > 0 {
			mark.Samples = append(mark.Samples, gateway.Sample{Label: "partition", Value: p, Number: float64(max(last+1, c.Checkpoint) - c.Checkpoint)})
		}
	}
	return []gateway.Metric{mark, behind}
}

func one(b bool) int {
	if b {
		return 1
	}
	return 0
}
