package lifecycle

import "streamer/internal/chunks"

// history gives the place in a repeated history before which all is old: what
// stands before a message that is remembered was seen and forgotten.
func (st *Step) history(frame []chunks.Chunk) int {
	last := -1
	for i := range frame {
		if c := &frame[i]; c.Repeated && c.Message != "" && st.State.Memory.sawMessage(c.Message) {
			last = i
		}
	}
	if last < 0 {
		return 0
	}
	for i := range frame {
		if frame[i].Message == frame[last].Message {
			return i
		}
	}
	return 0
}

// past finds what a repeated history has of former turns, in a session of which
// nothing is known: an old thread begins with all of it. What is surely past
// are the results before the last human message, and the calls they answer;
// they are remembered, and not told. It gives the places of their chunks.
//
// Behind that message a call and its result may well come together for the
// first time: so a graph tells what a subgraph did that is not streamed.
func (st *Step) past(frame []chunks.Chunk) map[int]bool {
	s := st.State
	if len(s.Messages)+len(s.Memory.Messages)+len(s.Memory.Closed) > 0 {
		return nil
	}
	turn := len(frame) - 1
	for turn > 0 && !(frame[turn].Kind == chunks.Human && frame[turn].Repeated) {
		turn--
	}
	places, calls := map[int]bool{}, map[string]int{}
	for i := range frame[:turn] {
		switch c := &frame[i]; {
		case !c.Repeated:
		case c.Kind == chunks.Fragment && c.ID != "":
			calls[c.ID] = i
		case c.Kind == chunks.Result && c.ID != "":
			places[i] = true
			was := Closed{ID: clone(c.ID), Namespace: clone(c.Namespace)}
			if k, ok := calls[c.ID]; ok {
				places[k] = true
				delete(calls, c.ID)
				call := &frame[k]
				was.Name, was.Message, was.Args = clone(call.Name), clone(call.Message), fingerprint([]byte(call.Args))
				s.Memory.seeMessage(was.Message, st.Rules.MaxClosed)
			}
			r := resultOf(c)
			was.Real = r.digest()
			s.Memory.close(was, st.Rules.MaxClosed)
		}
	}
	return places
}

// told is a result of a call of which only a history told.
func (st *Step) told(old *Closed, r Result) {
	if !r.repeated && old.Real != r.digest() {
		st.orphan(r, "")
	}
}
