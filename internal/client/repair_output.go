package client

import (
	"io"
	"os"

	"streamer/internal/patch"
	"streamer/internal/repair"
)

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
