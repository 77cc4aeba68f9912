package session

import (
	"errors"
	"fmt"

	"streamer/internal/decode"
	"streamer/internal/events"
	"streamer/internal/inputs"
	"streamer/internal/lifecycle"
)

func feed(step *lifecycle.Step, s *State, in *Input) {
	switch in.Kind {
	case inputs.Delta:
		feedDelta(step, s, in)
	case inputs.Result:
		results, problem := in.reader().Result(in.Data)
		step.Chunks(results)
		reject(step, problem)
	case inputs.Progress:
		if progress, problem := decode.Progress(in.Data); !reject(step, problem) {
			step.ProgressInput(&progress)
		}
	case inputs.Interrupt:
		switch i, problem := decode.Interrupt(in.Data); {
		case reject(step, problem):
		case i.Of != 0:
			step.Bound(i.Of, events.Binding{CallsOut: i.Binding.CallsOut, RequestsAnswered: i.Binding.Answered, Process: i.Binding.Process})
		default:
			step.Interrupt(lifecycle.Interrupt{Reason: i.Reason, IDs: i.ToolCallIDs, Calls: i.Calls, MessageID: i.MessageID, Run: i.Run, Namespace: i.Namespace})
		}
	case inputs.Resume:
		if by, problem := decode.Resume(in.Data); !reject(step, problem) {
			step.Resume(by)
		}
	case inputs.Answer:
		if a, problem := decode.Answer(in.Data); !reject(step, problem) {
			step.Reply(lifecycle.Reply{ID: a.ToolCallID, Call: a.Call, InterruptID: a.InterruptID, Decision: a.Decision, Args: a.Args, Value: a.Value, Text: a.Text, By: a.By})
		}
	case inputs.End:
		feedEnd(step, s, in)
	case inputs.Clock:
		feedClock(step, s, in)
	case inputs.Erase:
		step.Erased()
	default:
		step.Reject(events.BadShape, 0, "there is no input of kind "+string(in.Kind))
	}
}

func feedEnd(step *lifecycle.Step, s *State, in *Input) {
	reason, problem := decode.End(in.Data)
	if namespace := in.Namespace(); namespace != "" {
		endStream(step, s.stream(namespace), namespace)
		if !reject(step, problem) {
			step.EndAgent(namespace, events.Status(reason))
		}
		return
	}
	endDeltas(step, s)
	if !reject(step, problem) {
		step.End(events.Status(reason), "")
	}
}

// Check returns an error where Fold would reject the body of a result, progress,
// interrupt, answer or end, or a part of it. The error has the text of the rejected event
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
	case inputs.Answer:
		_, p = decode.Answer(data)
	case inputs.Resume:
		_, p = decode.Resume(data)
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
