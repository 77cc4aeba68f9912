package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"streamer/internal/decode"
	"streamer/internal/events"
	"streamer/internal/inputs"
	"streamer/internal/lifecycle"
	"streamer/internal/session"
)

// assembled is one line of what assemble prints.
type assembled struct {
	ID            string          `json:"id"`
	IDSynthesized bool            `json:"id_synthesized"`
	Name          string          `json:"name"`
	ArgsText      string          `json:"args_text"`
	Args          json.RawMessage `json:"args"`
	ArgsValid     bool            `json:"args_valid"`
	Index         json.RawMessage `json:"index"`
	Choice        int             `json:"choice"`
	MessageID     string          `json:"message_id"`
	Namespace     string          `json:"namespace"`
	Kind          string          `json:"kind"`
	Complete      bool            `json:"complete"`
	Status        events.Status   `json:"status"`

	call string
}

func assemble(_ context.Context, std stdio, args []string) error {
	fs := flags("assemble")
	var format formatName
	fs.Var(&format, "format", "the `format` of the stream ("+strings.Join(decode.Names(), ", ")+"); recognised where it is not given")
	asEvents := fs.Bool("events", false, "print the lifecycle events instead of the calls")
	files, err := parse(std, fs, args)
	if err != nil {
		return err
	}
	if len(files) > 1 {
		return misused(std, fs, "one FILE at the most, not %d", len(files))
	}
	in := std.in
	if len(files) == 1 && files[0] != "-" {
		f, err := os.Open(files[0])
		if err != nil {
			return err
		}
		defer f.Close()
		in = f
	}
	a := assembly{header: inputs.Header{inputs.HeaderFormat: {string(format)}}}
	broken := a.read(in) // what was read until then is printed all the same
	out := bufio.NewWriter(std.out)
	if err := a.print(out, *asEvents); err != nil {
		return err
	}
	if err := out.Flush(); err != nil {
		return err
	}
	if err := a.complain(std.err); broken == nil {
		return err
	}
	return broken
}

// assembly folds a recorded stream, one input per line, at a constant time.
type assembly struct {
	header inputs.Header
	state  session.State
	events []events.Event
	reader decode.Reader
}

// maxLine bounds a line of a recorded stream, in bytes.
const maxLine = 64 << 20

// read folds all lines. Where reading fails in the middle, what was read
// before counts.
func (a *assembly) read(in io.Reader) (broken error) {
	lines := bufio.NewReaderSize(in, 64<<10)
	var n uint64
	for {
		line, err := readLine(lines)
		if err != nil && !errors.Is(err, io.EOF) {
			broken = fmt.Errorf("line %d: %w", n+1, err)
			break
		}
		if len(line) > 0 {
			n++
			a.fold(n, inputs.Delta, line)
		}
		if err != nil {
			break
		}
	}
	// An SSE event that the end of the file cut off from its blank line.
	a.fold(n, inputs.Delta, []byte("\n\n"))
	a.fold(n+1, inputs.Clock, []byte(`{"kind":"flush"}`))
	return broken
}

func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		piece, err := r.ReadSlice('\n')
		line = append(line, piece...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
		if len(line) > maxLine {
			return nil, fmt.Errorf("longer than %d bytes", maxLine)
		}
	}
}

func (a *assembly) fold(n uint64, kind inputs.Kind, data []byte) {
	rules := lifecycle.NewRules()
	a.events = session.Fold(a.events, &a.state, session.Input{Rules: &rules, Reader: &a.reader, Input: inputs.Input{
		Seq: n, At: time.Unix(0, 0), Token: "assemble", Kind: kind, Header: a.header, Data: data,
	}})
}

func (a *assembly) print(w io.Writer, asEvents bool) error {
	if asEvents {
		for i := range a.events {
			e := &a.events[i]
			if e.Type == events.Synthetic {
				continue
			}
			body, err := e.Body()
			if err != nil {
				return err
			}
			if _, err := fmt.Fprintf(w, "%s\n", body); err != nil {
				return err
			}
		}
		return nil
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	for _, c := range a.calls() {
		if err := enc.Encode(c); err != nil {
			return err
		}
	}
	return nil
}

// calls gives the calls in order of first appearance: what the events say of
// them and, of those that are still being built, what the state holds.
func (a *assembly) calls() []*assembled {
	byCall := map[string]*assembled{}
	var list []*assembled
	get := func(call string) *assembled {
		if byCall[call] == nil {
			byCall[call] = &assembled{call: call, Status: events.BuildingArgs, Index: json.RawMessage("null")}
			list = append(list, byCall[call])
		}
		return byCall[call]
	}
	for i := range a.events {
		if e := &a.events[i]; e.Call != "" {
			get(e.Call).take(e)
		}
	}
	for _, m := range a.state.Life.Messages {
		for i := range m.Calls {
			if c := &m.Calls[i]; c.State.Status == events.BuildingArgs {
				get(c.State.Call).building(m, c)
			}
		}
	}
	slices.SortStableFunc(list, func(x, y *assembled) int { return compareCalls(x.call, y.call) })
	return list
}

// take takes over what an event says of the call.
func (c *assembled) take(e *events.Event) {
	c.ID, c.IDSynthesized, c.Name = e.ID, e.IDSynthesized, e.ToolName
	c.Choice, c.MessageID, c.Namespace = e.Choice, e.MessageID, e.Namespace
	if e.Index != nil {
		c.Index = e.Index
	}
	switch e.Type {
	case events.ToolCallStart:
		c.Kind = e.Kind
	case events.ToolCallArgsDelta:
		c.ArgsText += e.Args
	case events.ToolCallArgsComplete:
		c.completed(e)
	case events.ToolCallAwaiting:
		c.Status = events.AwaitingInput
	case events.ToolCallResult:
		c.Status = e.Status
	}
}

func (c *assembled) completed(e *events.Event) {
	c.Complete, c.Status = true, events.ArgsComplete
	c.Args, c.ArgsValid = e.ToolArgs, *e.ArgsValid
	if e.ArgsText != nil {
		c.ArgsText = *e.ArgsText
		return
	}
	for _, b := range e.Blobs {
		c.ArgsText = string(b.Data)
		if json.Valid(b.Data) {
			c.Args = b.Data
		}
	}
}

// building takes over what the state holds of a call whose args are not
// complete.
func (c *assembled) building(m *lifecycle.Message, call *lifecycle.Call) {
	c.ID, c.Name, c.Kind = call.ID, call.Name, call.Kind()
	if c.ID == "" {
		c.ID, c.IDSynthesized = lifecycle.SynthesizedID(call.State.Call), true
	}
	if c.Kind == "" {
		c.Kind = "function"
	}
	c.Choice, c.MessageID, c.Namespace = m.Choice, m.ID, m.Namespace
	if call.Index != "" {
		c.Index = json.RawMessage(call.Index)
	}
	args := call.Args()
	c.ArgsText, c.Args, c.ArgsValid = string(call.Text), args.JSON, args.Valid
}

func compareCalls(x, y string) int {
	xs, xk, _ := strings.Cut(x, ".")
	ys, yk, _ := strings.Cut(y, ".")
	if d := number(xs) - number(ys); d != 0 {
		return d
	}
	return number(xk) - number(yk)
}

func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0
	}
	return n
}

// complain names the lines that could not be used.
func (a *assembly) complain(w io.Writer) error {
	bad := 0
	for i := range a.events {
		e := &a.events[i]
		if e.Type != events.Rejected {
			continue
		}
		bad++
		fmt.Fprintf(w, "streamer assemble: line %d, offset %d: %s: %s\n", e.Input, e.Offset.Bytes(), e.Reason.Code, e.Reason.Text)
	}
	if bad > 0 {
		return exit(exitInput)
	}
	return nil
}
