package tap

import "slices"

// recent is a map that forgets its oldest entries when it has more than max.
type recent[T any] struct {
	max     int
	entries map[string]T
	order   []string
}

func (r *recent[T]) get(key string) (T, bool) {
	v, ok := r.entries[key]
	return v, ok
}

func (r *recent[T]) has(key string) bool {
	_, ok := r.entries[key]
	return ok
}

func (r *recent[T]) set(key string, v T) {
	if r.entries == nil {
		r.entries = map[string]T{}
	}
	if _, ok := r.entries[key]; !ok {
		if len(r.order) == r.max {
			old := r.order[:1+r.max/16]
			for _, k := range old {
				delete(r.entries, k)
			}
			r.order = slices.Delete(r.order, 0, len(old))
		}
		r.order = append(r.order, key)
	}
	r.entries[key] = v
}
