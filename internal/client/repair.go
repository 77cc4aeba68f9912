package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"streamer/internal/cli"
	"streamer/internal/events"
	"streamer/internal/patch"
	"streamer/internal/repair"
)

// Repair repairs one history outside of a server.
type Repair struct {
	Request  repair.Request // Messages and Options are set by Run
	Broker   BrokerOptions  // names the event log of Request.Session
	Options  string         // options as JSON, or @ and the name of a file with them
	Override patch.Options  // replaces fields of Options: see repair.ParseOptions
	MaxBytes int            // maximum size of the history; if zero, 64 MiB
}

// Bounds of a repair.
const (
	maxOptions = 64 << 20 // bytes of a file of options, which may contain results
	logTime    = 30 * time.Second
)

// ParseOptions parses the options into Request.
func (r *Repair) ParseOptions() (err error) {
	text := []byte(r.Options)
	if name, ok := strings.CutPrefix(r.Options, "@"); ok {
		if text, err = readFile(nil, name, maxOptions); err != nil {
			return fmt.Errorf("--options: %w", err)
		}
	}
	r.Request.Options, err = repair.ParseOptions(text, r.Override)
	return err
}

// Run repairs the history in a file; - is stdin. It writes a warning to warnings
// if the event log has no events of the session, because its name may be
// misspelt.
func (r *Repair) Run(ctx context.Context, stdin io.Reader, file string, warnings io.Writer) (done patch.Repaired, err error) {
	service := repair.Service{MaxBytes: r.MaxBytes, LogTime: logTime}
	if r.Request.Messages, err = readFile(stdin, file, service.Bound()); err != nil {
		return done, err
	}
	if r.Request.Session != "" {
		b, err := Dial(ctx, r.Broker)
		if err != nil {
			return done, err
		}
		defer b.Close()
		known, err := useLog(ctx, &service, b, r.Request.Session)
		if err != nil {
			return done, err
		}
		if !known {
			fmt.Fprintf(warnings, "streamer repair: there is nothing of session %s in the event log\n", r.Request.Session)
		}
	}
	done, err = service.Repair(ctx, r.Request)
	if _, ok := errors.AsType[*repair.Refusal](err); ok {
		err = inFile(file, err)
	}
	return done, err
}

// Write writes the output to out, and the report to a file: - is errs, and "" none.
func (r *Repair) Write(out, errs io.Writer, done patch.Repaired, file string) error {
	report, err := repair.Report(done.Report)
	if err != nil {
		return err
	}
	report = append(report, '\n')
	switch file {
	case "":
	case "-":
		_, err = errs.Write(report)
	default:
		err = os.WriteFile(file, report, 0o600)
	}
	if err != nil {
		return err
	}
	body := done.History
	switch r.Request.Options.Output {
	case "ops":
		body = append(repair.Script(done.Script), '\n')
	case "check":
		body = report
	}
	_, err = out.Write(body)
	return err
}

func useLog(ctx context.Context, service *repair.Service, b *Broker, session string) (known bool, err error) {
	token, err := events.Token(session)
	if err != nil {
		return false, err
	}
	service.Log = b
	seq, _, err := b.Head(ctx, token)
	return seq != 0, err
}

// readFile reads a file of at most limit bytes; - is stdin, unless that is nil.
func readFile(stdin io.Reader, name string, limit int) ([]byte, error) {
	in := stdin
	if in == nil || name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		in = file
	}
	text, err := repair.Read(in, limit)
	return text, inFile(name, err)
}

// inFile adds the name of the file to an error, unless the error has it already.
func inFile(name string, err error) error {
	if pathed, ok := errors.AsType[*os.PathError](err); err == nil || name == "-" || ok && pathed.Path == name {
		return err
	}
	return fmt.Errorf("%s: %w", name, err)
}

// CheckNoSession returns an error if flags name a log without a session: an empty
// variable in a script would otherwise silently leave the log out.
func CheckNoSession(i *cli.Invocation) error {
	if i.Given("session") {
		return i.Misused("invalid --session: empty")
	}
	for _, f := range i.Flags() {
		if (f.Name == "data-dir" || strings.HasPrefix(f.Name, "nats-")) && i.OnLine(f.Name) {
			return i.Misused("invalid --%s: need --session with it", f.Name)
		}
	}
	return nil
}
