package patch

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
)

// renameCalls sets an id for calls without one, makes the ids of one turn
// different, and applies the provider's rules for ids. The id of a call depends
// only on preceding calls and on those of its turn.
func (h *history) renameCalls() {
	if h.opts.Names == "fix" {
		for c := range h.calls {
			if call := &h.calls[c]; call.name == "" && h.format.hasName(call) {
				call.changedName = "unknown"
			}
		}
	}
	ids := renamer{h: h, turn: len(h.turns), taken: map[string]bool{}, inTurn: map[string]int{}, used: map[string]int{}}
	r := 0
	for c := range h.calls {
		for ; r < len(h.results) && h.results[r].message < h.calls[c].message; r++ {
			ids.adopt(&h.results[r])
		}
		if call := &h.calls[c]; call.dropped == "" && call.key == "" {
			ids.rename(call)
		}
	}
	for ; r < len(h.results); r++ {
		ids.adopt(&h.results[r])
	}
}

type renamer struct {
	h       *history
	turn    int
	taken   map[string]bool // ids in use: of this turn, or of all turns if ids must be unique
	turnIDs map[string]bool // original ids of the turn's calls, nil until needed
	inTurn  map[string]int  // number of uses of an id in the turn
	used    map[string]int  // number of uses of an id in all turns, if ids must be unique
}

func (n *renamer) rename(call *call) {
	if n.turn != call.turn {
		n.startTurn(call.turn)
	}
	id := call.id
	if id == "" {
		id = fmt.Sprintf("call_fix_%d_%d", call.turn, call.at)
	}
	now := id
	if keeps := call.id != "" && (call.answeredInside || call.pending); !keeps { // otherwise its result has the old id
		now = n.uniqueID(id)
	}
	n.record(id, now)
	if now == call.id && !isNull(call.idText) {
		return
	}
	call.changedID = now
	op := n.h.callOp("id_changed", call)
	op.From, op.To = text(call.idText), now
	n.h.op(op)
}

func (n *renamer) adopt(res *result) {
	if res.call >= 0 || n.h.opts.Orphans != "adopt" || res.id == "" && n.h.byName != nil {
		return
	}
	id := res.id
	if id == "" {
		id = "call_fix_orphan_" + strconv.Itoa(res.message) + "_" + strconv.Itoa(res.block)
	}
	if turn := -1 - res.message; n.turn != turn { // orphans of one message share a turn
		n.startTurn(turn)
	}
	res.changedID = n.uniqueID(id)
	n.record(id, res.changedID)
}

// startTurn begins a turn. Turns made for orphans have negative numbers.
func (n *renamer) startTurn(turn int) {
	n.turn, n.turnIDs = turn, nil
	clear(n.inTurn)
	if !n.h.provider.unique {
		clear(n.taken)
	}
}

func (n *renamer) record(id, now string) {
	n.inTurn[id]++
	n.taken[now] = true
	if n.h.provider.unique {
		n.used[id]++
	}
}

// uniqueID returns the id in the provider's form, or a variant if another call has
// it.
func (n *renamer) uniqueID(id string) string {
	for k := 1 + max(n.inTurn[id], n.used[id]); ; k++ {
		if now := n.h.provider.variant(id, k); !n.isTaken(id, now) {
			return now
		}
	}
}

func (n *renamer) isTaken(id, now string) bool {
	if n.taken[now] {
		return true
	}
	if now == id {
		return false
	}
	if n.turnIDs == nil {
		n.turnIDs = map[string]bool{}
		if n.turn >= 0 {
			for _, c := range n.h.calls[n.h.turns[n.turn].from:n.h.turns[n.turn].to] {
				n.turnIDs[c.id] = true
			}
		}
	}
	return n.turnIDs[now]
}

func (p provider) variant(id string, n int) string {
	if n > 1 && p.name == "mistral" {
		return mistralID(id + "#" + strconv.Itoa(n))
	}
	if n > 1 {
		id += "_" + strconv.Itoa(n)
	}
	if p.id == nil {
		return id
	}
	return p.id(id)
}

// hash returns a short hash that identifies dropped content in the report.
func hash(content string) string {
	sum := sha256.Sum256([]byte(content))
	return hex.EncodeToString(sum[:8])
}
