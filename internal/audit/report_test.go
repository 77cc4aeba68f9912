package audit

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// TestPrintReport checks that sessions without a usable snapshot are counted, and
// a bounded number of them is named.
func TestPrintReport(t *testing.T) {
	r := Report{Inputs: 9, Sessions: 30, Events: 50}
	for i := range 25 {
		r.Unreadable = append(r.Unreadable, Unreadable{Token: fmt.Sprint("s", i), Why: "there is none"})
	}
	var out bytes.Buffer
	r.Print(&out)
	got := out.String()
	if strings.Count(got, "snapshot: there is none\n") != namedAtMost || !strings.Contains(got, "session s0: snapshot: there is none\n") {
		t.Errorf("got %q, want %d sessions named", got, namedAtMost)
	}
	for _, want := range []string{"... and 5 more sessions", "0 differ; 25 sessions have events and no snapshot that can be read\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("got %q, want %q in it", got, want)
		}
	}
}
