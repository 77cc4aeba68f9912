package operate

import (
	"path/filepath"
	"strings"
	"testing"

	"streamer/internal/app"
	"streamer/internal/backup"
	"streamer/internal/broker"
	"streamer/internal/broker/brokertest"
	"streamer/test/testkit"
)

// TestBackup: a backup of a cluster in use is restored in another cluster and in a
// data directory. Every call that was stored before the backup has its result there,
// the events are the fold of the inputs, and new calls get their results.
func TestBackup(t *testing.T) {
	from := brokertest.NewCluster(t)
	stop := serve(t, config(from.URL(), 3))
	b := dial(t, app.BrokerOptions{Options: broker.Options{URL: from.URL()}})
	l := start(t, b)
	l.await(t, 2)
	before := l.stored.Load()
	dir := filepath.Join(t.TempDir(), "backup")
	if err := backup.Create(brokertest.Deadline(t), b.Broker, dir, backup.Report{}); err != nil {
		t.Fatal(err)
	}
	if err := backup.Create(brokertest.Deadline(t), b.Broker, dir, backup.Report{}); err == nil {
		t.Error("a second backup to the same directory: got no error")
	}
	l.await(t, 3)
	l.end()
	right(t, b, l.stored.Load())
	stop()

	if err := backup.Restore(brokertest.Deadline(t), broker.Options{URL: from.URL()}, dir, backup.Report{}); err == nil || !strings.Contains(err.Error(), "exists") {
		t.Errorf("restore over streams: got %v", err)
	}
	data := filepath.Join(t.TempDir(), "data")
	onDisk := config("", 0)
	onDisk.Broker.DataDir, onDisk.Broker.Listen = data, "127.0.0.1:0"
	t.Run("data directory", func(t *testing.T) {
		restored(t, onDisk.Broker, func() { serve(t, onDisk) }, dir, before)
	})
	t.Run("cluster", func(t *testing.T) {
		to := app.BrokerOptions{Options: broker.Options{URL: brokertest.NewCluster(t).URL()}}
		restored(t, to, func() { serve(t, config(to.URL, 3)) }, dir, before)
	})
}

// restored restores a backup and checks the logs. The input log has at least the
// calls that were stored before the backup.
func restored(t *testing.T, to app.BrokerOptions, serve func(), dir string, before int64) {
	t.Helper()
	testkit.Until(t, "restore", func() error { // the servers of a new cluster need a moment
		return backup.Restore(brokertest.Deadline(t), to.Embedding(), dir, backup.Report{})
	})
	serve()
	b := dial(t, to)
	calls := int64(0)
	if err := b.Subjects(t.Context(), broker.StreamInputs, "_llm.*.*.result", func(_ string, n int) { calls += int64(n) }); err != nil {
		t.Fatal(err)
	}
	if calls < before {
		t.Errorf("%d results are in the restored input log, want at least %d", calls, before)
	}
	const more = 3
	for i := range more {
		if err := publish(t.Context(), b, "new", i); err != nil {
			t.Fatal(err)
		}
	}
	right(t, b, calls+more)
}
