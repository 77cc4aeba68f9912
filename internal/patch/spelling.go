package patch

import "strings"

// spelling is a format whose messages have the content of another one in other words. The
// other format reads what view returns for each message, and back returns the messages
// that it writes in the own words. A message that does not change keeps its bytes.
type spelling struct {
	format
	own  *facts
	view func(message string) string
	back func(message string) string
}

func (s spelling) about() *facts { return s.own }

func (s spelling) message(c *call) string { return s.back(s.format.message(c)) }

// spelled is a format that reads views of the messages of a document.
type spelled interface {
	format
	// open sets the views of a document, and returns the format that reads them.
	open(d *document) format
	// close writes the changed messages of the output in the own words.
	close(h *history)
}

func (s spelling) open(d *document) format {
	views := make([]string, len(d.messages))
	for m := range views {
		views[m] = s.view(d.at(m))
	}
	d.views = views
	return s.format
}

func (s spelling) close(h *history) {
	h.views = nil
	for i := range h.out {
		if p := &h.out[i]; p.text != "" {
			p.text = s.back(p.text)
		}
	}
}

// renamed returns an object with other names of its members. names has pairs of an old and
// a new name, separated by a colon.
func renamed(object string, names ...string) string {
	var b []string
	for name, v := range members(object) {
		for _, pair := range names {
			if old, now, _ := strings.Cut(pair, ":"); old == name {
				name = now
				break
			}
		}
		b = append(b, quote(name)+":"+v)
	}
	return "{" + strings.Join(b, ",") + "}"
}
