package patch

import (
	"cmp"
	"slices"
	"sort"
	"strings"
)

// history is the state of one repair: the turns with their calls, the results and
// the output. A turn is an assistant message; in Responses it is an unbroken run of
// items by the model.
type history struct {
	document

	opts         Options
	provider     provider
	placeholders []pattern
	format       format
	shape        Shape // that of the history, whose messages the format may read in other words

	role    []role // of each message
	turns   []turn
	calls   []call
	results []result
	signed  []int // signed[i] is the number of signed turns among the first i

	opaque     int             // 1 + the index of a message of the model that may have a call in an unknown form
	hosted     map[string]bool // ids of the last calls that the provider runs itself
	approvals  map[string]int  // calls by the id of the question whether they may run
	lastUser   int             // the last message of the user that was read, -1 for none
	signedNext bool            // the reasoning before the next turn is signed

	refusal  error // the first thing that makes the history unreadable
	inFlight bool  // the open calls of the last turn stay open

	idIndex map[string]int // index in ids
	ids     []idState
	logUses map[string][]int // calls of the log by id and by name, once needed

	ops     []Op
	refused []Violation // rules that results break, which stay as they are
	out     []piece
	wanted  []uint64 // results whose content the log does not include

	items  map[string]int        // Responses, AG-UI: the first item of each id
	copies map[int]bool          // the items that are copies of an earlier one
	byName map[string]*nameQueue // Gemini: the calls by name, otherwise nil

	answerBuffer []answer              // reused by answers
	loops        *loops                // set when a server tool without a result is found
	serverErrors map[int][]serverError // by message: errors of server tools of earlier ones

	newResults, places []string // reused by LangChain for Elixir
	callBuffer         []call   // reused for the calls of a LangChain message

	formOf int // 1 + the index of the LangChain message whose form is cached
	form   langchainMessage
}

type role byte

const (
	other   role = iota
	aside        // nothing that is sent to a model: it may be between a call and its result
	written      // an aside that was written with its turn
	user
	assistant
	tool // a result and nothing else
)

// besideResults reports whether a message may stand among the results of a turn.
func (r role) besideResults() bool { return r == tool || r == aside || r == written }

type turn struct {
	first, last int // its messages
	resultsEnd  int // the first message after it that is not a result
	from, to    int // its calls, to exclusive
	signed      bool
}

// call is a tool call of a turn, and what the repair decided about it.
type call struct {
	turn, message, at int // at is its index among the calls of its message
	id, idText, name  string
	key               string // Gemini: what a call without an id is matched by
	args              string // raw JSON
	kind              string // type of a Responses item, "custom", or LangChain's "invalid"
	view              int    // views of a LangChain message that contain it, as bits
	repeated          string // raw value of a member that the result must repeat, "" for none
	broken            bool   // the args are not JSON
	answeredInside    bool   // its result is part of a user's message, and stays there
	hasOutput         bool   // its result is part of the call itself
	placeholder       bool   // that result stands for a missing one
	item              string // raw id of the item or the message that has it, "" for none
	repetition        bool   // another call of its message is the same one
	streams           bool   // its args may still arrive, so they change only when it gets a result
	asked             bool   // a person was asked to approve it
	approved          bool   // a person approved it
	denied            bool   // a person refused it
	why               string // raw reason of that person, "" for none
	pending           bool   // it runs, or waits for a person, and keeps its id
	needsScreenshot   bool   // only a screenshot answers it

	firstResult, lastResult int // list of its results in order, -1 for none
	outcome                 int // 1 + the index of its outcome in the log, 0 for none
	nextOpen                int // next open call of the turn with its id, -1 for none

	changedID, changedName, changedArgs string // new values, "" for unchanged
	dropped                             string // reason for dropping the call, "" if it stays
	answer                              int    // the existing result that stays, -1 for none
	content                             string // raw content of the new result, "" for none
	reason                              string
	isError                             bool
	parent                              string // the id of the program that made the call
	leftOpen                            bool   // it stays without a result, as requested
}

type result struct {
	message, block int // block is its index among the blocks of its message
	id, name, kind string
	content        string // raw JSON
	raw            string // the raw block, if it is not a message
	idText         string // the key that has the id of its call, raw
	leading        bool   // only results precede the block in its message
	external       bool   // its call may be in another history
	placeholder    bool   // its text stands for a missing result
	copy           bool   // it is late, and repeats the result before it
	after          int    // the last turn before it, -1 for none
	call, next     int    // its call and the next result of that call, -1 for none
	disposition    disposition
	changedID      string // id of an orphan and of the call that is made for it
}

// disposition is what the repair does with a result.
type disposition byte

const (
	orphan    disposition = iota // not decided: no call was found
	answering                    // goes behind its call's turn
	asNote                       // becomes a text at its place, because it is late
	dropped
	kept    // stays unchanged at its place
	asText  // becomes a text at its place, because it is an orphan
	adopted // an orphan for which a call is made
)

type idState struct {
	turn                      int // last turn with a call of this id, -1 for none
	head, tail                int // list of that turn's calls without a result
	answered                  int // last call that got a result
	firstCall, calls, results int
	inFirstTurn               int  // number of calls in the turn of the first call
	differ                    bool // its calls differ in name or args
	lastEarly                 int  // last result that precedes all calls of this id
	earlyResults              int  // number of such results
}

func newHistory(d document, f format, o Options) *history {
	n := len(d.messages)
	p := providerOf(o.Provider)
	if o.IDs == "off" {
		p.name, p.id, p.unique = "", nil, false
	}
	h := &history{
		document: d, opts: o, provider: p, format: f,
		role: make([]role, n), idIndex: make(map[string]int, n/4), items: map[string]int{}, copies: map[int]bool{}, hosted: map[string]bool{}, approvals: map[string]int{}, lastUser: -1,
		turns: make([]turn, 0, n/2), calls: make([]call, 0, n/3), results: make([]result, 0, n/3),
		ids: make([]idState, 0, n/4),
	}
	for _, text := range append(placeholders(), o.Placeholders...) {
		h.placeholders = append(h.placeholders, compilePattern(text))
	}
	if f.about().shape == Gemini {
		h.byName = map[string]*nameQueue{}
	}
	return h
}

func (h *history) read() error {
	for m := range h.messages {
		h.format.read(h, m)
		if n := len(h.turns); n > 0 && h.turns[n-1].to-h.turns[n-1].from > h.opts.Limits.Calls {
			return overLimit("patch: message %d: the turn has more than %d calls", m, h.opts.Limits.Calls)
		}
	}
	h.indexTurns()
	return h.refusal
}

func (h *history) indexTurns() {
	h.signed = make([]int, len(h.turns)+1)
	for i, t := range h.turns {
		h.signed[i+1] = h.signed[i]
		if t.signed {
			h.signed[i+1]++
		}
		end := t.last + 1
		for end < len(h.role) && h.role[end].besideResults() {
			end++
		}
		h.turns[i].resultsEnd = end
	}
	h.inFlight = h.opts.Tail == "leave" && len(h.turns) > 0 && h.onlyResultsFrom(h.turns[len(h.turns)-1].last+1)
}

func (h *history) onlyResultsFrom(m int) bool {
	for ; m < len(h.role); m++ {
		if !h.role[m].besideResults() && !h.format.onlyResults(h, m) {
			return false
		}
	}
	return true
}

func (h *history) addTurn(m int) *turn {
	h.role[m] = assistant
	h.turns = append(h.turns, turn{first: m, last: m, from: len(h.calls), to: len(h.calls)})
	return &h.turns[len(h.turns)-1]
}

// extendTurn adds message m to the turn before it, or begins a turn if another message is
// in between.
func (h *history) extendTurn(m int) {
	if m == 0 || h.role[m-1] != assistant {
		h.addTurn(m)
		return
	}
	h.role[m], h.turns[len(h.turns)-1].last = assistant, m
}

// callIn returns the call in an object whose members have these names.
func callIn(object, id, name, args string) (c call) {
	scan(object, to{id, &c.idText}, to{name, &c.name}, to{args, &c.args})
	c.id, c.name = text(c.idText), text(c.name)
	return c
}

func (h *history) addCall(m int, c call) {
	t := &h.turns[len(h.turns)-1]
	c.turn, c.message = len(h.turns)-1, m
	c.firstResult, c.lastResult, c.nextOpen, c.answer = -1, -1, -1, -1
	h.calls = append(h.calls, c)
	t.to = len(h.calls)
}

// isCopy reports whether message m, which has an id and belongs to a turn if it is of the
// model, is a copy of an earlier one: some clients send an item or a message again. It goes,
// and results of its calls are those of the first one.
func (h *history) isCopy(m int, id string) bool {
	first, seen := h.items[id]
	if id == "" || !seen {
		h.items[id] = m
		return false
	}
	key := func(m int) argsKey { return keyOfValue(removeMember(h.at(m), "status")) }
	if key(first) != key(m) {
		return false
	}
	h.copies[m] = true
	h.op(Op{Op: "item_dropped", Turn: -1, Message: m, Call: -1, ID: id, Why: "duplicate_item", Hash: hash(h.at(m))})
	return true
}

func (h *history) addResult(m int, r result) {
	r.message, r.after, r.call, r.next = m, len(h.turns)-1, -1, -1
	r.external = h.continues
	r.placeholder = r.placeholder || h.isPlaceholder(r.content)
	h.results = append(h.results, r)
}

// late reports whether another turn began between a result and its call's turn. If
// late results are dropped, any message in between makes a result late.
func (h *history) late(r *result) bool {
	t := h.calls[r.call].turn
	return r.after > t || h.opts.Late == "drop" && r.message > h.turns[t].resultsEnd
}

func (h *history) signedBetween(c *call, after int) bool {
	return h.signed[after+1] > h.signed[c.turn+1]
}

func (h *history) op(op Op) { h.ops = append(h.ops, op) }

func (h *history) callOp(name string, c *call) Op {
	return Op{Op: name, Turn: c.turn, Message: c.message, Call: c.at, ID: c.finalID(), Name: c.finalName()}
}

func (h *history) resultOp(name string, r *result) Op {
	op := Op{Op: name, Turn: -1, Message: r.message, Call: -1, ID: r.id, Name: r.name}
	if r.call >= 0 {
		c := &h.calls[r.call]
		op.Turn, op.Call, op.ID, op.Name = c.turn, c.at, c.finalID(), c.finalName()
	}
	return op
}

func (h *history) resultsIn(m int) []result {
	from, to := equalRange(h.results, m, func(r *result) int { return r.message })
	return h.results[from:to]
}

// equalRange returns the part of a sorted list with a key.
func equalRange[T any](list []T, key int, of func(*T) int) (from, to int) {
	from = sort.Search(len(list), func(i int) bool { return of(&list[i]) >= key })
	to = from + sort.Search(len(list)-from, func(i int) bool { return of(&list[from+i]) > key })
	return from, to
}

func (c *call) finalID() string { return cmp.Or(c.changedID, c.id) }

// finalIDText returns the final id as a JSON string. An unchanged id keeps its
// bytes.
func (c *call) finalIDText() string {
	if c.changedID != "" || !strings.HasPrefix(c.idText, `"`) {
		return quote(c.finalID())
	}
	return c.idText
}

func (c *call) finalName() string { return cmp.Or(c.changedName, c.name) }

// real reports whether the new result is a tool's own.
func (c *call) real() bool { return c.reason == reasonGiven || c.reason == reasonLog }

func (c *call) changed() bool {
	return c.changedID != "" || c.changedName != "" || c.changedArgs != "" || c.dropped != ""
}

// rewritten returns the JSON object of the call, or a part of it, with the changed
// values. id, name and args are the names of the object's members, "" for a member
// that the object does not have.
func (c *call) rewritten(object, id, name, args string) string {
	if id != "" && c.changedID != "" {
		object = setMember(object, id, quote(c.changedID))
	}
	if name != "" && c.changedName != "" {
		object = setMember(object, name, quote(c.changedName))
	}
	if args != "" && c.changedArgs != "" {
		object = setMember(object, args, c.changedArgs)
	}
	return object
}

// directly reports whether only results are between the turn and a result.
func (t *turn) directly(r *result) bool { return r.message > t.last && r.message < t.resultsEnd }

func (h *history) callsOf(t *turn, m int) []call {
	calls := h.calls[t.from:t.to]
	from, to := equalRange(calls, m, func(c *call) int { return c.message })
	return calls[from:to]
}

func (h *history) changed(t *turn) bool {
	return slices.ContainsFunc(h.calls[t.from:t.to], func(c call) bool { return c.changed() })
}
