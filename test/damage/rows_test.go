package damage

import (
	"context"
	"os"
	"path/filepath"
	"time"
)

// row is one damage and its expected outcome. The table of docs/operations.md has
// the same rows.
type row struct {
	what, damage string

	do      []func(*data) // variants of the damage to files; each gets its own copy
	after   []stop        // ways in which the process was ended before; if empty, killed
	running func(*run)    // the damage while the process runs; replaces do

	refused string // text with which the start is refused; if "", it is accepted
	down    string // text in the answer of /readyz until the process is started again
	recover bool   // `streamer recover --yes` may be needed
	logged  string // text in the log of the process
	lost    scope  // sessions whose events from before the damage may be missing
	differ  scope  // sessions that `streamer verify` may report
	blocks  bool   // needs streams with two blocks
	short   bool   // runs outside of campaigns too
}

// rows returns the table.
func rows() []row {
	table := []row{
		{what: inputStream, damage: "deleted", do: deleted(inputStream), refused: "stream LLM is missing", short: true},
		{what: inputStream, damage: "`meta.inf` damaged", do: damagedMeta(inputStream), refused: "stream LLM is missing"},
		{what: inputStream, damage: "deleted while it runs", running: removed(inputStream), down: "stream LLM", refused: "stream LLM is missing"},
		{what: inputStream, damage: "purged while it runs", running: purged(inputStream), recover: true},
		{what: inputStream, damage: "rolled back", do: rolledBack(inputStream), logged: shorter, short: true},
		{what: inputStream, damage: "truncated", do: truncated(inputStream), after: eitherEnd(), differ: ofLate},
		{what: inputStream, damage: "bit flipped", do: flipped(inputStream), after: eitherEnd(), differ: ofLate},
		{what: inputStream, damage: "bit flipped in its first block", do: flippedFirst(inputStream), after: eitherEnd(), differ: anything, blocks: true},
		{what: inputStream, damage: "`index.db` lost", do: lostIndex(inputStream), after: []stop{cleanly}},

		{what: eventStream, damage: "purged while it runs", running: purged(eventStream), lost: anything, differ: anything},
		{what: eventStream, damage: "bit flipped", do: flipped(eventStream), after: eitherEnd(), lost: oneOf, differ: oneOf, short: true},
		{what: eventStream, damage: "bit flipped in its first block", do: flippedFirst(eventStream), after: eitherEnd(), lost: oneOf, differ: oneOf, blocks: true},

		{what: snapshotStream, damage: "a key deleted while it runs", running: deletedKeys(snapshotStream)},
		{what: checkpointStream, damage: "a key deleted while it runs", running: deletedKeys(checkpointStream)},

		{what: "`jetstream/`", damage: "deleted", do: []func(*data){func(d *data) { d.must(os.RemoveAll(filepath.Join(d.dir, "jetstream"))) }}, lost: anything},
		{what: "`nats-url`", damage: "deleted", do: []func(*data){func(d *data) { d.removed(filepath.Join(d.dir, "nats-url")) }}},
		{what: "`lock`", damage: "deleted", do: []func(*data){func(d *data) { d.removed(filepath.Join(d.dir, "lock")) }}},
	}
	// Nothing depends on dead letters.
	table = append(table,
		row{what: deadStream, damage: "deleted", do: deleted(deadStream)},
		row{what: deadStream, damage: "deleted while it runs", running: removed(deadStream)},
		row{what: deadStream, damage: "`meta.inf` damaged", do: damagedMeta(deadStream)},
		row{what: deadStream, damage: "rolled back", do: rolledBack(deadStream)},
		row{what: deadStream, damage: "truncated", do: truncated(deadStream)},
		row{what: deadStream, damage: "bit flipped", do: flipped(deadStream)},
		row{what: deadStream, damage: "`index.db` lost", do: lostIndex(deadStream), after: []stop{cleanly}},
		row{what: deadStream, damage: "purged while it runs", running: purged(deadStream)},
	)
	// The content of these streams can be restored from the other streams.
	for _, s := range []string{eventStream, snapshotStream, checkpointStream, memberStream, blobStream} {
		lost := none
		if s == blobStream {
			lost = ofLarge
		}
		table = append(table,
			row{what: s, damage: "deleted", do: deleted(s), differ: lost, short: s == snapshotStream},
			row{what: s, damage: "`meta.inf` damaged", do: damagedMeta(s), differ: lost},
			row{what: s, damage: "deleted while it runs", running: removed(s), down: "stream " + s, differ: lost},
			row{what: s, damage: "rolled back", do: rolledBack(s), differ: lost},
			row{what: s, damage: "truncated", do: truncated(s), after: eitherEnd(), differ: lost},
			row{what: s, damage: "`index.db` lost", do: lostIndex(s), after: []stop{cleanly}},
		)
		if s != eventStream {
			table = append(table,
				row{what: s, damage: "purged while it runs", running: purged(s), differ: lost},
				row{what: s, damage: "bit flipped", do: flipped(s), after: eitherEnd(), differ: lost})
		}
	}
	return table
}

// shorter is the log message about an input log that was rewound.
const shorter = "input log was truncated below inputs already folded"

func eitherEnd() []stop { return []stop{killed, cleanly} }

func deleted(stream string) []func(*data) { return []func(*data){func(d *data) { d.deleted(stream) }} }

func rolledBack(stream string) []func(*data) {
	return []func(*data){func(d *data) { d.rolledBack(stream) }}
}

func truncated(stream string) []func(*data) {
	return []func(*data){func(d *data) { d.truncated(stream, 7) }, func(d *data) { d.truncated(stream, 0) }}
}

func flipped(stream string) []func(*data) {
	return []func(*data){func(d *data) { d.flippedMiddle(stream) }, func(d *data) { d.flippedLast(stream) }}
}

func flippedFirst(stream string) []func(*data) {
	return []func(*data){func(d *data) { d.flipped(d.blocks(stream)[0]) }}
}

func damagedMeta(stream string) []func(*data) {
	return []func(*data){
		func(d *data) { d.flipped(filepath.Join(d.stream(stream), "meta.inf")) },
		func(d *data) { d.removed(filepath.Join(d.stream(stream), "meta.inf")) },
		func(d *data) { d.flipped(filepath.Join(d.stream(stream), "meta.sum")) },
	}
}

func lostIndex(stream string) []func(*data) {
	file := func(d *data) string { return filepath.Join(d.stream(stream), "msgs", "index.db") }
	return []func(*data){
		func(d *data) { d.removed(file(d)) },
		func(d *data) { d.flipped(file(d)) },
	}
}

// purged returns a damage that removes all messages of a stream through the API.
func purged(stream string) func(*run) {
	return func(u *run) {
		ctx, cancel := context.WithTimeout(u.t.Context(), 10*time.Second)
		defer cancel()
		s, err := u.in.connect().Stream(ctx, stream)
		if err == nil {
			err = s.Purge(ctx)
		}
		if err != nil {
			u.t.Fatal(err)
		}
	}
}

// removed returns a damage that deletes a stream through the API.
func removed(stream string) func(*run) {
	return func(u *run) {
		ctx, cancel := context.WithTimeout(u.t.Context(), 10*time.Second)
		defer cancel()
		if err := u.in.connect().DeleteStream(ctx, stream); err != nil {
			u.t.Fatal(err)
		}
	}
}

// deletedKeys returns a damage that deletes every key of a bucket, as `nats kv del`
// does.
func deletedKeys(stream string) func(*run) {
	return func(u *run) {
		ctx, cancel := context.WithTimeout(u.t.Context(), 10*time.Second)
		defer cancel()
		bucket, err := u.in.connect().KeyValue(ctx, stream[len("KV_"):])
		if err != nil {
			u.t.Fatal(err)
		}
		keys, err := bucket.Keys(ctx)
		if err != nil {
			u.t.Fatal(err)
		}
		for _, key := range keys {
			if err := bucket.Delete(ctx, key); err != nil {
				u.t.Fatal(err)
			}
		}
	}
}
