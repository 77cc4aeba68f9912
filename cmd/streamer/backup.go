package main

import (
	"context"

	"streamer/internal/backup"
	"streamer/internal/client"
	"streamer/internal/inspect"
)

type backupCommand struct {
	Directory string `arg:"" help:"directory to create; it must not exist"`
	client.NATSFlags
}

func (*backupCommand) Help() string {
	return `Copies the streams of a running streamer. Inputs and events can be published meanwhile; a restored streamer continues as after a crash at the time of the backup. The backup is complete if the exit status is 0.

Example:

  streamer backup /backup/streamer-$(date +%F)`
}

func (c *backupCommand) Run(ctx context.Context, std stdio) error {
	return client.WithBroker(ctx, c.Options(), func(b *client.Broker) error {
		return backup.Create(ctx, b.Broker, c.Directory, client.NewProgressLine(std.err).Backup(std.out))
	})
}

type restoreCommand struct {
	Directory string `arg:"" help:"directory of the backup"`
	client.NATSFlags
	Replicas int `placeholder:"NUMBER" help:"number of replicas of the streams; if 0, that of the backup, or 1 in a data directory"`
}

func (*restoreCommand) Help() string {
	return `Creates the streams from a backup: on the servers of --nats-url, or else in the data directory. It prints which of them. No streamer may run, and none of its streams may exist.

Example:

  streamer restore /backup/streamer-2026-01-31 --data-dir /var/lib/streamer`
}

func (c *restoreCommand) Run(ctx context.Context, std stdio) error {
	o := c.Options()
	o.Replicas = c.Replicas
	report := client.NewProgressLine(std.err).Backup(std.out)
	if into := report.Into; o.URL == "" {
		report.Into = func(string) { into("the data directory " + o.DataDir) }
	}
	return backup.Restore(ctx, o.Embedding(), c.Directory, report)
}

type archiveCommand struct {
	client.NATSFlags
	inspect.ArchiveOptions
}

func (*archiveCommand) Help() string {
	return `Writes what streamer export --values writes, compressed, to DAY/SESSION.….jsonl.gz, where DAY is that of the last event. What the archive has is not written again, so a run can be repeated, and an interrupted one continues. streamer events --from prints the events.

Example:

  streamer archive --to s3://archive/streamer`
}

func (c *archiveCommand) Run(ctx context.Context, std stdio) error {
	return client.WithBroker(ctx, c.Options(), func(b *client.Broker) error {
		return inspect.Archive(ctx, b, std.out, c.ArchiveOptions)
	})
}
