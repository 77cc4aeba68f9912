// Command agents runs real agents and libraries against a scripted model, folds what they
// print, and compares it with what the model and the tools recorded.
//
//	go run -C test/agents .            the pinned versions; exit status 1 if they differ
//	go run -C test/agents . -latest    the newest versions, and how they differ
//
// It needs Linux, npm and the network for installing; the programs have loopback only by
// their configuration.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"text/tabwriter"
)

var verbose bool

func main() {
	c := cache{}
	dir, err := os.UserCacheDir()
	if err != nil {
		dir = os.TempDir()
	}
	flag.StringVar(&c.dir, "cache", filepath.Join(dir, "streamer-agents"), "directory of installed programs")
	flag.BoolVar(&c.latest, "latest", false, "run the newest versions and print what differs")
	only := flag.String("only", ".", "regular expression of programs")
	scripts := flag.String("scripts", ".", "regular expression of scripts")
	keep := flag.String("keep", "", "directory in which the outputs are kept")
	recheck := flag.Bool("recheck", false, "check the outputs in the directory of -keep again, without running programs")
	parallel := flag.Int("parallel", 2, "number of programs that run at the same time")
	flag.BoolVar(&verbose, "v", false, "print what programs write to their standard error")
	flag.Parse()
	b := bench{cache: c, keep: *keep, recheck: *recheck, parallel: *parallel, only: regexp.MustCompile(*only), scripts: regexp.MustCompile(*scripts)}
	differ, err := b.run(context.Background(), os.Stdout)
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "agents:", err)
		os.Exit(2)
	case differ && !c.latest:
		os.Exit(1)
	}
}

// A bench runs programs.
type bench struct {
	cache         cache
	keep          string
	recheck       bool // what was kept is checked again
	parallel      int
	only, scripts *regexp.Regexp
}

// A row is what one output of a program gave.
type row struct {
	program, format, version string
	cells                    []string // by script: ok, -, or the number of differences
	differences              []string
}

// run runs the programs, prints a row for each output, and reports whether one differs.
func (b bench) run(ctx context.Context, w io.Writer) (differ bool, err error) {
	install := b.cache.install
	if b.recheck {
		install = b.cache.installed
	}
	if _, err := install(nodeGroup); err != nil {
		return false, err
	}
	var list []*program
	for _, p := range programs() {
		if b.only.MatchString(p.name) {
			list = append(list, p)
		}
	}
	var installing sync.Mutex // programs share groups
	rows := make([][]row, len(list))
	slots := make(chan struct{}, b.parallel)
	var done sync.WaitGroup
	for i, p := range list {
		done.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			installing.Lock()
			dir, err := install(p.group)
			installing.Unlock()
			rows[i] = b.program(ctx, p, dir, err)
		})
	}
	done.Wait()
	return b.print(w, rows), nil
}

// program plays each script with a program.
func (b bench) program(ctx context.Context, p *program, dir string, failed error) []row {
	rows := make([]row, len(p.outputs))
	for i, o := range p.outputs {
		rows[i] = row{program: p.name, format: o.format, version: b.version(dir, p)}
	}
	if failed != nil {
		for i := range rows {
			rows[i].differences = []string{"it cannot be installed: " + failed.Error()}
		}
		return rows
	}
	for _, s := range scripts() {
		if !b.scripts.MatchString(s.name) {
			continue
		}
		for i, list := range b.play(ctx, p, s, dir) {
			cell := "ok"
			switch {
			case p.without[s.name] != "":
				cell = "-"
			case len(list) > 0:
				cell = fmt.Sprint(len(list))
			}
			rows[i].cells = append(rows[i].cells, cell)
			for _, d := range list {
				rows[i].differences = append(rows[i].differences, s.name+": "+d)
			}
		}
	}
	return rows
}

// version returns the version of a program, and which one is pinned if that is another.
func (b bench) version(dir string, p *program) string {
	v := version(dir, p.pkg)
	list, _ := pins(filepath.Join(sources, p.group)) // what cannot be read was not installed either
	for _, pinned := range list {
		if pinned.name == p.pkg && pinned.version != v {
			return fmt.Sprintf("%s (pinned %s)", v, pinned.version)
		}
	}
	return v
}

// play plays a script, and returns what differs in each output.
func (b bench) play(ctx context.Context, p *program, s script, dir string) [][]string {
	faults := make([][]string, len(p.outputs))
	if p.without[s.name] != "" {
		return faults
	}
	all := func(err error) [][]string {
		for i := range faults {
			faults[i] = append(faults[i], err.Error())
		}
		return faults
	}
	if b.recheck {
		return b.again(p, s)
	}
	r, err := newRun(p, s, dir, b.cache)
	if err != nil {
		return all(err)
	}
	defer r.close()
	stdout, err := r.play(ctx)
	if err != nil {
		all(err)
	}
	rec := r.record()
	for i, o := range p.outputs {
		data, err := r.read(o, stdout)
		if err == nil {
			faults[i] = append(faults[i], check(s, o, rec, data)...)
			err = b.store(p, o, s, data, rec)
		}
		if err != nil {
			faults[i] = append(faults[i], err.Error())
		}
	}
	return faults
}

// again checks what was kept of a script.
func (b bench) again(p *program, s script) [][]string {
	faults := make([][]string, len(p.outputs))
	for i, o := range p.outputs {
		var rec record
		name := b.file(p, o, s)
		data, err := os.ReadFile(name)
		if err == nil {
			var kept []byte
			kept, err = os.ReadFile(name + ".record")
			err = cmp.Or(err, json.Unmarshal(kept, &rec))
		}
		if err != nil {
			faults[i] = []string{err.Error()}
			continue
		}
		faults[i] = check(s, o, &rec, data)
	}
	return faults
}

// store keeps an output, and what the model and the tool recorded.
func (b bench) store(p *program, o output, s script, data []byte, rec *record) error {
	if b.keep == "" {
		return nil
	}
	name := b.file(p, o, s)
	return cmp.Or(os.WriteFile(name, data, 0o600), os.WriteFile(name+".record", encode(rec), 0o600))
}

func (b bench) file(p *program, o output, s script) string {
	return filepath.Join(b.keep, strings.ReplaceAll(fmt.Sprintf("%s-%s-%s.jsonl", p.name, o.format, s.name), " ", "-"))
}

func (b bench) print(w io.Writer, list [][]row) (differ bool) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprint(t, "program\tversion\tformat")
	for _, s := range scripts() {
		if b.scripts.MatchString(s.name) {
			fmt.Fprint(t, "\t", s.name)
		}
	}
	fmt.Fprintln(t)
	for _, rows := range list {
		for _, r := range rows {
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", r.program, r.version, r.format, strings.Join(r.cells, "\t"))
		}
	}
	_ = t.Flush()
	for _, p := range programs() {
		for _, s := range scripts() {
			if why := p.without[s.name]; why != "" && b.only.MatchString(p.name) && b.scripts.MatchString(s.name) {
				fmt.Fprintf(w, "%s is not run with %s: %s\n", p.name, s.name, why)
			}
		}
	}
	for _, rows := range list {
		for _, r := range rows {
			for _, d := range r.differences {
				differ = true
				fmt.Fprintf(w, "%s, %s: %.300s\n", r.program, r.format, d)
			}
		}
	}
	return differ
}
