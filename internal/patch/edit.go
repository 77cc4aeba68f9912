package patch

import "strings"

// edited gives a JSON object in which change has had a look at the value of
// every member; all other bytes are kept.
func editMembers(object string, change func(name, value string) string) string {
	var b strings.Builder
	kept := 0
	for i := first(object, '{'); i < len(object); {
		end := skip(object, i)
		from := blank(object, blank(object, end)+1)
		to := skip(object, from)
		if now := change(text(object[i:end]), object[from:to]); now != object[from:to] {
			b.WriteString(object[kept:from])
			b.WriteString(now)
			kept = to
		}
		i = next(object, to)
	}
	if kept == 0 {
		return object
	}
	b.WriteString(object[kept:])
	return b.String()
}

// with gives a JSON object whose member has the value, behind all others where
// it is new. What is no object becomes one.
func setMember(object, name, value string) string {
	if i := blank(object, 0); i == len(object) || object[i] != '{' {
		return "{" + quote(name) + ":" + value + "}"
	}
	found := false
	object = editMembers(object, func(n, v string) string {
		if n != name {
			return v
		}
		found = true
		return value
	})
	if found {
		return object
	}
	end := strings.LastIndexByte(object, '}')
	head := strings.TrimRight(object[:end], " \n\t\r")
	comma := ","
	if strings.HasSuffix(head, "{") {
		comma = ""
	}
	return head + comma + quote(name) + ":" + value + object[len(head):]
}

// inside gives a JSON object in which the value of one member is changed,
// where there is one.
func editMember(object, name string, change func(value string) string) string {
	return editMembers(object, func(n, v string) string {
		if n != name {
			return v
		}
		return change(v)
	})
}

// each gives a JSON array in which change has had a look at every element and
// may have taken it out.
func editElements(array string, change func(n int, element string) (string, bool)) string {
	var kept []string
	same, dropped := true, false
	for n, e := range elements(array) {
		now, keep := change(n, e)
		same = same && keep && now == e
		if !keep {
			dropped = true
			continue
		}
		kept = append(kept, now)
	}
	switch {
	case same:
		return array
	case dropped:
		return list(kept)
	}
	return replaceElements(array, kept)
}

// spliced puts as many elements as the array has in their places.
func replaceElements(array string, now []string) string {
	var b strings.Builder
	at, n := 0, 0
	for i := first(array, '['); i < len(array); n++ {
		b.WriteString(array[at:i])
		b.WriteString(now[n])
		at = skip(array, i)
		i = next(array, at)
	}
	b.WriteString(array[at:])
	return b.String()
}

// list writes a JSON array.
func list(values []string) string { return "[" + strings.Join(values, ",") + "]" }
