package lifecycle

import "strings"

// A namespace is the path of a LangGraph subgraph, "a:1|b:2"; "" is the root.

// anywhere means that a namespace is not given.
const anywhere = "\x00"

// root reports whether the message is of the outermost agent. LangGraph gives
// each of its nodes a namespace of one segment.
func (m *Message) root() bool { return !m.Nested && !strings.Contains(m.Namespace, "|") }

// siblings reports whether two namespaces are of nodes of the same graph. LangGraph
// writes a node as NAME:ID. Other namespaces are those of agents, which work side by
// side.
func siblings(a, b string) bool {
	i, j := strings.LastIndexByte(a, '|'), strings.LastIndexByte(b, '|')
	return a[:i+1] == b[:j+1] && strings.Contains(a[i+1:], ":") && strings.Contains(b[j+1:], ":")
}

// within reports whether a namespace is ns or below it.
func within(namespace, ns string) bool {
	return ns == "" || namespace == ns || len(namespace) > len(ns) && namespace[:len(ns)] == ns && namespace[len(ns)] == '|'
}

// segment is more than the number of segments of any namespace.
const segment = 1 << 13

// proximity returns how near two namespaces are; more is nearer. More common
// segments from the root are nearer: a result of "a:1|tools:2" is nearer to a
// call of "a:1|agent:3" than to one of "b:1|agent:4". Then an equal depth is
// nearer: a result of "tools:2" is nearer to a call of "agent:3" than to one of a
// subgraph. The same namespace is nearest.
func proximity(a, b string) int {
	if a == b {
		return segment * segment
	}
	n := 0
	for a != "" && b != "" {
		x, restA, _ := strings.Cut(a, "|")
		y, restB, _ := strings.Cut(b, "|")
		if x != y {
			break
		}
		n += segment
		a, b = restA, restB
	}
	return n - max(depth(a)-depth(b), depth(b)-depth(a))
}

func depth(namespace string) int {
	if namespace == "" {
		return 0
	}
	return strings.Count(namespace, "|") + 1
}
