// Command tests runs the module's tests and campaigns, with the race detector except for packages that
// start no goroutine, and prints those that failed. A skipped test is an error, unless
// it needs recorded streams that are not available.
package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
)

// mayBeAbsent matches the reasons of tests that need recorded streams, or programs
// that no package of Debian has.
var mayBeAbsent = regexp.MustCompile(`no recorded streams|no conformance data|optional program`)

// mustRun are tests that must exist and pass: in test/e2e the page in a browser
// and the crash tests with their control, in examples the modules of the page in
// node, the clients and the agents, in clients our packages, in test/clients the client libraries, in test/tap the SDKs, the
// campaigns, the description of the HTTP API, and in internal the allowed imports and the language.
var mustRun = []string{
	"TestBrowser", "TestPage", "TestCrashEmbedded", "TestCrashShared", "TestCrashTwoWorkers", "TestCrashControl",
	"TestModules", "TestRepairGo", "TestRepairPython", "TestRepairLangGraph",
	"TestAgentGo", "TestAgents", "TestLangGraphAgent", "TestSubscriber", "TestCookbook", "TestCookbookSource", "TestCookbookRoute", "TestNoEventsArrive",
	"TestClients", "TestApprovals", "TestEventSource", "TestSDKs", "TestGoSDKs", "TestPythonClient", "TestClientJS", "TestTypesJS",
	"TestChaos", "TestControl", "TestFullDisk", "TestDamage", "TestMatrix", "TestSoak", "TestModel", "TestFixtures", "TestCuts",
	"TestOpenAPIDocument", "TestArrows", "TestLanguage",
}

// sequential matches the packages that start no goroutine: the core, which imports no
// sync, its conformance with recorded streams, and the tests that read source files. The race detector has nothing to find
// there, and makes them several times slower.
var sequential = regexp.MustCompile(`^streamer/(test/conformance|internal(/(events|inputs|jsonscan|chunks|decode|lifecycle|patch|session|encode)(/.*)?)?)$`)

func main() {
	r := report{out: os.Stdout, output: map[[2]string]*bytes.Buffer{}, took: map[string]float64{}}
	concurrent, core, err := packages()
	if err == nil {
		// They wait more than they compute.
		err = r.run(append([]string{"-race", "-p", "3", "-timeout", "25m"}, concurrent...)...)
		err = errors.Join(err, r.run(core...), r.verdict())
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "tests: %v\n", err)
		os.Exit(1)
	}
}

// packages returns all packages that start goroutines, and the sequential ones. The
// longest come first, so that none of them is left alone at the end.
func packages() (concurrent, core []string, err error) {
	out, err := exec.Command("go", "list", "./test/e2e", "./test/damage", "./internal/worker", "./test/...", "./...").Output()
	if err != nil {
		return nil, nil, fmt.Errorf("go list: %w", err)
	}
	for name := range strings.FieldsSeq(string(out)) {
		if sequential.MatchString(name) {
			core = append(core, name)
		} else {
			concurrent = append(concurrent, name)
		}
	}
	return concurrent, core, nil
}

// event is a line of `go test -json`; `go doc test2json` describes it.
type event struct {
	Action, Package, Test, Output string
	Elapsed                       float64 // seconds
}

// report collects the results of the tests.
type report struct {
	out     io.Writer
	output  map[[2]string]*bytes.Buffer // by package and test, until it ends
	passed  []string                    // names of tests
	failed  []string                    // the lines of assertions that failed
	skipped []string                    // package, test and reason
	took    map[string]float64          // seconds by package and test, of those that took long
}

// run runs `go test` with further arguments and collects its results.
func (r *report) run(args ...string) error {
	cmd := exec.Command("go", append([]string{"test", "-json", "-count=1", "-tags=campaigns"}, args...)...)
	cmd.Stderr = os.Stderr
	// A program with the race detector sleeps for a second when it exits, and the tests
	// start hundreds of them.
	cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=50", "STREAMER_CAMPAIGNS=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	return errors.Join(r.read(out), cmd.Wait())
}

// read reads the output of `go test -json`.
func (r *report) read(in io.Reader) error {
	for d := json.NewDecoder(in); ; {
		var e event
		if err := d.Decode(&e); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("go test -json: %w", err)
		}
		r.take(&e)
	}
}

// take records one line.
func (r *report) take(e *event) {
	key := [2]string{e.Package, e.Test}
	switch e.Action {
	case "build-output":
		fmt.Fprint(r.out, e.Output)
	case "output":
		if r.output[key] == nil {
			r.output[key] = new(bytes.Buffer)
		}
		r.output[key].WriteString(e.Output)
	case "pass", "fail", "skip":
		text := r.output[key]
		delete(r.output, key)
		if text == nil {
			text = new(bytes.Buffer)
		}
		r.end(e, text.String())
	}
}

// end records the end of a test, or of a package if Test is empty.
func (r *report) end(e *event, text string) {
	switch {
	case e.Action == "fail":
		if e.Test == "" {
			r.printUnfinished(e.Package)
		}
		r.failed = append(r.failed, assertions(e, text)...)
		fmt.Fprintf(r.out, "%sFAIL %s %s (%.1f s)\n", text, e.Package, e.Test, e.Elapsed)
	case e.Test == "" && e.Action == "pass":
		fmt.Fprintf(r.out, "ok   %s (%.1f s)\n", e.Package, e.Elapsed)
	case e.Test != "" && e.Action == "pass":
		r.passed = append(r.passed, e.Test)
		if e.Elapsed > 20 && !strings.Contains(e.Test, "/") {
			r.took[e.Package+" "+e.Test] = e.Elapsed
		}
	case e.Test != "":
		r.skipped = append(r.skipped, e.Package+" "+e.Test+": "+strings.TrimSpace(text))
	}
}

// assertion matches the first line of what a test reports.
var assertion = regexp.MustCompile(`(?m)^ +\S+_test\.go:\d+: .{0,300}`)

// assertions returns the first lines that a failed test reported. They are printed
// again at the end, because logs of processes follow them.
func assertions(e *event, text string) (list []string) {
	for _, line := range assertion.FindAllString(text, 10) {
		list = append(list, fmt.Sprintf("%s %s: %s", e.Package, e.Test, strings.TrimSpace(line)))
	}
	return list
}

// printUnfinished prints the end of the output of tests that did not end, because
// their package timed out or panicked.
func (r *report) printUnfinished(pkg string) {
	const most = 20 << 10
	for key, text := range r.output {
		if key[0] == pkg && text.Len() > 0 {
			fmt.Fprintf(r.out, "%s\n%s did not end\n", text.Bytes()[max(0, text.Len()-most):], key[1])
		}
	}
}

// verdict returns an error if a test was skipped or did not pass.
func (r *report) verdict() error {
	var errs []error
	for _, line := range r.failed {
		errs = append(errs, errors.New(line))
	}
	absent := 0
	for _, s := range r.skipped {
		if mayBeAbsent.MatchString(s) {
			absent++
			continue
		}
		errs = append(errs, fmt.Errorf("skipped: %s", s))
	}
	for _, name := range mustRun {
		if !slices.Contains(r.passed, name) {
			errs = append(errs, fmt.Errorf("%s did not pass", name))
		}
	}
	for _, name := range slices.SortedFunc(maps.Keys(r.took), func(a, b string) int { return cmp.Compare(r.took[b], r.took[a]) }) {
		fmt.Fprintf(r.out, "%6.0f s  %s\n", r.took[name], name)
	}
	fmt.Fprintf(r.out, "%d tests and subtests passed, %d were skipped because their recorded streams or programs are not available\n", len(r.passed), absent)
	return errors.Join(errs...)
}
