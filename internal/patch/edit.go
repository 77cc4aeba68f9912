package patch

import "strings"

func editMembers(object string, change func(name, value string) string) string {
	var b strings.Builder
	kept, start := 0, blank(object)
	for m := valueOf(object).Members(); m.Next(); {
		if now := change(m.Key, m.Value.Raw); now != m.Value.Raw {
			from := start + m.Offset()
			b.WriteString(object[kept:from])
			b.WriteString(now)
			kept = from + len(m.Value.Raw)
		}
	}
	if kept == 0 {
		return object
	}
	b.WriteString(object[kept:])
	return b.String()
}

// setMember returns a JSON object in which the member has the value. A new member
// is appended. A value that is not an object becomes one.
func setMember(object, name, value string) string {
	if i := blank(object); i == len(object) || object[i] != '{' {
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

func removeMember(object, name string) string {
	var kept []string
	for n, v := range members(object) {
		if n != name {
			kept = append(kept, quote(n)+":"+v)
		}
	}
	return "{" + strings.Join(kept, ",") + "}"
}

func editMember(object, name string, change func(value string) string) string {
	return editMembers(object, func(n, v string) string {
		if n != name {
			return v
		}
		return change(v)
	})
}

// editElements returns a JSON array with what change returns for each element. An
// element is removed if the second value is false.
func editElements(array string, change func(n int, element string) (string, bool)) string {
	var kept []string
	for n, e := range elements(array) {
		if now, keep := change(n, e); keep {
			kept = append(kept, now)
		}
	}
	return unchangedOr(array, kept)
}

// unchangedOr returns an array of raw values: the one given, if it has the same ones.
func unchangedOr(array string, now []string) string {
	rest := now
	for _, e := range elements(array) {
		if len(rest) == 0 || rest[0] != e {
			return list(now)
		}
		rest = rest[1:]
	}
	if len(rest) > 0 {
		return list(now)
	}
	return array
}

func list(values []string) string { return "[" + strings.Join(values, ",") + "]" }

// editCalls returns a message with its changed calls, which are elements of a list, and
// without the elements that leave it.
func editCalls(message, list string, calls []call, leaves map[int]bool, change func(c *call, element string) string) string {
	return editMember(message, list, func(array string) string {
		k := 0
		return editElements(array, func(n int, element string) (string, bool) {
			for k < len(calls) && calls[k].at < n {
				k++
			}
			if k == len(calls) || calls[k].at != n {
				return element, !leaves[n]
			}
			return change(&calls[k], element), calls[k].dropped == ""
		})
	})
}
