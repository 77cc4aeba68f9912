package bench

import (
	"encoding/json"
	"io"

	"streamer/internal/cli"
)

// Measurement is the outcome of a measurement.
type Measurement interface{ Print(w io.Writer) error }

// Measured checks the options, and prints what the measurement returns.
func Measured(out io.Writer, i *cli.Invocation, options interface{ Check() error }, asJSON bool, measure func() (Measurement, error)) error {
	if err := options.Check(); err != nil {
		return i.Misused("%v", err)
	}
	r, err := measure()
	switch {
	case err != nil:
		return err
	case asJSON:
		return json.NewEncoder(out).Encode(r)
	}
	return r.Print(out)
}
