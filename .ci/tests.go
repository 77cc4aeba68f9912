// Command tests runs the module's tests with the race detector, prints what
// failed, and lets no test be skipped but those of recorded streams that are
// not there.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
)

// mayBeAbsent are the words of the tests that want recorded streams.
var mayBeAbsent = regexp.MustCompile(`no recorded streams|no conformance data`)

// mustRun are tests that have to be there and pass: the page in a browser, its
// modules in node, the clients in the examples, and the map of the module.
var mustRun = []string{"TestBrowser", "TestModules", "TestRepairGo", "TestRepairPython", "TestRepairLangGraph", "TestArrows"}

func main() {
	cmd := exec.Command("go", "test", "-json", "-race", "-count=1", "-timeout", "8m", "./...")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	r := report{out: os.Stdout}
	if err == nil {
		err = errors.Join(r.read(out), cmd.Wait(), r.verdict())
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "tests: %v\n", err)
		os.Exit(1)
	}
}

// event is a line of `go test -json`; `go doc test2json` describes it.
type event struct {
	Action, Package, Test, Output string
	Elapsed                       float64 // seconds
}

// report is what the tests have said.
type report struct {
	out     io.Writer
	said    map[[2]string]*bytes.Buffer // by package and test, until it ends
	passed  []string                    // names of tests
	skipped []string                    // package, test and reason
}

func (r *report) read(in io.Reader) error {
	r.said = map[[2]string]*bytes.Buffer{}
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

func (r *report) take(e *event) {
	key := [2]string{e.Package, e.Test}
	switch e.Action {
	case "build-output":
		fmt.Fprint(r.out, e.Output)
	case "output":
		if r.said[key] == nil {
			r.said[key] = new(bytes.Buffer)
		}
		r.said[key].WriteString(e.Output)
	case "pass", "fail", "skip":
		said := r.said[key]
		delete(r.said, key)
		if said == nil {
			said = new(bytes.Buffer)
		}
		r.end(e, said.String())
	}
}

// end takes the end of a test, or of a package, whose Test is empty.
func (r *report) end(e *event, said string) {
	switch {
	case e.Action == "fail":
		fmt.Fprintf(r.out, "%sFAIL %s %s (%.1f s)\n", said, e.Package, e.Test, e.Elapsed)
	case e.Test == "" && e.Action == "pass":
		fmt.Fprintf(r.out, "ok   %s (%.1f s)\n", e.Package, e.Elapsed)
	case e.Test != "" && e.Action == "pass":
		r.passed = append(r.passed, e.Test)
	case e.Test != "":
		r.skipped = append(r.skipped, e.Package+" "+e.Test+": "+strings.TrimSpace(said))
	}
}

// verdict is an error where a test did not run that has to.
func (r *report) verdict() error {
	var errs []error
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
	fmt.Fprintf(r.out, "%d tests and subtests passed, %d were skipped because their recorded streams are not here\n", len(r.passed), absent)
	return errors.Join(errs...)
}
