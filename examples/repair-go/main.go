// Command repair-go shows how a Go program repairs a history: it requests the
// steps of the repair from the repair service on NATS, and applies them to its
// messages. Messages that need no change keep their bytes.
//
//	repair-go --nats-url nats://127.0.0.1:4222 < history.json > repaired.json
//
// A program that may start processes can run the command instead:
//
//	out, err := exec.Command("streamer", "repair", "--late", "note", "history.json").Output()
package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/nats-io/nats.go"
)

func main() {
	url := flag.String("nats-url", cmp.Or(os.Getenv("STREAMER_NATS_URL"), nats.DefaultURL), "`URL` of NATS")
	flag.Parse()
	if err := run(*url, os.Stdin, os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "repair-go:", err)
		os.Exit(1)
	}
}

// run reads a JSON list of messages, and writes the repaired list and the report.
func run(url string, in io.Reader, out, report io.Writer) error {
	var messages []json.RawMessage
	if err := json.NewDecoder(in).Decode(&messages); err != nil {
		return fmt.Errorf("reading the history: %w", err)
	}
	nc, err := nats.Connect(url)
	if err != nil {
		return fmt.Errorf("connecting to %s: %w", url, err)
	}
	defer nc.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	repaired, summary, err := Repair(ctx, nc, messages, map[string]any{"late": "note"})
	if err != nil {
		return err
	}
	fmt.Fprintf(report, "%s\n", summary)
	return encode(out, repaired)
}

// Repair requests the steps that repair messages, and returns the repaired list
// and the report. docs/repair.md describes the options and the fields of the
// report.
func Repair(ctx context.Context, nc *nats.Conn, messages []json.RawMessage, options map[string]any) ([]json.RawMessage, json.RawMessage, error) {
	options["output"] = "ops"
	var request bytes.Buffer
	if err := encode(&request, map[string]any{"messages": messages, "options": options}); err != nil {
		return nil, nil, err
	}
	if limit := nc.MaxPayload(); int64(request.Len()) > limit {
		return nil, nil, fmt.Errorf("the request has %d bytes, NATS accepts %d: use POST /v1/repair", request.Len(), limit)
	}
	m, err := nc.RequestWithContext(ctx, "streamer.repair", request.Bytes())
	if err != nil {
		return nil, nil, fmt.Errorf("requesting the repair: %w", err)
	}
	if code := m.Header.Get("Nats-Service-Error-Code"); code != "" {
		return nil, nil, fmt.Errorf("streamer: %s: %s", code, m.Header.Get("Nats-Service-Error"))
	}
	var answer struct {
		Ops    []step
		Report json.RawMessage
	}
	if err := json.Unmarshal(m.Data, &answer); err != nil {
		return nil, nil, fmt.Errorf("parsing the answer: %w", err)
	}
	repaired, err := apply(answer.Ops, messages)
	return repaired, answer.Report, err
}

// step is one of: a range of messages to copy, a message to insert, a message
// that replaces another.
type step struct {
	Copy    *[2]int
	Insert  json.RawMessage
	Replace *struct{ With json.RawMessage }
}

// apply returns the messages after the steps.
func apply(steps []step, messages []json.RawMessage) (repaired []json.RawMessage, err error) {
	for i, s := range steps {
		switch {
		case s.Copy != nil:
			from, to := s.Copy[0], s.Copy[1]
			if from < 0 || from > to || to > len(messages) {
				return nil, fmt.Errorf("step %d copies %d to %d of %d messages", i, from, to, len(messages))
			}
			repaired = append(repaired, messages[from:to]...)
		case s.Replace != nil:
			repaired = append(repaired, s.Replace.With)
		default:
			repaired = append(repaired, s.Insert)
		}
	}
	return repaired, nil
}

// encode writes JSON without the escapes for HTML that json.Marshal adds.
func encode(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}
