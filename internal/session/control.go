package session

import (
	"errors"
	"fmt"

	"streamer/internal/decode"
	"streamer/internal/events"
	"streamer/internal/inputs"
	"streamer/internal/lifecycle"
)

func feedControl(step *lifecycle.Step, in *Input) {
	switch in.Kind {
	case inputs.Result:
		results, problem := in.reader().Result(in.Data)
		step.Chunks(results)
		reject(step, problem)
	case inputs.Progress:
		progress, problem := decode.Progress(in.Data)
		if reject(step, problem) {
			return
		}
		step.ProgressInput(&progress)
	case inputs.Interrupt:
		body, problem := decode.Interrupt(in.Data)
		if reject(step, problem) {
			return
		}
		step.Interrupt(lifecycle.Interrupt{
			Reason: body.Reason, IDs: body.ToolCallIDs, Calls: body.Calls,
			MessageID: body.MessageID, Run: body.Run,
		})
	case inputs.End:
		reason, problem := decode.End(in.Data)
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
	switch kind {
	case inputs.Result:
		_, p = new(decode.Reader).Result(data)
	case inputs.Progress:
		_, p = decode.Progress(data)
	case inputs.Interrupt:
		_, p = decode.Interrupt(data)
	case inputs.End:
		_, p = decode.End(data)
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
