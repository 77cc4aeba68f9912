package damage

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"streamer/test/testkit"
)

// pairsEnv names the environment variable that selects how many pairs of damages
// TestMatrix plays: with "all", each damage of a stream with each of the other.
const pairsEnv = "STREAMER_DAMAGE_PAIRS"

// harm is one damage to one stream.
type harm struct {
	name    string
	do      func(d *data, stream string)
	alone   bool // played on a single stream only
	refused bool // of the input stream: the start is refused
}

func harms() []harm {
	return []harm{
		{name: "older", do: (*data).rolledBack},
		{name: "half", do: func(d *data, stream string) { d.truncated(stream, 0) }},
		{name: "shorter", do: func(d *data, stream string) { d.truncated(stream, 7) }, alone: true},
		{name: "flipped", do: (*data).flippedMiddle},
		{name: "flipped_last", do: (*data).flippedLast, alone: true},
		{name: "removed", do: (*data).deleted, refused: true},
	}
}

// cell is a cell of the matrix: damages of one stream or of two.
type cell struct {
	name    string
	streams []string
	harms   []harm
}

// matrix returns the cells. With long, a pair of streams has every pair of damages,
// otherwise twice the same damage.
func matrix(long bool) (all []cell) {
	streams := []string{inputStream, eventStream, snapshotStream, checkpointStream, blobStream}
	for _, s := range append(streams, memberStream) {
		for _, h := range harms() {
			all = append(all, cell{s + "_" + h.name, []string{s}, []harm{h}})
		}
	}
	for i, a := range streams {
		for _, b := range streams[i+1:] {
			for _, x := range harms() {
				for _, y := range harms() {
					if x.alone || y.alone || x.name != y.name && !long || a == inputStream && x.refused {
						continue
					}
					all = append(all, cell{a + "_" + x.name + "/" + b + "_" + y.name, []string{a, b}, []harm{x, y}})
				}
			}
		}
	}
	return all
}

// TestMatrix damages each stream alone and in pairs, with the newest inputs covered
// by snapshots and checkpoints and behind them, and counts the starts and results of
// every call.
func TestMatrix(t *testing.T) {
	testkit.Campaign(t)
	t.Parallel()
	fixtures := newMatrixFixtures(t)
	cells := matrix(os.Getenv(pairsEnv) == "all")
	for i := range cells {
		c := &cells[i]
		for _, position := range slices.Sorted(maps.Keys(fixtures)) {
			t.Run(position+"/"+c.name, func(t *testing.T) {
				t.Parallel()
				c.play(t, fixtures[position])
			})
		}
	}
}

// play damages a copy of the fixture, starts the process and closes all calls.
func (c *cell) play(t *testing.T, f *fixture) {
	u := &run{t: t, row: c.row(), before: f, dir: t.TempDir()}
	if err := os.CopyFS(u.dir, os.DirFS(f.killed)); err != nil {
		t.Fatal(err)
	}
	for i, h := range c.harms {
		h.do(&data{t: t, dir: u.dir, early: f.early}, c.streams[i])
	}
	if !u.start() {
		return
	}
	intact := !slices.Contains(c.streams, inputStream)
	defer func() {
		if u.in.Running() { // a condition was not met
			log, inputs := u.stored(u.in.connect())
			t.Log("so far:", miscounted(log, f.all, inputs, intact))
		}
	}()
	log, inputs := u.finish()
	for _, wrong := range miscounted(log, f.all, inputs, intact) {
		t.Error(wrong)
	}
}

// row returns the expected outcome of the cell. Inputs are lost only with damage to
// the input stream; all else can be restored from the inputs.
func (c *cell) row() *row {
	r := &row{what: strings.Join(c.streams, " "), damage: c.name}
	switch hit := func(s string) bool { return slices.Contains(c.streams, s) }; {
	case hit(inputStream) && c.harms[0].refused:
		r.refused = "stream LLM is missing"
	case hit(inputStream):
		r.recover, r.differ = true, anything
		if hit(eventStream) {
			r.lost = anything
		}
	case hit(blobStream):
		r.differ = ofLarge
	}
	return r
}
