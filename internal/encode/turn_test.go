package encode

import (
	"fmt"
	"testing"

	"streamer/internal/inputs"
)

// endings are the ways in which a recorded stream is ended: the inputs after it.
var endings = map[string][]recordedInput{
	"as it is":  {{inputs.Clock, `{"kind":"flush"}`}},
	"completed": {{inputs.End, `{}`}},
	"cancelled": {{inputs.End, `{"reason":"cancelled"}`}},
	"failed":    {{inputs.End, `{"reason":"error"}`}},
	"stopped":   {{inputs.Interrupt, `{"reason":"user"}`}},
	"goes on":   {{inputs.End, `{}`}, {inputs.Delta, `{"id":"m9","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"On."},"finish_reason":"stop"}]}`}, {inputs.End, `{"reason":"error"}`}},
}

type recordedInput struct {
	kind inputs.Kind
	data string
}

// TestTurns checks the rules of the clients of each protocol by run, for all recorded
// streams, cut after some of their lines and ended in each way, with clients that
// connect at the start, in the middle and after the end. What a client shows in the
// end does not depend on when it connects.
func TestTurns(t *testing.T) {
	turns, calls := 0, 0
	for file, lines := range recordings(t) {
		l := &inputLog{t: t}
		for i, line := range lines {
			l.add(int64(i*20), inputs.Delta, line)
			if i%(1+len(lines)/2) != 0 && i != len(lines)-1 {
				continue
			}
			for name, ending := range endings {
				cut := l.clone()
				for j, in := range ending {
					cut.add(int64(i*20+300*(j+1)), in.kind, []byte(in.data))
				}
				for _, u := range cut.turns() {
					name := fmt.Sprintf("%s cut after %d, %s", file, i+1, name)
					turns++
					calls += min(checkAITurn(t, name, u), checkAGTurn(t, name, u))
				}
			}
		}
	}
	t.Logf("%d turns, %d calls", turns, calls)
	if turns < 200 || calls < 200 {
		t.Errorf("checked %d turns with %d calls: too few", turns, calls)
	}
}
