package gemini

import (
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
	"streamer/internal/stored"
)

// End is what the wire has shown about the end of the message. STOP is not the
// end: it may come before the result of code that Google runs, and older servers
// send it in each chunk.
type End struct {
	Stopped bool // a finish reason came
	Spared  bool // a chunk with content came without one
	Tool    Tool
	Prompt  int // promptTokenCount of the last chunk, 0 where it has none
}

func (e *End) fields(f *stored.Fields) {
	f.Flag("s", &e.Stopped)
	f.Flag("n", &e.Spared)
	stored.Number(f, "t", &e.Tool)
	stored.Number(f, "p", &e.Prompt)
}

// Tool is the state of the tools that Google runs for the message.
type Tool uint8

const (
	running Tool = iota + 1 // a result follows
	ran
)

// The silences that end a message after a finish reason, in multiples of the
// silence that flushes held text.
const (
	waitUsual   = 1
	waitUnsure  = 8   // the server may send STOP in each chunk
	waitForTool = 120 // code runs for 30 s at most
)

func (d *decoder) tool(w *wire.Writer, of wire.Choice, state Tool) {
	d.begin(w, of)
	d.End.Tool = state
}

// wait returns the silence that ends the message after a finish reason.
func (e *End) wait(reason string) uint8 {
	switch {
	case reason != "STOP":
		return 0
	case e.Tool == running:
		return waitForTool
	case e.Tool == ran, e.Stopped, !e.Spared:
		return waitUnsure
	}
	return waitUsual
}

// unnamed returns the id of the message that content without an id belongs to. It
// begins another message after a finish reason, unless the count of the prompt's
// tokens is the same, or was not sent with the finish reason: older servers send
// it in the last chunk only.
func (d *decoder) unnamed(prompt int) string {
	switch {
	case d.Begun && !d.End.Stopped:
		return d.Message
	case d.Message == "" && d.End.Stopped && d.End.Prompt != 0 && d.End.Prompt != prompt:
		d.Begun = false
	}
	return ""
}

type tokens struct {
	prompt  int
	counted bool // it has a sum; each event has a usage with the type of traffic
}

func readTokens(usage jsonscan.Value) (t tokens) {
	var total, prompt jsonscan.Value
	usage.Read(
		prompt.From("promptTokenCount"), prompt.From("prompt_token_count"),
		total.From("totalTokenCount"), total.From("total_token_count"),
	)
	if total.Present() {
		t = tokens{prompt: prompt.Int(), counted: true}
	}
	return t
}
