// Package template decodes stream events that are copies of an earlier event,
// except for a few values.
//
// The deltas of a stream are alike: from one to the next only a fragment of
// text differs, and in another stream a few ids and counts. A Cache keeps the
// texts of decoded deltas as templates: literal text, with slots where those
// values stand. A format declares its slots (wire.Format.FindSlots). A delta that fits
// a template has the chunk of the first one, with its own values. It is not
// parsed, checked or recognised again, because outside the slots it is the same
// bytes. The first event of a session is recognised, but not checked, and then filled
// in the same way.
//
// An event either fits exactly, and then has the chunk that decoding it would
// emit and leaves the Decoder in the same state, or it is decoded. Templates
// are therefore not part of the state of a session: they change the speed of a
// Reader and nothing else.
package template

import (
	"streamer/internal/decode/wire"
)

// The bounds of a Cache.
const (
	maxTemplates = 12      // formats and kinds of deltas that a worker reads in turn
	maxEvent     = 4 << 10 // bytes of an event that may become a template
	price        = 8       // cost of a new template, in credit; each event adds one
	maxCredit    = 8 * price
	debt         = 32 * price // after a template that does not reproduce its own event
)

// Cache holds the templates of the events that were decoded last. The zero
// value is ready to use. It is not safe for concurrent use.
type Cache struct {
	list   []*template // the most useful ones first
	credit int         // limits new templates in streams that never repeat
	found  *template   // by Find
	values values
	finder wire.SlotFinder
}

// Find reports whether an event of a format fits a template. The name is that
// of the SSE event, or "". Fill then emits the chunk of the event. Without a format,
// "", Find reports whether the event fits a template of any format. An event that fits
// is valid JSON and UTF-8.
func (c *Cache) Find(format, name, event string) bool {
	if format != "" { // otherwise Find is called again, with the format
		c.credit = min(c.credit+1, maxCredit)
	}
	for i, t := range c.list {
		if (t.format.Name == format || format == "") && t.name == name && t.fits(event, &c.values) {
			if i > 0 {
				c.list[i-1], c.list[i] = t, c.list[i-1]
			}
			c.found = t
			return true
		}
	}
	return false
}

// Found returns the format of the event that Find has found to fit, or nil.
func (c *Cache) Found() *wire.Format {
	if c.found == nil {
		return nil
	}
	return c.found.format
}

// Forget cancels the last Find.
func (c *Cache) Forget() { c.found = nil }

// Fill emits the chunk of the event that Find has found to fit. The Decoder is
// that of the session and the format. Fill reports whether it emitted the
// chunk; otherwise it changes nothing and the event must be decoded.
func (c *Cache) Fill(w *wire.Writer, d wire.Decoder) bool {
	t := c.found
	c.found = nil
	return t.emit(w, d, &c.values)
}

// add adds a template in place of the least useful one.
func (c *Cache) add(t *template) {
	if len(c.list) == maxTemplates {
		c.list = c.list[:maxTemplates-1]
	}
	c.list = append(c.list, t)
}
