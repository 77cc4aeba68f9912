package framing

import "streamer/internal/stored"

// State is the text that was cut between two inputs. The zero value is ready to use.
type State struct {
	SSE   *SSE   // nil unless an event of SSE was cut: there may be many sessions
	Cut   *Cut   // nil unless other text was cut
	Since *Since // nil unless text was cut
}

// Fields visits the members of the stored form.
func (s *State) Fields(f *stored.Fields) {
	stored.Pointer(f, "s", &s.SSE, (*SSE).fields)
	stored.Pointer(f, "c", &s.Cut, (*Cut).fields)
	stored.Pointer(f, "b", &s.Since, (*Since).fields)
}

// Pending reports whether the last input ended inside an event, or plain text waits for
// the format.
func (s *State) Pending() bool { return s.cutText() || s.Cut != nil && len(s.Cut.Early) > 0 }

func (s *State) cutText() bool {
	c := s.Cut
	return s.SSE != nil && s.SSE.Has || c != nil && (c.JSON != nil && len(c.JSON.Text) > 0 || c.Code != nil || c.Frame != nil)
}
