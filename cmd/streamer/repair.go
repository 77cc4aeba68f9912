package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"streamer/internal/broker"
	"streamer/internal/events"
	"streamer/internal/patch"
	"streamer/internal/repairs"
)

// The exit statuses of repair besides 0.
const (
	exitWouldChange = 1 // of a check
	exitNoRepair    = 2 // with nothing on standard output
)

// repairing is the settings of repair.
type repairing struct {
	nats    natsFlags
	request repairs.Request
	options string        // as they are given
	given   patch.Options // by flags of their own
	report  string
	bytes   int
}

func repair(ctx context.Context, std stdio, args []string) error {
	r := repairing{}
	fs := flags("repair")
	r.register(fs)
	files, err := parse(std, fs, args)
	if err != nil {
		return err
	}
	if len(files) > 1 {
		return misused(std, fs, "one FILE at the most, not %d", len(files))
	}
	if err := r.alone(fs); err != nil {
		return misused(std, fs, "%v", err)
	}
	if r.request.Options, err = readOptions(r.options, r.given); err != nil {
		return misused(std, fs, "%v", err)
	}
	done, err := r.run(ctx, std, append(files, "-")[0])
	if err == nil {
		err = r.print(std, done)
	}
	if err != nil {
		fmt.Fprintf(std.err, "streamer repair: %v\n", err)
		return exit(exitNoRepair)
	}
	if r.request.Options.Output == "check" && done.Report.Patched {
		return exit(exitWouldChange)
	}
	return nil
}

func (r *repairing) register(fs *flag.FlagSet) {
	o := &r.given
	fs.StringVar(&r.options, "options", "", "options as a `JSON` object, or @FILE with one; docs/repair.md has them all; a flag that is given wins over it")
	fs.Func("format", "the `format` of the history ("+joined(patch.Repairable())+"); recognised where it is not given", func(s string) error {
		r.request.Format = patch.Shape(s)
		return oneOf(s, patch.Repairable())
	})
	fs.StringVar(&o.Late, "late", "", "`way` to treat a result that stands behind a later turn: auto, replace, note or drop; note suits a history that was sent before")
	fs.StringVar(&o.Provider, "provider", "", "the `provider` whose rules about ids and order hold: "+strings.TrimPrefix(joined(patch.Providers()), ", "))
	fs.StringVar(&o.Profile, "profile", "", "repair exactly as another `system` does: "+joined(patch.Profiles()))
	fs.StringVar(&o.Lang, "lang", "", "`language` of the texts: en or zh")
	fs.StringVar(&o.Output, "output", "", "`kind` of output: full, the history; ops, the steps that lead to it; check, the report")
	fs.BoolFunc("check", "print the report; exit status 1 where a repair would change something", func(string) error {
		o.Output = "check"
		return nil
	})
	fs.StringVar(&r.report, "report", "", "write the report to a `FILE`, - for standard error")
	fs.IntVar(&r.bytes, "max-bytes", 0, "`bytes` of the history at the most; if 0, 64 MiB")
	fs.StringVar(&r.request.Session, "session", "", "ask the event log of this `session` first: it may have the results, or the reasons why there are none")
	r.nats.register(fs)
}

// alone refuses flags that ask for a log while no session is named: a variable
// that was empty would otherwise leave the log unasked without a word.
func (r *repairing) alone(fs *flag.FlagSet) (err error) {
	if r.request.Session != "" {
		return nil
	}
	fs.Visit(func(f *flag.Flag) {
		switch {
		case f.Name == "session":
			err = errors.New("--session is empty")
		case f.Name == "data-dir" || strings.HasPrefix(f.Name, "nats-"):
			err = fmt.Errorf("--%s is of no use without --session", f.Name)
		}
	})
	return err
}

func joined[S ~string](words []S) string {
	list := make([]string, len(words))
	for i, w := range words {
		list[i] = string(w)
	}
	return strings.Join(list, ", ")
}

func oneOf[S ~string](word string, words []S) error {
	for _, w := range words {
		if string(w) == word {
			return nil
		}
	}
	return fmt.Errorf("there are %s", joined(words))
}

// maxOptions bounds a file of options, in bytes: it may have results in it.
const maxOptions = 64 << 20

// readOptions reads options from JSON or, with an @, from a file of it. What
// flags have given wins.
func readOptions(s string, flags patch.Options) (o patch.Options, err error) {
	text := []byte(s)
	if name, ok := strings.CutPrefix(s, "@"); ok {
		f, err := os.Open(name)
		if err != nil {
			return o, fmt.Errorf("--options: %w", err)
		}
		defer f.Close()
		if text, err = readBounded(f, maxOptions); err != nil {
			return o, fmt.Errorf("--options: %s: %w", name, err)
		}
	}
	if o, err = patch.ParseOptions(text); err == nil {
		for _, f := range []struct{ to, from *string }{
			{&o.Late, &flags.Late},
			{&o.Provider, &flags.Provider},
			{&o.Profile, &flags.Profile},
			{&o.Lang, &flags.Lang},
			{&o.Output, &flags.Output},
		} {
			if *f.from != "" {
				*f.to = *f.from
			}
		}
		err = o.Check()
	}
	if err != nil {
		err = errors.New(strings.TrimPrefix(err.Error(), "patch: "))
	}
	return o, err
}

func readBounded(in io.Reader, limit int) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(in, int64(limit)+1))
	if err == nil && len(text) > limit {
		err = fmt.Errorf("there are more than %d bytes", limit)
	}
	return bytes.TrimPrefix(text, []byte("\ufeff")), err // as some editors begin a file
}

// run reads a history and repairs it.
func (r *repairing) run(ctx context.Context, std stdio, file string) (done patch.Repaired, err error) {
	desk := repairs.Desk{MaxBytes: r.bytes, LogTime: 30 * time.Second}
	in := std.in
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return done, err
		}
		defer f.Close()
		in = f
	}
	if r.request.Messages, err = readBounded(in, desk.Bound()); err != nil {
		return done, of(file, err)
	}
	if r.request.Session != "" {
		b, err := dial(ctx, r.nats)
		if err != nil {
			return done, err
		}
		defer b.Close()
		if err := r.greet(ctx, std, b); err != nil {
			return done, err
		}
		desk.Log = b
	}
	done, err = desk.Repair(ctx, r.request)
	if _, ok := errors.AsType[*repairs.Refusal](err); ok {
		err = of(file, err)
	}
	return done, err
}

// of says which file an error is about, where one was named.
func of(file string, err error) error {
	if pathed, ok := errors.AsType[*os.PathError](err); file == "-" || ok && pathed.Path == file {
		return err
	}
	return fmt.Errorf("%s: %w", file, err)
}

// greet says where nothing is known of a session: its name may be wrong.
func (r *repairing) greet(ctx context.Context, std stdio, b *broker.Broker) error {
	token, err := events.Token(r.request.Session)
	if err != nil {
		return err
	}
	seq, _, err := b.ChainLast(ctx, token)
	if err == nil && seq == 0 {
		fmt.Fprintf(std.err, "streamer repair: there is nothing of session %s in the event log\n", r.request.Session)
	}
	return err
}

// print writes what was asked for.
func (r *repairing) print(std stdio, done patch.Repaired) error {
	report, err := repairs.Report(done.Report)
	if err != nil {
		return err
	}
	report = append(report, '\n')
	switch r.report {
	case "":
	case "-":
		_, err = std.err.Write(report)
	default:
		err = os.WriteFile(r.report, report, 0o600)
	}
	if err != nil {
		return err
	}
	out := done.History
	switch r.request.Options.Output {
	case "ops":
		out = append(repairs.Script(done.Script), '\n')
	case "check":
		out = report
	}
	_, err = std.out.Write(out)
	return err
}
