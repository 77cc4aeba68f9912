package patch

import (
	"crypto/sha256"
	"slices"
	"strconv"
	"strings"

	"streamer/internal/jsonscan"
)

// The outcome of a call in the log belongs to a call of the history by identity, and
// never by position alone: by its uid, or else by name, args and namespace. A history has
// the calls of the root namespace.

// argsKey identifies args: those with equal JSON have equal keys.
type argsKey [sha256.Size]byte

// keyOfText returns the key of args as a model writes them. No text and null are {}, and a
// string with args is these args. Text that is not JSON is compared as it is.
func keyOfText(text string) argsKey {
	text = strings.TrimSpace(text)
	if text == "" || text == "null" {
		text = "{}"
	}
	if !isComplete(text) {
		return sha256.Sum256([]byte("text " + text))
	}
	return keyOfValue(text)
}

// isComplete reports whether a text is one JSON value.
func isComplete(text string) bool {
	var s jsonscan.Scanner
	s.Write(text)
	return s.Complete()
}

// keyOfValue returns the key of args that are a JSON value.
func keyOfValue(value string) argsKey {
	switch {
	case value == "":
		value = "{}"
	case value[0] == '"', value == "null":
		return keyOfText(text(value))
	}
	return sha256.Sum256(appendCanonical(nil, value, 0))
}

// maxCanonical is the depth beyond which values are compared byte by byte.
const maxCanonical = 64

// appendCanonical appends a JSON value in a form that has no white space, sorted keys, the
// last of equal keys, strings with their lengths, and one spelling of each number.
func appendCanonical(b []byte, value string, depth int) []byte {
	switch {
	case value[0] == '"':
		s := text(value)
		return append(append(strconv.AppendInt(b, int64(len(s)), 10), '"'), s...)
	case value[0] == '-' || value[0] >= '0' && value[0] <= '9':
		return appendNumber(b, value)
	case value[0] != '{' && value[0] != '[' || depth == maxCanonical:
		return append(b, value...)
	case value[0] == '[':
		b = append(b, '[')
		for _, e := range elements(value) {
			b = append(appendCanonical(b, e, depth+1), ',')
		}
		return append(b, ']')
	}
	values, names := map[string]string{}, []string(nil)
	for name, v := range members(value) {
		if _, ok := values[name]; !ok {
			names = append(names, name)
		}
		values[name] = v
	}
	slices.Sort(names)
	b = append(b, '{')
	for _, name := range names {
		b = append(append(strconv.AppendInt(b, int64(len(name)), 10), ':'), name...)
		b = append(appendCanonical(b, values[name], depth+1), ',')
	}
	return append(b, '}')
}

// appendNumber appends the digits of a number between its outer zeros, and the power of ten
// of the last one: 1.0, 1 and 10e-1 are equal, and no digit is lost.
func appendNumber(b []byte, number string) []byte {
	rest, negative := strings.CutPrefix(number, "-")
	exponent := 0
	if i := strings.IndexAny(rest, "eE"); i >= 0 {
		e, err := strconv.Atoi(rest[i+1:])
		if err != nil {
			return append(b, number...)
		}
		rest, exponent = rest[:i], e
	}
	whole, fraction, _ := strings.Cut(rest, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	exact := strings.TrimRight(digits, "0")
	switch {
	case exact == "":
		return append(b, '0')
	case negative:
		b = append(b, '-')
	}
	b = append(append(b, exact...), 'e')
	return strconv.AppendInt(b, int64(exponent-len(fraction)+len(digits)-len(exact)), 10)
}

// logIndex finds the outcomes of the log.
type logIndex struct {
	uid     map[string]int   // the call with a uid
	uses    map[string]int   // number of calls with an id of the provider
	equal   map[string][]int // the calls of the root namespace by equalKey, with their ids and without, oldest first
	large   map[string][]int // those whose args are not included, by name
	orphans map[string][]int // results without a call, by id
	nodes   bool             // the root graph of LangGraph has the calls of the main agent
	claimed []bool
}

func newLogIndex(log []Outcome) *logIndex {
	x := &logIndex{
		uid: make(map[string]int, len(log)), uses: make(map[string]int, len(log)), equal: make(map[string][]int, len(log)),
		large: map[string][]int{}, orphans: map[string][]int{}, claimed: make([]bool, len(log)),
	}
	x.nodes = !slices.ContainsFunc(log, func(o Outcome) bool { return o.UID != "" && o.Namespace == "" })
	for i := range log {
		o := &log[i]
		if o.UID == "" {
			x.orphans[o.ID] = append(x.orphans[o.ID], i)
			continue
		}
		x.uid[o.UID] = i
		x.uses[o.ID]++
		if !x.isRoot(o) {
			continue
		}
		for _, args := range o.args {
			for _, id := range slices.Compact([]string{"", o.ID}) {
				key := equalKey(o.Name, args, id)
				x.equal[key] = append(x.equal[key], i)
			}
		}
		if o.ArgsAt != 0 {
			x.large[o.Name] = append(x.large[o.Name], i)
		}
	}
	return x
}

// isRoot reports whether a call is of the main agent. LangGraph gives each node of the root
// graph a namespace of one segment, NAME:ID. Others with one are those of agents.
func (x *logIndex) isRoot(o *Outcome) bool {
	return o.Namespace == "" || x.nodes && isNode(o.Namespace)
}

func isNode(namespace string) bool {
	return strings.Contains(namespace, ":") && !strings.Contains(namespace, "|")
}

// equalKey returns the key of calls with a name and args, and with an id of the provider if
// that is not "".
func equalKey(name string, args argsKey, id string) string {
	return string(args[:]) + name + "\x00" + id
}

// use is a call of the history while its outcome is searched.
type use struct {
	call *call
	name string
	args argsKey
	only bool // no other call of the history has its id
	open bool // the outcome matters
}

// findOutcomes sets the outcome of each call that the log certainly has.
func (h *history) findOutcomes() {
	if len(h.opts.Log) == 0 {
		return
	}
	x := newLogIndex(h.opts.Log)
	times, uses := map[string]int{}, make([]use, 0, len(h.calls))
	for i := range h.calls {
		if c := &h.calls[i]; c.dropped == "" {
			times[c.id]++
			uses = append(uses, use{call: c, name: c.loggedName(), args: keyOfValue(c.args), open: h.needsOutcome(c)})
		}
	}
	for i := range uses {
		u := &uses[i]
		u.only = u.call.id != "" && times[u.call.id] == 1
		h.findByUID(x, u)
	}
	h.findEqual(x, uses)
	for i := range uses {
		if u := &uses[i]; u.only && u.call.outcome == 0 {
			h.findByID(x, u)
		}
	}
}

// needsOutcome reports whether the outcome of a call can change the repair.
func (h *history) needsOutcome(c *call) bool {
	switch {
	case c.answer >= 0:
		return h.results[c.answer].placeholder
	case c.hasOutput:
		return c.placeholder
	}
	return !c.answeredInside
}

// loggedName returns the name of a call in the log, which names an item without a name by
// its type.
func (c *call) loggedName() string {
	if c.name == "" {
		return strings.TrimSuffix(c.kind, "_call")
	}
	return c.name
}

func (x *logIndex) claim(u *use, i int) {
	x.claimed[i] = true
	u.call.outcome = i + 1
}

// byUID returns the call with the uid of a use, -1 for none. The provider's id is the uid
// of its first use, so a call of a subagent counts only if nothing else has that id.
func (h *history) byUID(x *logIndex, u *use) int {
	i, ok := x.uid[u.call.id]
	if !ok || !u.only {
		return -1
	}
	o := &h.opts.Log[i]
	if !x.isRoot(o) && o.ID == o.UID && x.uses[o.ID] > 1 || o.Name != "" && u.name != "" && o.Name != u.name {
		return -1
	}
	return i
}

func (h *history) findByUID(x *logIndex, u *use) {
	i := h.byUID(x, u)
	switch {
	case i < 0:
	case slices.Contains(h.opts.Log[i].args, u.args):
		x.claim(u, i)
	case h.opts.Log[i].ArgsAt != 0 && u.open:
		h.wanted = append(h.wanted, h.opts.Log[i].ArgsAt)
	}
}

// group has uses of a history and the calls of the log that are equal to them.
type group struct {
	uses []*use
	fits []int
}

// findEqual finds the outcomes of the other calls by name and args, and by the provider's
// id if a call of the log with these has it. Order decides between equal uses, if history
// and log have as many.
func (h *history) findEqual(x *logIndex, uses []use) {
	var groups []*group
	known := map[string]*group{}
	for i := range uses {
		u := &uses[i]
		if u.call.outcome != 0 {
			continue
		}
		if u.open {
			for _, i := range x.large[u.name] {
				h.wanted = append(h.wanted, h.opts.Log[i].ArgsAt)
			}
			delete(x.large, u.name)
		}
		key := equalKey(u.name, u.args, u.call.id)
		if len(x.equal[key]) == 0 {
			key = equalKey(u.name, u.args, "")
		}
		g := known[key]
		if g == nil {
			g = &group{fits: slices.Clone(x.equal[key])}
			known[key] = g
			groups = append(groups, g)
		}
		g.uses = append(g.uses, u)
	}
	for found := true; found; { // what one group claims, no other one has
		found = false
		for _, g := range groups {
			g.fits = slices.DeleteFunc(g.fits, func(i int) bool { return x.claimed[i] })
			if len(g.uses) == 0 || len(g.uses) != len(g.fits) {
				continue
			}
			for n, u := range g.uses {
				x.claim(u, g.fits[n])
			}
			g.uses, found = nil, true
		}
	}
}

// findByID finds the outcome of a call by its id alone if args cannot be compared: the
// args in the log were cut, and those of the history are {} or cut, too; or the log has
// only a result with that id, of a call that it does not have.
func (h *history) findByID(x *logIndex, u *use) {
	if i := h.byUID(x, u); i >= 0 {
		o := &h.opts.Log[i]
		none := u.args == keyOfText("")
		if !x.claimed[i] && o.cut && (none || u.call.broken && len(o.args) == 0) && len(x.equal[equalKey(u.name, u.args, o.ID)]) == 0 {
			x.claim(u, i)
		}
		return
	}
	if of := x.orphans[u.call.id]; len(of) == 1 && x.uses[u.call.id] == 0 {
		if o := &h.opts.Log[of[0]]; o.Name == "" || u.name == "" || o.Name == u.name {
			x.claim(u, of[0])
		}
	}
}
