package decode

import (
	"strings"

	"streamer/internal/chunks"
)

// whole makes valid UTF-8 of what names things in the chunks: only Args and
// Text go on in the next event, so a half of a surrogate pair in an id or a
// name stays alone.
func whole(out []chunks.Chunk) []chunks.Chunk {
	for i := range out {
		c := &out[i]
		for _, s := range [...]*string{
			&c.Namespace, &c.Message, &c.Role, &c.ID, &c.Call, &c.Name, &c.CallKind, &c.ParentCall,
			&c.Status, &c.Reason, &c.Why, &c.InterruptID, &c.Run,
		} {
			if strings.IndexByte(*s, 0xED) >= 0 {
				var j chunks.Joiner
				*s = j.Join(*s) + j.End()
			}
		}
	}
	return out
}
