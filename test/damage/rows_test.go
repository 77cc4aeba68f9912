package damage

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// row is one damage and what has to come of it. The table of docs/operations.md
// has the same rows.
type row struct {
	stream, damage string

	while   []stop             // how the process ended before the files are damaged; if empty, it was killed
	do      []func(*data)      // damages to files, each on a copy of its own
	running func(in *instance) // a damage while it runs, in place of do

	refused string // the start is refused with this text
	down    string // /readyz says this until the process is started again
	mends   bool   // it goes on after `streamer mend --yes`
	says    string // its log has this
	lost    some   // sessions whose events from before the damage may be missing
	differ  some   // sessions that `streamer verify` may name
	large   bool   // on streams with two blocks
	short   bool   // also with -short
}

func rowsX() (all []row) {
	for _, s := range []string{inputStream, eventStream, stateStream, markStream, memberStream, blobStream} {
		add := func(r row) { r.stream = s; all = append(all, r) }
		add(row{damage: "deleted", do: []func(*data){func(d *data) { d.deleted(s) }}})
		add(row{damage: "rolled back", do: []func(*data){func(d *data) { d.rolledBack(s) }}})
		add(row{damage: "truncated", while: []stop{killed, cleanly}, do: []func(*data){func(d *data) { d.truncated(s, 7) }, func(d *data) { d.truncated(s, 0) }}})
		add(row{damage: "flipped", while: []stop{killed, cleanly}, do: []func(*data){func(d *data) { d.flippedNewest(s) }, func(d *data) { d.flippedLast(s) }}})
		add(row{damage: "meta.inf", do: []func(*data){func(d *data) { d.flipped(filepath.Join(d.stream(s), "meta.inf")) }}})
		add(row{damage: "index.db", while: []stop{cleanly}, do: []func(*data){func(d *data) { d.removed(filepath.Join(d.stream(s), "msgs", "index.db")) }, func(d *data) { d.flipped(filepath.Join(d.stream(s), "msgs", "index.db")) }}})
		add(row{damage: "purged", running: func(in *instance) { in.purge(s) }})
		add(row{damage: "deleted running", running: func(in *instance) { in.remove(s) }, down: "stream " + s})
	}
	return all
}

func TestDamage(t *testing.T) {
	f := newFixture(t, os.Getenv("BLOCKS") != "")
	rs := rowsX()
	for i := range rs {
		r := &rs[i]
		if r.running != nil {
			t.Run(strings.ReplaceAll(r.stream+" "+r.damage, " ", "_"), func(t *testing.T) {
				t.Parallel()
				f.damaged(t, r, killed, nil)
			})
			continue
		}
		if r.while == nil {
			r.while = []stop{killed}
		}
		for _, how := range r.while {
			for i, do := range r.do {
				t.Run(strings.ReplaceAll(r.stream+" "+r.damage+" "+string(how)+" "+string(rune('0'+i)), " ", "_"), func(t *testing.T) {
					t.Parallel()
					f.damaged(t, r, how, do)
				})
			}
		}
	}
}
