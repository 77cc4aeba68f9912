package patch

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
)

// renameCalls gives an id to calls that have none, tells calls of one turn
// apart that share one, and does what the provider wants of ids. Only calls in
// front of a call, and those of its turn, have a say in its id.
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
		if call := &h.calls[c]; call.dropped == "" {
			ids.rename(call)
		}
	}
	for ; r < len(h.results); r++ {
		ids.adopt(&h.results[r])
	}
}

// renaming is the state of a walk over all calls.
type renamer struct {
	h       *history
	turn    int
	taken   map[string]bool // the ids that calls got: of this turn or, where they are unique, of all
	turnIDs map[string]bool // the ids that the turn's calls came with, once one is to be avoided
	inTurn  map[string]int  // how often the turn has used an id
	used    map[string]int  // how often any has, where ids are unique
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
	if stays := call.id != "" && (call.answeredInside || call.pending); !stays { // else its result has the old one
		now = n.uniqueID(id)
	}
	n.record(id, now)
	if now == call.id && call.idText != "" {
		return
	}
	call.changedID = now
	op := n.h.callOp("id_changed", call)
	op.From, op.To = text(call.idText), now
	n.h.op(op)
}

// adopt gives an orphan the id that it shares with the call made for it.
func (n *renamer) adopt(res *result) {
	if res.call >= 0 || n.h.opts.Orphans != "adopt" {
		return
	}
	id := res.id
	if id == "" {
		id = "call_fix_orphan_" + strconv.Itoa(res.message) + "_" + strconv.Itoa(res.block)
	}
	if turn := -1 - res.message; n.turn != turn { // those of one message share a turn
		n.startTurn(turn)
	}
	res.changedID = n.uniqueID(id)
	n.record(id, res.changedID)
}

// begin begins a turn; one that is made for orphans is below 0.
func (n *renamer) startTurn(turn int) {
	n.turn, n.turnIDs = turn, nil
	clear(n.inTurn)
	if !n.h.provider.unique {
		clear(n.taken)
	}
}

// give notes what a call with the id is called now.
func (n *renamer) record(id, now string) {
	n.inTurn[id]++
	n.taken[now] = true
	if n.h.provider.unique {
		n.used[id]++
	}
}

// unlike gives the id or, where it is taken, a variant of it.
func (n *renamer) uniqueID(id string) string {
	for k := 1 + max(n.inTurn[id], n.used[id]); ; k++ {
		if now := n.h.provider.variant(id, k); !n.isTaken(id, now) {
			return now
		}
	}
}

// taken tells whether another call has the id that one of id is to get.
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

// variant is the id by the provider's rule, and for n above 1 another one.
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

// hash names content that was dropped.
func hash(content string) string {
	sum := sha256.Sum256([]byte(content))
	return hex.EncodeToString(sum[:8])
}
