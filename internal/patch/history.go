package patch

import (
	"slices"
	"strings"
)

// history is what the rules see of a history: turns with calls, results, and
// everything else. A turn is an assistant message; in Responses it is an
// unbroken run of items by the model.
type history struct {
	document

	opts         Options
	provider     provider
	placeholders []pattern
	format       historyFormat

	role    []role // of each message
	turns   []turn
	calls   []call
	results []result
	signed  []int // how many of the first turns are signed

	inFlight bool // the last turn is left as it is

	idIndex map[string]int // place in slots
	ids     []idState

	ops    []Op
	out    []piece
	wanted []uint64 // results of the log that are not at hand

	answerBuffer []answer // of group
	callBuffer   []call   // of the calls of a LangChain message

	formOf int // 1 + the LangChain message whose form is remembered
	form   langchainForm
}

// role is what a message is to the rules.
type role byte

const (
	other role = iota
	user
	assistant
	tool // nothing but a result
)

type turn struct {
	first, last int // messages
	resultsEnd  int // the first message behind it that is not just a result
	from, to    int // calls
	signed      bool
}

// call is a tool call of a turn.
type call struct {
	turn, message, at int // at: which of its message's calls
	id, idText, name  string
	args              string // as they are written
	kind              string // of a Responses item, or LangChain's "invalid"
	view              int    // the places of a LangChain message that show it
	repeated          string // a member that the result has to repeat, "" for none
	broken            bool   // the args are no JSON
	answeredInside    bool   // its result is a part of a user's message, and stays there
	pending           bool   // it runs, or waits for a person
	needsScreenshot   bool   // nobody but a screenshot answers it

	firstResult, lastResult int // of its results, in order; -1 for none
	nextOpen                int // the next call of the turn with its id, while it is open; -1

	changedID, changedName, changedArgs string // what they become, "" for as they are
	dropped                             string // why, "" for not
	answer                              int    // the result that stays, -1 for none
	content                             string // of the result that is added, "" for none
	reason                              string
	isError                             bool
	parent                              string // the id of the program that made it
	leftOpen                            bool   // it stays without a result, on request
}

// result is a tool result, wherever it stands.
type result struct {
	message, block int // block: which of its message's blocks
	id, name, kind string
	content        string // as it is written
	raw            string // the block that it is, where it is no message
	leading        bool   // nothing but results stand in front of that block
	external       bool   // its call may stand in another history
	placeholder    bool   // it says that there is no result
	after          int    // the last turn that began in front of it, -1
	call, next     int    // whose it is, and the call's next one; -1
	disposition    disposition
	changedID      string // of an orphan and the call that is made for it
}

// fate is what becomes of a result.
type disposition byte

const (
	orphan    disposition = iota // there is no call
	answering                    // it stands behind its call's turn
	asNote                       // it becomes a text at its place
	dropped
	kept    // at its place, whatever that is worth
	asText  // an orphan as a text at its place
	adopted // an orphan with a call made for it
)

// slot is what the matching knows of an id.
type idState struct {
	turn                      int // the last that used it, -1
	head, tail                int // its calls that wait for a result
	answered                  int // its last call that got one
	firstCall, calls, results int
	inFirstTurn               int // its calls in the turn of the first
	lastEarly                 int // its last result that no call stood in front of
	earlyResults              int // how many there are of these
}

func newHistory(d document, f historyFormat, o Options) *history {
	n := len(d.messages)
	p := providerOf(o.Provider)
	if o.IDs == "off" {
		p.name, p.id, p.unique = "", nil, false
	}
	return &history{
		document: d, opts: o, provider: p, format: f,
		placeholders: compilePatterns(append(placeholders(), o.Placeholders...)),
		role:         make([]role, n), idIndex: make(map[string]int, n/4),
		turns: make([]turn, 0, n/2), calls: make([]call, 0, n/3), results: make([]result, 0, n/3),
		ids: make([]idState, 0, n/4),
	}
}

// read indexes all messages.
func (h *history) read() error {
	for m := range h.messages {
		h.format.read(h, m)
		if n := len(h.turns); n > 0 && h.turns[n-1].to-h.turns[n-1].from > h.opts.Limits.Calls {
			return overLimit("patch: message %d: the turn has more than %d calls", m, h.opts.Limits.Calls)
		}
	}
	h.indexTurns()
	return nil
}

// measure notes what is asked for often.
func (h *history) indexTurns() {
	h.signed = make([]int, len(h.turns)+1)
	for i, t := range h.turns {
		h.signed[i+1] = h.signed[i]
		if t.signed {
			h.signed[i+1]++
		}
		behind := t.last + 1
		for behind < len(h.role) && h.role[behind] == tool {
			behind++
		}
		h.turns[i].resultsEnd = behind
	}
	h.inFlight = h.opts.Tail == "leave" && len(h.turns) > 0 && h.onlyResultsFrom(h.turns[len(h.turns)-1].last+1)
}

func (h *history) onlyResultsFrom(m int) bool {
	for ; m < len(h.role); m++ {
		if h.role[m] != tool && !h.format.onlyResults(h, m) {
			return false
		}
	}
	return true
}

// addTurn begins a turn with message m.
func (h *history) addTurn(m int) *turn {
	h.role[m] = assistant
	h.turns = append(h.turns, turn{first: m, last: m, from: len(h.calls), to: len(h.calls)})
	return &h.turns[len(h.turns)-1]
}

// addCall adds a call of the last turn, in message m.
func (h *history) addCall(m int, c call) {
	t := &h.turns[len(h.turns)-1]
	c.turn, c.message = len(h.turns)-1, m
	c.firstResult, c.lastResult, c.nextOpen, c.answer = -1, -1, -1, -1
	h.calls = append(h.calls, c)
	t.to = len(h.calls)
}

func (h *history) addResult(m int, r result) {
	r.message, r.after, r.call, r.next = m, len(h.turns)-1, -1, -1
	r.external = h.continues
	r.placeholder = r.placeholder || h.isPlaceholder(r.content)
	h.results = append(h.results, r)
}

// late tells whether another turn began between a result and its call's; where
// late results are dropped, any other message makes it late.
func (h *history) late(r *result) bool {
	t := h.calls[r.call].turn
	return r.after > t || h.opts.Late == "drop" && r.message > h.turns[t].resultsEnd
}

// signedBetween tells whether reasoning that is bound to what stands before it
// stands between a call's turn and a late result.
func (h *history) signedBetween(c *call, after int) bool {
	return h.signed[after+1] > h.signed[c.turn+1]
}

func (h *history) op(op Op) { h.ops = append(h.ops, op) }

// callOp is an op about a call.
func (h *history) callOp(what string, c *call) Op {
	return Op{Op: what, Turn: c.turn, Message: c.message, Call: c.at, ID: c.finalID(), Name: c.finalName()}
}

// resultOp is an op about a result.
func (h *history) resultOp(what string, r *result) Op {
	op := Op{Op: what, Turn: -1, Message: r.message, Call: -1, ID: r.id, Name: r.name}
	if r.call >= 0 {
		c := &h.calls[r.call]
		op.Turn, op.Call, op.ID, op.Name = c.turn, c.at, c.finalID(), c.finalName()
	}
	return op
}

func (c *call) finalID() string {
	if c.changedID != "" {
		return c.changedID
	}
	return c.id
}

// newIDText is the new id as a JSON string; one that stays keeps its bytes.
func (c *call) finalIDText() string {
	if c.changedID != "" || !strings.HasPrefix(c.idText, `"`) {
		return quote(c.finalID())
	}
	return c.idText
}

func (c *call) finalName() string {
	if c.changedName != "" {
		return c.changedName
	}
	return c.name
}

// real tells whether the result that is added is a tool's own.
func (c *call) real() bool { return c.reason == reasonGiven || c.reason == reasonLog }

// changed tells whether the call itself is written anew.
func (c *call) changed() bool {
	return c.changedID != "" || c.changedName != "" || c.changedArgs != "" || c.dropped != ""
}

// rewritten returns the JSON object of the call, or of a part of it, with what
// changed. id, name and args are the names of the object's members, "" for one
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

// callsOf gives the calls in a message of a turn.
func (h *history) callsOf(t *turn, m int) []call {
	calls := h.calls[t.from:t.to]
	by := func(c call, m int) int { return c.message - m }
	from, _ := slices.BinarySearchFunc(calls, m, by)
	to, _ := slices.BinarySearchFunc(calls, m+1, by)
	return calls[from:to]
}

// changed tells whether a turn's calls are written anew.
func (h *history) changed(t *turn) bool {
	for c := t.from; c < t.to; c++ {
		if h.calls[c].changed() {
			return true
		}
	}
	return false
}
