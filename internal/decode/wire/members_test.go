package wire

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"streamer/internal/jsonscan"
)

// TestMembers checks that all readers of a frame visit the members that a
// jsonscan.Cursor visits, whether the frame has a Scan or not.
func TestMembers(t *testing.T) {
	var scan Scan
	for _, n := range []int{0, 1, maxShared - 1, maxShared, maxShared + 1, 2 * maxShared, 3} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			var text strings.Builder
			for i := range n {
				fmt.Fprintf(&text, `,"k\u006%d":[%d]`, i%10, i)
			}
			f := Frame{JSON: jsonscan.ValueOf("{" + strings.TrimPrefix(text.String(), ",") + "}")}
			var want []Member
			for m := f.JSON.Members(); m.Next(); {
				want = append(want, Member{m.Key, m.Value})
			}
			shared := f
			shared.Share(&scan)
			partly := shared.Members() // a reader that stops early
			for range n / 2 {
				partly.Next()
			}
			for i, f := range []Frame{f, shared, shared} {
				var got []Member
				for m := f.Members(); m.Next(); {
					got = append(got, *m.Member)
				}
				if !slices.Equal(got, want) {
					t.Errorf("reader %d of %d members\n got %v\nwant %v", i, n, got, want)
				}
			}
		})
	}
}
