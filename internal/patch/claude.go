package patch

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
)

// claudeFormat is a session file of Claude Code, or its output as stream-json: rows of
// several types. Those of the types user and assistant have a message of Anthropic; one
// message of the model stands in a row for each block. A row of a session file names its
// parent. All other rows stay.
// https://docs.anthropic.com/en/docs/claude-code/sdk
type claudeFormat struct {
	anthropicFormat
	own   *facts
	lanes []string // of each message: the subagent that it is of, "" for none
}

func claudeCode() format {
	inner := anthropic().(blockShape).blockFormat.(anthropicFormat)
	return claudeFormat{anthropicFormat: inner, own: &facts{
		shape: ClaudeCode, server: inner.server, claims: "user.message assistant.message",
		knows: inner.claims + " " + inner.knows + " type:user type:assistant type:system type:result type:progress type:attachment type:stream_event " +
			"type:tool_progress type:tool_use_summary type:content-replacement type:control_request type:control_response",
	}}
}

func (f claudeFormat) about() *facts { return f.own }

func (f claudeFormat) message(c *call) string {
	return `{"type":"user","message":` + f.anthropicFormat.message(c) + `}`
}

func (claudeFormat) onlyResults(h *history, m int) bool { return h.role[m] == tool }

// row has what a row of a session file says about itself.
type row struct{ kind, uuid, parent, message, lane string }

func readRow(raw string) (r row) {
	var agent, side, tool string
	scan(raw, to{"type", &r.kind}, to{"uuid", &r.uuid}, to{"parentUuid", &r.parent}, to{"message", &r.message},
		to{"agentId", &agent}, to{"isSidechain", &side}, to{"parent_tool_use_id", &tool})
	r.kind, r.uuid, r.parent, r.lane = text(r.kind), text(r.uuid), text(r.parent), text(agent)+text(tool)
	switch {
	case !oneOf(r.kind, "user assistant"):
		r.message = ""
	case !strings.HasPrefix(r.message, "{"):
		r.message = "{}"
	}
	if side == "true" && r.lane == "" {
		r.lane = "?" // that of its parent
	}
	return r
}

// open sorts the rows: those of a subagent before those of the main one, and each row of
// a message behind its first one. A view is the message of a row.
func (f claudeFormat) open(d *document) format {
	rows, seen, lanes := make([]row, len(d.messages)), map[string]bool{}, map[string]string{}
	first, place := map[string]int{}, make([]int, len(d.messages)) // place of the row behind which each one goes
	order := make([]int, len(d.messages))
	for m := range d.messages {
		r := &rows[m]
		*r = readRow(d.at(m))
		if r.lane == "?" {
			if r.lane = lanes[r.parent]; r.lane == "" {
				r.lane = r.uuid
			}
		}
		lanes[r.uuid] = r.lane
		if seen[r.uuid] && r.uuid != "" { // a copy, as forked sessions have it
			r.message = ""
		}
		seen[r.uuid] = true
		order[m], place[m] = m, m
		if id := text(member(r.message, "id")); id != "" {
			if at, ok := first[r.lane+"\n"+id]; ok {
				place[m] = at
			} else {
				first[r.lane+"\n"+id] = m
			}
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		if x, y := rows[a].lane, rows[b].lane; x != y {
			return strings.Compare(y, x)
		}
		return place[a] - place[b]
	})
	messages := d.messages
	d.order, d.messages, d.views = order, make([]span, len(order)), make([]string, len(order))
	f.lanes = make([]string, len(order))
	for i, m := range order {
		d.messages[i], d.views[i], f.lanes[i] = messages[m], rows[m].message, rows[m].lane
	}
	return f
}

func (f claudeFormat) read(h *history, m int) {
	raw := h.at(m)
	role, content := f.roleOf(text(member(raw, "role"))), member(raw, "content")
	if raw == "" {
		h.role[m] = aside
		return
	}
	if isNull(content) || role == other {
		h.refuse(m, `its "message" has no "content" or no known role`)
	}
	if role == assistant {
		f.extendTurn(h, m)
	}
	h.role[m] = role
	results := 0
	for n, b := range elements(content) {
		switch r, ok := f.readResult(n, b); {
		case ok && role == user:
			h.addResult(m, r)
			results++
		case role == assistant && !ok:
			t := len(h.turns) - 1
			signed := f.readBlock(h, m, n, b)
			h.turns[t].signed = h.turns[t].signed || signed
		case ok, f.isCall(b):
			h.refuse(m, "a call or a result in a message of role %q", text(member(raw, "role")))
		}
	}
	if results > 0 && allResults(f, content) {
		h.role[m] = tool
	}
}

// extendTurn adds message m to the turn before it, if only asides of the same subagent are
// between them, or begins a turn.
func (f claudeFormat) extendTurn(h *history, m int) {
	before := m - 1
	for before >= 0 && h.role[before] == aside && f.lanes[before] == f.lanes[m] {
		before--
	}
	if before < 0 || h.role[before] != assistant || f.lanes[before] != f.lanes[m] {
		h.addTurn(m)
		return
	}
	h.turns[len(h.turns)-1].last = m
}

// render writes the rows in their order in the file. A result behind its call stays unless
// another turn is in between: Claude Code finds it.
func (f claudeFormat) render(h *history) {
	n := len(h.messages)
	w := claudeWriter{h: h, f: f, views: h.views, rows: make([]string, n), before: make([]string, n), behind: make([][]string, n), parents: map[string]parent{}}
	h.loops, h.serverErrors = h.serverLoops(), map[int][]serverError{} // of the views
	h.views = nil
	for m := range n {
		w.rows[m] = h.at(m)
	}
	for m := range n {
		w.edit(m)
	}
	for i := range h.calls {
		c := &h.calls[i]
		switch {
		case c.content != "":
			w.addRow(c, w.f.synthetic(c))
		case c.answer >= 0 && w.moves(c, &h.results[c.answer]):
			r := &h.results[c.answer]
			w.addRow(c, w.f.answer(h, c, r))
			op := h.resultOp("result_moved", r)
			op.From, op.To = strconv.Itoa(h.order[r.message]), strconv.Itoa(h.order[c.message])
			h.op(op)
		}
	}
	file := make([]int, n)
	for i, m := range h.order {
		file[m] = i
	}
	for _, m := range file {
		if w.before[m] != "" {
			h.add(w.before[m])
		}
		if raw := w.linked(m); raw != "" {
			h.put(m, raw)
		}
		for _, raw := range w.behind[m] {
			h.add(raw)
		}
	}
}

type claudeWriter struct {
	h       *history
	f       claudeFormat
	views   []string
	rows    []string   // the row of each message, "" if it goes
	before  []string   // a new row before each row, "" for none
	behind  [][]string // new rows behind each row
	parents map[string]parent
	t, r    int // the turn, the next result
}

// parent is the row that is the parent of the children of another one now.
type parent struct {
	uuid string // raw JSON
	gone bool   // the other one is gone
}

// edit changes the message of a row.
func (w *claudeWriter) edit(m int) {
	h, view := w.h, w.views[m]
	if h.role[m] == aside || h.role[m] == other {
		return
	}
	from, to := equalRange(h.calls, m, func(c *call) int { return c.message })
	now := editCalls(view, "content", h.calls[from:to], nil, w.f.call)
	now = editMember(now, "content", func(content string) string {
		return editElements(content, func(n int, block string) (string, bool) {
			if w.r == len(h.results) || h.results[w.r].message != m || h.results[w.r].block != n {
				return block, true
			}
			r := &h.results[w.r]
			w.r++
			return w.block(m, r)
		})
	})
	if h.role[m] == assistant {
		for w.t < len(h.turns)-1 && h.turns[w.t].last < m {
			w.t++
		}
		now = h.addServerResults(m, w.t, now)
	}
	row := readRow(w.rows[m])
	switch {
	case now == view:
	case isEmpty(member(now, "content")) && !strings.HasPrefix(member(now, "content"), `"`):
		above := member(w.rows[m], "parentUuid")
		if p, ok := w.parents[row.parent]; ok && p.gone {
			above = p.uuid
		}
		w.rows[m], w.parents[row.uuid] = "", parent{above, true}
	default:
		w.rows[m] = setMember(w.rows[m], "message", now)
	}
}

// block returns what a result is now, and whether it stays.
func (w *claudeWriter) block(m int, r *result) (string, bool) {
	switch r.disposition {
	case answering:
		if w.moves(&w.h.calls[r.call], r) {
			return "", false
		}
		return w.f.answer(w.h, &w.h.calls[r.call], r), true
	case kept:
		return r.raw, true
	case asNote, asText:
		return strings.Join(w.f.note(w.h, r), ","), true
	case adopted:
		call, result := w.f.adopt(r)
		uuid := w.uuid(w.rows[m], r.changedID)
		w.before[m] = newRow(w.rows[m], "assistant", uuid, member(w.rows[m], "parentUuid"), w.f.turn([]string{call}))
		w.rows[m] = setMember(w.rows[m], "parentUuid", uuid)
		return result, true
	}
	return "", false
}

// moves reports whether a result has another place than those of its call's turn.
func (w *claudeWriter) moves(c *call, r *result) bool { return r.after != c.turn }

// addRow adds a row with the result of a call. It is a child of the last row of the turn, and
// the parent of that row's children, so that every later row leads to it.
func (w *claudeWriter) addRow(c *call, block string) {
	last := w.h.turns[c.turn].last
	for last > c.message && w.rows[last] == "" {
		last--
	}
	row, above := w.rows[c.message], member(w.rows[last], "uuid")
	of := text(above)
	if n := len(w.behind[last]); n > 0 {
		above = member(w.behind[last][n-1], "uuid")
	}
	uuid := w.uuid(row, c.finalID())
	w.behind[last] = append(w.behind[last], newRow(row, "user", uuid, above, w.f.results(w.h, 0, []string{block})))
	w.parents[of] = parent{uuid: uuid}
}

// linked returns a row with its parent. A row that is not sent to a model keeps a parent that
// is there.
func (w *claudeWriter) linked(m int) string {
	row := readRow(w.rows[m])
	now, ok := w.parents[row.parent]
	if !ok || row.parent == "" {
		return w.rows[m]
	}
	if row.message == "" && row.kind != "attachment" && !now.gone {
		w.parents[row.uuid] = now
		return w.rows[m]
	}
	if below, more := w.parents[text(now.uuid)]; more && now.gone {
		now = below
	}
	return setMember(w.rows[m], "parentUuid", now.uuid)
}

// uuid returns the id of a new row as raw JSON, "" if the rows have none. It depends only
// on the row that it belongs to and on a call.
func (w *claudeWriter) uuid(row, call string) string {
	id := member(row, "uuid")
	if id == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(text(id) + "/" + call))
	sum[6], sum[8] = sum[6]&0x0f|0x80, sum[8]&0x3f|0x80 // version 8 of RFC 9562
	x := hex.EncodeToString(sum[:16])
	return quote(x[:8] + "-" + x[8:12] + "-" + x[12:16] + "-" + x[16:20] + "-" + x[20:])
}

// newRow returns a row that belongs to another one.
func newRow(of, kind, uuid, parent, message string) string {
	var b []string
	for name, v := range members(of) {
		switch name {
		case "type":
			v = quote(kind)
		case "message":
			v = message
		case "uuid":
			v = uuid
		case "parentUuid":
			v = parent
		case "isSidechain", "userType", "entrypoint", "cwd", "sessionId", "version", "gitBranch", "slug", "agentId", "timestamp",
			"session_id", "parent_tool_use_id":
		default:
			continue
		}
		b = append(b, quote(name)+":"+v)
	}
	if kind == "user" && parent != "" && member(of, "parentUuid") != "" {
		b = append(b, `"sourceToolAssistantUUID":`+member(of, "uuid"))
	}
	return "{" + strings.Join(b, ",") + "}"
}

// close puts the rows into their order in the file.
func (f claudeFormat) close(h *history) {
	at := func(m *int) {
		if *m >= 0 {
			*m = h.order[*m]
		}
	}
	messages := make([]span, len(h.messages))
	for i, m := range h.order {
		messages[m] = h.messages[i]
	}
	h.messages = messages
	for i := range h.out {
		at(&h.out[i].message)
	}
	for i := range h.ops {
		at(&h.ops[i].Message)
	}
	for i := range h.turns {
		at(&h.turns[i].first)
	}
	for i := range h.calls {
		at(&h.calls[i].message)
	}
	for i := range h.results {
		at(&h.results[i].message)
	}
}
