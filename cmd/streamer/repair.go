package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"

	"streamer/internal/app"
	"streamer/internal/patch"
	"streamer/internal/repair"
)

// The exit statuses of repair besides 0.
const (
	exitWouldChange = 1 // of --check
	exitNoRepair    = 2 // standard output is empty
)

func runRepair(ctx context.Context, std stdio, args []string) error {
	fs := flags("repair")
	var r app.Repair
	repairFlags(fs, &r)
	report := fs.String("report", "", "`file` to write the report to, - for standard error")
	files, err := parse(std, fs, args)
	switch {
	case err != nil:
		return err
	case len(files) > 1:
		err = fmt.Errorf("got %d files: need at most one FILE", len(files))
	case r.Request.Session == "":
		err = checkNoSession(fs)
	}
	if err == nil {
		err = r.ParseOptions()
	}
	if err != nil {
		return misused(std, fs, "%v", err)
	}
	done, err := r.Run(ctx, std.in, append(files, "-")[0], std.err)
	if err == nil {
		err = printRepaired(std, done, r.Request.Options.Output, *report)
	}
	if err != nil {
		fmt.Fprintf(std.err, "streamer repair: %v\n", err)
		return exit(exitNoRepair)
	}
	if r.Request.Options.Output == "check" && done.Report.Patched {
		return exit(exitWouldChange)
	}
	return nil
}

func repairFlags(fs *flag.FlagSet, r *app.Repair) {
	o := &r.Override
	fs.StringVar(&r.Options, "options", "", "options as a `JSON` object, or @ and the name of a file with one; docs/repair.md lists them; flags that are given win over them")
	fs.Var(choice[patch.Shape]{&r.Request.Format, patch.Repairable()}, "format", "`format` of the history: "+alternatives(patch.Repairable())+"; if empty, it is recognised")
	fs.StringVar(&o.Late, "late", "", "`treatment` of a result behind a later turn: auto, replace, note or drop; note suits a history that was sent before")
	fs.StringVar(&o.Provider, "provider", "", "`provider` whose rules about ids and order hold: "+alternatives(patch.Providers()[1:]))
	fs.StringVar(&o.Profile, "profile", "", "other `system` whose repair is reproduced exactly: "+alternatives(patch.Profiles()))
	fs.StringVar(&o.Lang, "lang", "", "`language` of the texts: en or zh")
	fs.StringVar(&o.Output, "output", "", "`kind` of output: full (the history), ops (the edits that lead to it) or check (the report)")
	fs.BoolFunc("check", "print the report; exit status 1 if a repair would change the history", func(string) error {
		o.Output = "check"
		return nil
	})
	fs.IntVar(&r.MaxBytes, "max-bytes", 0, "maximum size of the history in `bytes`; if 0, 64 MiB")
	fs.StringVar(&r.Request.Session, "session", "", "`session` whose event log is searched first for results, and for the reasons why there are none")
	natsFlags(fs, &r.Broker)
}

// checkNoSession returns an error if flags name a log without a session: an empty
// variable in a script would otherwise silently leave the log out.
func checkNoSession(fs *flag.FlagSet) (err error) {
	fs.Visit(func(f *flag.Flag) {
		switch {
		case f.Name == "session":
			err = errors.New("invalid --session: empty")
		case f.Name == "data-dir" || strings.HasPrefix(f.Name, "nats-"):
			err = fmt.Errorf("invalid --%s: need --session with it", f.Name)
		}
	})
	return err
}

// printRepaired prints the output, and the report to its file if there is one.
func printRepaired(std stdio, done patch.Repaired, output, file string) error {
	report, err := repair.Report(done.Report)
	if err != nil {
		return err
	}
	report = append(report, '\n')
	switch file {
	case "":
	case "-":
		_, err = std.err.Write(report)
	default:
		err = os.WriteFile(file, report, 0o600)
	}
	if err != nil {
		return err
	}
	out := done.History
	switch output {
	case "ops":
		out = append(repair.Script(done.Script), '\n')
	case "check":
		out = report
	}
	_, err = std.out.Write(out)
	return err
}
