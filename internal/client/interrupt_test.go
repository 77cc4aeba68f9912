package client

import "testing"

// TestInterruptBody: a name of the form of a call is a call, every other name is
// an id. A name that the fold would reject is an error.
func TestInterruptBody(t *testing.T) {
	for _, c := range []struct {
		in   Interrupt
		want string // "" for an error
	}{
		{Interrupt{}, `{}`},
		{Interrupt{Reason: "user"}, `{"reason":"user"}`},
		{Interrupt{Calls: []string{"call_1", "18.0", "18"}}, `{"tool_call_ids":["call_1","18"],"calls":["18.0"]}`},
		{Interrupt{Calls: []string{""}}, ""},
	} {
		t.Run(c.want, func(t *testing.T) {
			body, err := c.in.Body()
			if c.want == "" {
				if err == nil {
					t.Errorf("%+v: got %s, want an error", c.in, body)
				}
			} else if err != nil || string(body) != c.want {
				t.Errorf("%+v: got %s, %v, want %s", c.in, body, err, c.want)
			}
		})
	}
}
