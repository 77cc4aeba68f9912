package session

import (
	"errors"
	"fmt"

	"streamer/internal/chunks"
	"streamer/internal/decode"
	"streamer/internal/events"
	"streamer/internal/inputs"
	"streamer/internal/lifecycle"
)

// readers decode the bodies of control inputs.
type readers struct {
	result    func(*decode.Reader, []byte) ([]chunks.Chunk, *decode.Problem)
	progress  func([]byte) (chunks.Chunk, *decode.Problem)
	interrupt func([]byte) (decode.InterruptBody, *decode.Problem)
	end       func([]byte) (string, *decode.Problem)
}

// readersFor returns the readers of a fold version.
func readersFor(strict bool) readers {
	if strict {
		return readers{(*decode.Reader).Result, decode.Progress, decode.Interrupt, decode.End}
	}
	return readers{(*decode.Reader).ResultV1, decode.ProgressV1, decode.InterruptV1, decode.EndV1}
}

// feedControl applies a control input.
func feedControl(step *lifecycle.Step, in *Input) {
	read := readersFor(step.Rules.Strict())
	switch in.Kind {
	case inputs.Result:
		results, problem := read.result(in.reader(), in.Data)
		step.Chunks(results)
		reject(step, problem)
	case inputs.Progress:
		progress, problem := read.progress(in.Data)
		if reject(step, problem) {
			return
		}
		step.ProgressInput(&progress)
	case inputs.Interrupt:
		body, problem := read.interrupt(in.Data)
		if reject(step, problem) {
			return
		}
		step.Interrupt(lifecycle.Interrupt{
			Reason: body.Reason, IDs: body.ToolCallIDs, Calls: body.Calls,
			MessageID: body.MessageID, HasMsg: body.HasMessageID, Run: body.Run,
		})
	case inputs.End:
		reason, problem := read.end(in.Data)
		if reject(step, problem) {
			return
		}
		step.End(events.Status(reason), "")
	}
}

// Check returns an error where Fold would reject the body of a result, progress,
// interrupt or end, or a part of it. The error has the text of the rejected event
// and, where the body is no JSON, the place.
func Check(kind inputs.Kind, data []byte) error {
	var p *decode.Problem
	switch read := readersFor(true); kind {
	case inputs.Result:
		_, p = read.result(new(decode.Reader), data)
	case inputs.Progress:
		_, p = read.progress(data)
	case inputs.Interrupt:
		_, p = read.interrupt(data)
	case inputs.End:
		_, p = read.end(data)
	}
	switch {
	case p == nil:
		return nil
	case p.Code == decode.BadJSON:
		return fmt.Errorf("the body is not JSON: %s, at byte %d", p.Text, p.Offset)
	case p.Code == decode.BadUTF8:
		return fmt.Errorf("the body is not UTF-8: %s, at byte %d", p.Text, p.Offset)
	}
	return errors.New(p.Text)
}
