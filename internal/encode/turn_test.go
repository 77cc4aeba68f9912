package encode

import (
	"fmt"
	"testing"

	"streamer/internal/inputs"
)

// ending is a way in which a recorded stream is ended: the inputs after it.
type ending struct {
	name   string
	inputs []recordedInput
}

var endings = []ending{
	{"as it is", []recordedInput{{inputs.Clock, `{"kind":"flush"}`}}},
	{"completed", []recordedInput{{inputs.End, `{}`}}},
	{"cancelled", []recordedInput{{inputs.End, `{"reason":"cancelled"}`}}},
	{"failed", []recordedInput{{inputs.End, `{"reason":"error"}`}}},
	{"stopped", []recordedInput{{inputs.Interrupt, `{"reason":"user"}`}}},
	{"completed, then stopped", []recordedInput{{inputs.End, `{}`}, {inputs.Interrupt, `{"reason":"user"}`}}},
	{"goes on", []recordedInput{{inputs.End, `{}`}, {inputs.Delta, `{"id":"m9","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"On."},"finish_reason":"stop"}]}`}, {inputs.End, `{"reason":"error"}`}}},
}

type recordedInput struct {
	kind inputs.Kind
	data string
}

// eachEnding calls fn with the logs of recorded streams, cut after some of their lines.
// Each cut is ended in one of the ways, in turn.
func eachEnding(t *testing.T, fn func(name string, l *inputLog)) {
	cuts := 0
	for _, rec := range recordings(t) {
		l := &inputLog{t: t}
		for i, line := range rec.lines {
			l.add(int64(i*20), inputs.Delta, line)
			if i%(1+len(rec.lines)/2) != 0 && i != len(rec.lines)-1 {
				continue
			}
			end := endings[(cuts+cuts/len(endings))%len(endings)] // each way for each place of a cut
			cuts++
			cut := l.clone()
			for j, in := range end.inputs {
				cut.add(int64(i*20+300*(j+1)), in.kind, []byte(in.data))
			}
			fn(fmt.Sprintf("%s cut after %d, %s", rec.file, i+1, end.name), cut)
		}
	}
}

// TestTurns checks the rules of the clients of each protocol by run, for recorded
// streams that are cut and ended in different ways, with clients that connect at the
// start, in the middle and after the end. What a client shows in the end does not
// depend on when it connects.
func TestTurns(t *testing.T) {
	turns, calls := 0, 0
	eachEnding(t, func(name string, l *inputLog) {
		for _, u := range l.turns() {
			turns++
			calls += min(checkAITurn(t, name, u), checkAGTurn(t, name, u))
		}
	})
	t.Logf("%d turns, %d calls", turns, calls)
	if turns < 150 || calls < 150 {
		t.Errorf("checked %d turns with %d calls: too few", turns, calls)
	}
}
