package wire

import (
	"slices"

	"streamer/internal/stored"
)

// IDs are ids in the state of a Decoder, oldest first. An id longer than MaxID is cut.
type IDs []string

// Fields visits the list as the member with a name.
func (l *IDs) Fields(f *stored.Fields, name string) { f.Texts(name, (*[]string)(l)) }

// Has reports whether the list has an id.
func (l *IDs) Has(id string) bool { return slices.Contains(*l, id[:min(len(id), MaxID)]) }

// Add adds an id. It removes the oldest one where the list has as many as the limit.
func (l *IDs) Add(id string, limit int) { *l = append(MakeRoom(*l, limit), Keep(id)) }

// AddNew adds an id as Add does, unless it is "" or the list has it, and reports whether
// it was added.
func (l *IDs) AddNew(id string, limit int) bool {
	if id == "" || l.Has(id) {
		return false
	}
	l.Add(id, limit)
	return true
}

// Remove removes an id and reports whether the list had it.
func (l *IDs) Remove(id string) bool {
	n := len(*l)
	*l = slices.DeleteFunc(*l, func(s string) bool { return s == id[:min(len(id), MaxID)] })
	return len(*l) < n
}
