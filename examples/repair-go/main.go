// Command repair-go shows how a program in Go has a history repaired: it asks
// streamer's service on NATS for the steps, and applies them to the messages
// it has. Those that need no change are never copied and keep their bytes.
//
//	repair-go --nats nats://127.0.0.1:4222 < history.json > repaired.json
//
// Where a process is welcome, the command does the same in a line:
//
//	out, err := exec.Command("streamer", "repair", "--late", "note", "history.json").Output()
package main

import (
	"bytes"
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
	url := flag.String("nats", nats.DefaultURL, "`URL` of NATS")
	flag.Parse()
	if err := run(*url, os.Stdin, os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "repair-go:", err)
		os.Exit(1)
	}
}

// run repairs a JSON list of messages, and writes the report beside it.
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
	repaired, told, err := Repair(ctx, nc, messages, map[string]any{"late": "note"})
	if err != nil {
		return err
	}
	fmt.Fprintf(report, "%s\n", told)
	return encode(out, repaired)
}

// Repair asks for the steps that repair messages, and gives the repaired list
// and the report. docs/repair.md has the options and the report's fields.
func Repair(ctx context.Context, nc *nats.Conn, messages []json.RawMessage, options map[string]any) ([]json.RawMessage, json.RawMessage, error) {
	options["output"] = "ops"
	var request bytes.Buffer
	if err := encode(&request, map[string]any{"messages": messages, "options": options}); err != nil {
		return nil, nil, err
	}
	if most := nc.MaxPayload(); int64(request.Len()) > most {
		return nil, nil, fmt.Errorf("the request has %d bytes and NATS takes %d: use POST /v1/repair", request.Len(), most)
	}
	m, err := nc.RequestWithContext(ctx, "streamer.repair", request.Bytes())
	if err != nil {
		return nil, nil, fmt.Errorf("asking streamer: %w", err)
	}
	if code := m.Header.Get("Nats-Service-Error-Code"); code != "" {
		return nil, nil, fmt.Errorf("streamer: %s: %s", code, m.Header.Get("Nats-Service-Error"))
	}
	var answer struct {
		Ops    []step
		Report json.RawMessage
	}
	if err := json.Unmarshal(m.Data, &answer); err != nil {
		return nil, nil, fmt.Errorf("the answer: %w", err)
	}
	repaired, err := apply(answer.Ops, messages)
	return repaired, answer.Report, err
}

// step is one of: messages that stay, a new one, a changed one.
type step struct {
	Copy    *[2]int
	Insert  json.RawMessage
	Replace *struct{ With json.RawMessage }
}

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

// encode writes JSON without the escapes for HTML that Marshal would put into
// the messages.
func encode(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}
