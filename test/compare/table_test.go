package compare

import (
	"flag"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

var table = flag.Bool("table", false, "measure all formats and libraries, and print the table")

const (
	tableRounds = 9
	tableDeltas = 20_000 // of a cell, per round
	tableArgs   = 64 << 10
)

// cell is a measured value of the table.
type cell struct {
	next func() // does the work of some deltas
	of   int    // number of these deltas
	took []time.Duration
}

// row is a line of the table. A library has only the last cell.
type row struct {
	name  string
	cells []*cell
}

// TestTable prints the table of docs/performance.md: the CPU time of one delta in
// nanoseconds, the least of the rounds. All cells are measured in each round, so that
// other load affects them alike.
func TestTable(t *testing.T) {
	if !*table {
		t.Skip("without -table")
	}
	if cpuTime() == 0 {
		t.Skip("the CPU time of a process is not known here")
	}
	rows := slices.Concat(formatRows(t), libraryRows(t))
	for range tableRounds {
		for _, r := range rows {
			for _, c := range r.cells {
				c.measure()
			}
		}
	}
	fmt.Print(render(rows))
}

func formatRows(t *testing.T) (rows []row) {
	for _, s := range streams(t) {
		rows = append(rows, row{"`" + s.format + "`", []*cell{
			{next: s.reading(t, false), of: 1}, {next: s.reading(t, true), of: 1}, {next: s.folding(t), of: 1},
		}})
	}
	return rows
}

func libraryRows(t *testing.T) (rows []row) {
	for _, l := range []struct {
		name string
		wire wire
		read reader
	}{
		{"openai-go, 64 KiB of args", openAI, openAIGo},
		{"eino, 64 KiB of args", openAI, eino},
		{"anthropic-sdk-go, 64 KiB of args", claude, anthropicGo},
	} {
		lines, want := l.wire.events(tableArgs)
		next := func() {
			if got, err := l.read(lines); err != nil || got != want {
				t.Fatalf("%s: got %d bytes of args, error %v, want %d bytes", l.name, len(got), err, len(want))
			}
		}
		rows = append(rows, row{l.name, []*cell{{next: next, of: len(lines)}}})
	}
	return rows
}

// measure adds a measurement.
func (c *cell) measure() {
	n := max(1, tableDeltas/c.of)
	began := cpuTime()
	for range n {
		c.next()
	}
	c.took = append(c.took, (cpuTime()-began)/time.Duration(n*c.of))
}

// render returns the rows as a table in Markdown.
func render(rows []row) string {
	var b strings.Builder
	b.WriteString("| format | decoder | template | whole fold |\n|---|--:|--:|--:|\n")
	for _, r := range rows {
		values := make([]string, 3)
		for i, c := range r.cells {
			values[3-len(r.cells)+i] = strconv.FormatInt(int64(slices.Min(c.took)), 10)
		}
		fmt.Fprintf(&b, "| %s | %s |\n", r.name, strings.Join(values, " | "))
	}
	return b.String()
}
