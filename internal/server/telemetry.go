package server

import (
	"context"
	"strconv"
	"time"

	"streamer/internal/gateway"
	"streamer/internal/telemetry"
	"streamer/internal/worker"
)

// telemetryTime bounds how long the last spans and log lines may take.
const telemetryTime = 5 * time.Second

func (s *Server) observer(ctx context.Context, calls *telemetry.Calls) (worker.Observer, error) {
	if s.config.OTLPEndpoint == "" && !telemetry.Configured() {
		return calls, nil
	}
	failed := func(err error) { s.log.Warn().Err(err).Msg("traces not sent") }
	var err error
	if s.spans, err = telemetry.NewSpans(ctx, s.config.OTLPEndpoint, s.config.OTLPContent, failed); err != nil {
		return nil, err
	}
	return telemetry.Observers{calls, s.spans}, nil
}

func (s *Server) closeTelemetry() {
	ctx, cancel := context.WithTimeout(context.Background(), telemetryTime)
	defer cancel()
	if s.spans != nil {
		if err := s.spans.Close(ctx); err != nil {
			s.log.Warn().Err(err).Msg("traces not sent")
		}
	}
	if s.config.Logs != nil {
		s.config.Logs.Close(ctx)
	}
}

// boundsTime is how long GET /metrics waits for the end of the input log. Without
// it the lag is left out.
const boundsTime = time.Second

// metrics returns the metrics of worker and broker. Counters begin at 0 with the
// process.
func (s *Server) metrics(ctx context.Context) []gateway.Metric {
	w, c := s.Worker.Stats(), s.Broker.Counts()
	list := []gateway.Metric{
		gateway.Number("streamer_retention_due_sessions", "Sessions of this process whose retention is over, and that are not erased yet.", s.retention.left.Load()),
		gateway.Number("streamer_retention_behind_seconds", "Time since the retention of the next of them is over.", time.Duration(s.retention.by.Load()).Seconds()),
		gateway.Number("streamer_inputs_folded_total", "Inputs folded, including those folded again after a restart.", w.Folded),
		gateway.Number("streamer_inputs_rejected_total", "Inputs that could not be used and became a rejected event.", w.Rejected),
		gateway.Number("streamer_inputs_skipped_total", "Inputs skipped because their subject is not that of their session, or because no event can be published for it.", w.Skipped),
		gateway.Number("streamer_clock_inputs_total", "Clock inputs published because a deadline or a flush was due.", w.Asked),
		gateway.Number("streamer_events_appended_total", "Events stored by this process.", w.Appended),
		gateway.Number("streamer_events_adopted_total", "Events found stored already, by another process or by a try whose acknowledgement was lost.", w.Adopted),
		gateway.Number("streamer_events_refused_total", "Appends that the server refused definitively.", w.Refused),
		gateway.Number("streamer_events_forged_total", "Times that a message not written by streamer was found at the head of a session's event log and skipped.", w.Forged),
		gateway.Number("streamer_events_diverged_total", "Stored events that differ from those their inputs give.", w.Diverged),
		gateway.Number("streamer_calls_started_total", "Calls whose start was stored by this process.", w.Started),
		closedCalls(w),
		gateway.Number("streamer_calls_open", "Open calls in the partitions of this process.", w.Open),
		gateway.Number("streamer_sessions_resident", "Sessions whose state is in memory.", w.Sessions),
		gateway.Number("streamer_sessions_bytes", "Bytes of the sessions in memory, those of live ones as an estimate; --session-memory bounds them.", w.Memory),
		gateway.Number("streamer_sessions_stuck", "Sessions whose next event the server refuses: definitively, tried again every minute, or repeatedly.", w.Stuck),
		gateway.Number("streamer_sessions_held", "Sessions whose snapshot was lost and whose open calls only `streamer recover --yes` closes.", w.Held),
		gateway.Number("streamer_queued_bytes", "Bytes of events that are not stored yet.", w.Queued),
		gateway.Number("streamer_snapshots_written_total", "Snapshots of sessions written.", w.Snapshots),
		gateway.Number("streamer_snapshot_conflicts_total", "Snapshots refused because another process wrote one, or a try whose acknowledgement was lost did.", w.SnapshotConflicts),
		gateway.Number("streamer_log_rewinds_total", "Rewinds of the input log found by this process, one for each partition: the log was truncated below inputs already folded.", w.Rewinds),
		gateway.Number("streamer_snapshots_damaged_total", "Checkpoints and snapshots found missing, unreadable or outdated, and sessions whose events were lost.", w.Damaged),
		gateway.Number("streamer_sessions_refolded_total", "Sessions whose inputs were folded again because of that.", w.Refolded),
		gateway.Number("streamer_partition_restarts_total", "Restarts of a partition from its checkpoint after an error.", w.Restarts),
		gateway.Number("streamer_partitions_carried", "Partitions of this process.", len(w.Carried)),
		gateway.Number("streamer_partitions_stopped", "Partitions that stopped; the log and /readyz contain the reason.", stoppedPartitions(w)),
	}
	list = append(list, s.lags(ctx, w)...)
	if s.sink != nil {
		delivered, failed, dead := s.sink.Counts()
		list = append(list,
			gateway.Number("streamer_sink_delivered_total", "Events delivered by the sink.", delivered),
			gateway.Number("streamer_sink_failures_total", "Requests of the sink that failed, and readings of events.", failed),
			gateway.Number("streamer_sink_dead_total", "Events that the sink could not deliver.", dead),
		)
	}
	return append(list,
		gateway.Number("streamer_nats_connected", "1 if there is a connection to NATS.", oneIf(s.Broker.Connected())),
		gateway.Number("streamer_nats_disconnections_total", "Lost connections to NATS.", c.Disconnected),
		gateway.Number("streamer_nats_reconnections_total", "Reconnections to NATS.", c.Reconnected),
		gateway.Number("streamer_publishes_resent_total", "Publishes sent again because their outcome was not known.", c.Resent),
		gateway.Number("streamer_reads_retried_total", "Requests to JetStream tried again: streams, messages, snapshots, checkpoints.", c.Retried),
		gateway.Number("streamer_consumers_remade_total", "Lost consumers that were replaced.", c.Remade),
		gateway.Number("streamer_catch_ups_total", "Times that partitions far behind were read together by the shared catch-up reader.", s.Broker.CatchUps()),
		gateway.Number("streamer_slow_consumers_total", "Subscriptions that dropped messages; they read the log again.", c.Slow),
		gateway.Number("streamer_foreign_messages_total", "Messages on an internal subject that streamer did not write, or in place of what it stored there.", c.Foreign),
		gateway.Number("streamer_nats_denied_total", "Refusals by NATS because of a missing permission or invalid credentials.", c.Denied),
		gateway.Number("streamer_nats_server_restarts_total", "Restarts of the embedded NATS server after a write error, such as a full disk.", c.Restarted),
	)
}

func closedCalls(w worker.Stats) gateway.Metric {
	m := gateway.Metric{Name: "streamer_calls_closed_total", Help: "Calls whose result was stored by this process, by status."}
	for i, n := range w.Closed {
		m.Samples = append(m.Samples, gateway.Sample{Label: "status", Value: string(worker.Ends[i]), Number: float64(n)})
	}
	return m
}

func stoppedPartitions(w worker.Stats) (n int) {
	for _, c := range w.Carried {
		n += oneIf(c.Stopped)
	}
	return n
}

// lags returns the lag of each partition. Where the end of the input log is not
// known in time, it returns only the age of the inputs being folded.
func (s *Server) lags(ctx context.Context, w worker.Stats) []gateway.Metric {
	lag := gateway.Metric{Name: "streamer_partition_checkpoint_lag", Help: "Sequences from a partition's checkpoint to the end of the input log: the maximum that a restart reads again."}
	behind := gateway.Metric{Name: "streamer_partition_behind_seconds", Help: "Age of the inputs that a partition folds now; below 2 if it is up to date."}
	waiting := gateway.Metric{Name: "streamer_partition_lag_messages", Help: "Sequences from the first input that a partition has not folded to the end of the input log; 0 if it has folded all."}
	ctx, cancel := context.WithTimeout(ctx, boundsTime)
	defer cancel()
	_, last, err := s.Broker.InputBounds(ctx)
	for _, c := range w.Carried {
		p := strconv.Itoa(c.Partition)
		behind.Samples = append(behind.Samples, gateway.Sample{Label: "partition", Value: p, Number: c.Behind.Seconds()})
		if err == nil && c.Checkpoint > 0 {
			lag.Samples = append(lag.Samples, gateway.Sample{Label: "partition", Value: p, Number: float64(max(last+1, c.Checkpoint) - c.Checkpoint)})
		}
		if err == nil {
			waiting.Samples = append(waiting.Samples, gateway.Sample{Label: "partition", Value: p, Number: float64(notFolded(c, last))})
		}
	}
	return []gateway.Metric{lag, waiting, behind}
}

// notFolded returns the number of sequences from the first input that a partition has
// not folded to the last one.
func notFolded(c worker.Carried, last uint64) uint64 {
	next := max(c.Next, 1) // sequences begin at 1
	if c.CaughtUp || next > last {
		return 0
	}
	return last + 1 - next
}

func oneIf(b bool) int {
	if b {
		return 1
	}
	return 0
}
