package events

import "strconv"

// writer appends the members of a JSON object, as encoding/json writes them without
// escapes for HTML. Its methods are named after the kinds of values. All except id, always
// and number leave out empty values.
type writer struct {
	b   []byte // ends with the beginning of the object, or with a member
	err error  // the first that was passed to fail
}

// fail keeps the first error.
func (w *writer) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

// key appends the name of a member, whose value follows.
func (w *writer) key(name string) {
	if w.b[len(w.b)-1] != '{' {
		w.b = append(w.b, ',')
	}
	w.b = append(w.b, '"')
	w.b = append(w.b, name...)
	w.b = append(w.b, '"', ':')
}

func (w *writer) always(name, s string) {
	w.key(name)
	w.b = AppendQuoted(w.b, s)
}

func (w *writer) text(name, s string) {
	if s != "" {
		w.always(name, s)
	}
}

func (w *writer) flag(name string, set bool) {
	if set {
		w.key(name)
		w.b = append(w.b, "true"...)
	}
}

func (w *writer) object(name string, set bool, members func()) {
	if set {
		w.key(name)
		w.b = append(w.b, '{')
		members()
		w.b = append(w.b, '}')
	}
}

func (w *writer) number(name string, n int64) {
	w.key(name)
	w.b = strconv.AppendInt(w.b, n, 10)
}

func (w *writer) time(name string, t *Time) {
	if t != nil {
		w.key(name)
		w.b = append(w.b, '"')
		w.b = t.append(w.b)
		w.b = append(w.b, '"')
	}
}

func (w *writer) list(name string, values []string) {
	if len(values) > 0 {
		w.key(name)
		w.array(values)
	}
}

func (w *writer) array(values []string) {
	w.b = append(w.b, '[')
	for i, s := range values {
		if i > 0 {
			w.b = append(w.b, ',')
		}
		w.b = AppendQuoted(w.b, s)
	}
	w.b = append(w.b, ']')
}
