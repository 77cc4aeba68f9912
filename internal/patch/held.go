package patch

import "strings"

// maxHeld is the depth to which unknown values are searched for calls.
const maxHeld = 4

// couldHold reports whether a value may be a call or a result, or have one inside: an
// object with a key or a type that names a tool, or with a name beside args or a result.
func couldHold(value string, depth int) bool {
	if depth == 0 {
		return false
	}
	for _, e := range elements(value) {
		if couldHold(e, depth-1) {
			return true
		}
	}
	named, filled := false, false
	for name, v := range members(value) {
		switch {
		case v[0] == '"' && oneOf(name, "type kind role $type event part_kind block_type"):
			if isTool(text(v)) {
				return true
			}
		case holds(name, v, depth-1):
			return true
		}
		named = named || v[0] == '"' && (oneOf(name, "name action") || isTool(name))
		filled = filled || v != "null" && oneOf(name, "args arguments input tool_input parameters params output outputs result results response")
	}
	return named && filled
}

// holds reports whether a member that no format knows may have a call or a result.
// Metadata, options and definitions of tools do not count.
func holds(name, value string, depth int) bool {
	lower := strings.ToLower(name)
	for _, free := range [...]string{"metadata", "usage", "options", "provider", "choice", "schema", "management"} {
		if strings.Contains(lower, free) {
			return false
		}
	}
	switch {
	case absent(value), strings.Contains("tf-0123456789", value[:1]):
		return false
	case name == "tools": // definitions have neither args nor results
		for _, e := range elements(value) {
			if hasMember(e, "args arguments input output result state") {
				return true
			}
		}
		return false
	case value[0] == '"':
		return strings.HasSuffix(lower, "id") && isTool(name) && text(value) != ""
	}
	return isTool(name) || couldHold(value, depth)
}

// isTool reports whether a key or a type names a tool, its call or its result.
func isTool(word string) bool {
	word = strings.ToLower(word)
	for _, w := range [...]string{"tool", "function", "invocation"} {
		if strings.Contains(word, w) {
			return true
		}
	}
	return strings.HasPrefix(word, "call_") || strings.HasPrefix(word, "callid") || strings.HasSuffix(strings.TrimSuffix(word, "s"), "call")
}
