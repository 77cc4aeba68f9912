package bench

import (
	"fmt"
	"io"
	"runtime"
	"text/tabwriter"
	"time"
)

// sharesOf returns the parts of all cores that two processes used.
func sharesOf(took, server, client time.Duration) Shares {
	all := took.Seconds() * float64(runtime.NumCPU())
	return Shares{server.Seconds() / all, client.Seconds() / all}
}

// Print writes the result as a table.
func (r *SSEResult) Print(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	cpu := func(s Shares) {
		fmt.Fprintf(w, "  CPU of %d cores\tserver %.0f%%\tload client %.0f%%\n", r.Cores, s.Server*100, s.Client*100)
	}
	fanOut := func(what string, f *FanOut) {
		if f == nil {
			return
		}
		fmt.Fprintf(w, "%s, %d streams, %.0f events/s\tp50 %.1f ms\tp99 %.1f ms\tp99.9 %.1f ms\n", what, f.Streams, f.Rate, f.Latency.P50/1000, f.Latency.P99/1000, f.Latency.P999/1000)
		fmt.Fprintf(w, "  delivered\t%d\tlost %d\ttwice %d\n", f.Delivered, f.Lost, f.Twice)
		fmt.Fprintf(w, "  memory before the events\t%.1f KiB per stream\n", f.PerStream)
		fmt.Fprintf(w, "  CPU per delivered event\tserver %.1f µs\tload client %.1f µs\n", f.ServerCPU, f.ClientCPU)
		cpu(f.Shares)
	}
	if i := r.Idle; i != nil {
		fmt.Fprintf(w, "idle, %d streams\t%.1f KiB per stream\t%.1f KiB when connected\t%.1f MiB without streams\n", i.Streams, i.PerStream, i.AtOnce, i.Before)
		fmt.Fprintf(w, "  work\t%.1f µs CPU per stream and second\t%.0f streams opened/s\n", i.CPU, i.Connecting)
		cpu(i.Shares)
	}
	fanOut("viewers of one session", r.Viewers)
	fanOut("sessions with one viewer", r.Sessions)
	if p := r.Replay; p != nil {
		fmt.Fprintf(w, "replay to %d streams at once, %d events each\t%.0f MB/s\t%.1f s\tlost %d\ttwice %d\n", p.Streams, p.Events, p.MB, p.Seconds, p.Lost, p.Twice)
		cpu(p.Shares)
	}
	fmt.Fprintf(w, "\nLatency is from publishing a delta to its event at a client. Memory is that of the server process. Load average before: %s.\n", r.Load)
	return w.Flush()
}
