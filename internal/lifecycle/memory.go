package lifecycle

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"streamer/internal/events"
)

// Memory is what a session remembers of what is over: enough to know a late
// result, a repeated history, an id used before. It is bounded; the oldest is
// forgotten first.
type Memory struct {
	Closed   []Closed `json:"closed,omitempty"`
	Messages []string `json:"messages,omitempty"` // ids of messages, human ones included
	Orphans  []Result `json:"orphans,omitempty"`
	Muted    []Muted  `json:"muted,omitempty"`

	closed   map[string]int      // id or uid → how many of Closed have it
	messages map[string]struct{} // = Messages, where there are many
}

// few messages are looked through; a map of them would take more room than
// all else of a session that has just begun.
const few = 16

// Closed is a call that is over.
type Closed struct {
	Call      string `json:"call,omitempty"` // "" of one that is only known from a history
	ID        string `json:"id"`
	Name      string `json:"name,omitempty"`
	UID       string `json:"uid,omitempty"`
	Synth     bool   `json:"synth,omitempty"`
	Message   string `json:"message,omitempty"`
	Namespace string `json:"ns,omitempty"`
	Choice    int    `json:"choice,omitempty"`
	Index     string `json:"index,omitempty"`
	Run       string `json:"run,omitempty"`
	// Args is the fingerprint of its args, 0 where they were never complete.
	Args uint64 `json:"args,omitempty"`
	// Real is the digest of the real result, "" where there was none yet.
	Real string `json:"real,omitempty"`
	// Others are the digests of other results that were told, the last few.
	Others Digests `json:"others,omitempty"`
}

// Digests are those of results that contradicted the one that counts, one
// behind the other.
type Digests string

const (
	digestLen = 32
	maxOthers = 8 // that are remembered
)

func (d Digests) has(digest string) bool {
	for ; len(d) >= digestLen; d = d[digestLen:] {
		if string(d[:digestLen]) == digest {
			return true
		}
	}
	return false
}

// note adds a digest; false if it is there already.
func (d *Digests) note(digest string) bool {
	if d.has(digest) {
		return false
	}
	if len(*d) >= maxOthers*digestLen {
		*d = (*d)[digestLen:]
	}
	*d += Digests(digest)
	return true
}

// Muted names a message of which nothing more is taken.
type Muted struct {
	Namespace string `json:"ns,omitempty"`
	Message   string `json:"id,omitempty"`
	// Last is when something of it came last; of a message without an id.
	Last events.Time `json:"last,omitempty"`
}

const (
	maxMuted       = 100
	maxOrphanBytes = 1 << 20

	muteLapse events.Time = 2000 // ms
)

func (m *Memory) resume() {
	m.closed, m.messages = nil, nil
	for _, c := range m.Closed {
		m.count(c, 1)
	}
	m.look()
}

// look makes the map of many messages.
func (m *Memory) look() {
	if len(m.Messages) <= few {
		return
	}
	m.messages = make(map[string]struct{}, len(m.Messages))
	for _, id := range m.Messages {
		m.messages[id] = struct{}{}
	}
}

func (m *Memory) close(c Closed, limit int) {
	m.Closed = append(m.Closed, c)
	m.count(c, 1)
	for len(m.Closed) > limit {
		m.count(m.Closed[0], -1)
		m.Closed = m.Closed[1:]
	}
}

// count notes that there is one more or less with the names of c.
func (m *Memory) count(c Closed, by int) {
	if m.closed == nil {
		m.closed = map[string]int{}
	}
	add := func(id string) {
		if m.closed[id] += by; m.closed[id] == 0 {
			delete(m.closed, id)
		}
	}
	add(c.ID)
	if c.UID != c.ID {
		add(c.UID)
	}
}

// find gives the newest closed call with an id or uid, narrowed to a namespace where
// one of it has that, or nil.
func (m *Memory) find(id, namespace string) *Closed {
	if m.closed[id] == 0 {
		return nil
	}
	var best *Closed
	for i := len(m.Closed) - 1; i >= 0; i-- {
		c := &m.Closed[i]
		if (c.ID == id || c.UID == id) && (best == nil || near(c.Namespace, namespace) > near(best.Namespace, namespace)) {
			best = c
		}
	}
	return best
}

// repeats tells whether a call of a full message, under an id of the message
// that is not that of the call, is one that is closed.
func (m *Memory) repeats(id string, same func(*Closed) bool) bool {
	for i := len(m.Closed) - 1; m.closed[id] > 0 && i >= 0; i-- {
		if c := &m.Closed[i]; c.ID == id && same(c) {
			return true
		}
	}
	return false
}

// named gives the closed call that a result without an id belongs to, or nil:
// the one that has had it, else the oldest of its tool that still lacks one.
func (m *Memory) named(r *Result) (found *Closed) {
	digest := r.digest()
	for i := len(m.Closed) - 1; i >= 0; i-- {
		c := &m.Closed[i]
		switch {
		case c.Name != r.Name || c.Namespace != r.Namespace:
		case c.Real == digest, c.Others.has(digest):
			return c
		case c.Real == "":
			found = c
		}
	}
	return found
}

// call gives the closed call of that name, or nil.
func (m *Memory) call(call string) *Closed {
	for i := len(m.Closed) - 1; i >= 0; i-- {
		if m.Closed[i].Call == call {
			return &m.Closed[i]
		}
	}
	return nil
}

func (m *Memory) used(id string) bool { return m.closed[id] > 0 }

func (m *Memory) sawMessage(id string) bool {
	if m.messages == nil {
		return slices.Contains(m.Messages, id)
	}
	_, ok := m.messages[id]
	return ok
}

func (m *Memory) seeMessage(id string, limit int) {
	if id == "" || m.sawMessage(id) {
		return
	}
	m.Messages = append(m.Messages, id)
	if m.messages == nil {
		m.look()
	} else {
		m.messages[id] = struct{}{}
	}
	for len(m.Messages) > limit {
		delete(m.messages, m.Messages[0])
		m.Messages = m.Messages[1:]
	}
}

func (m *Memory) mute(ns, id string, now events.Time) {
	if m.muted(ns, id, now) {
		return
	}
	mute := Muted{Namespace: ns, Message: id}
	if id == "" {
		mute.Last = now
	}
	m.Muted = append(m.Muted, mute)
	if len(m.Muted) > maxMuted {
		m.Muted = m.Muted[1:]
	}
}

// muted tells whether a chunk that comes now is of a message of which nothing
// more is taken. Where the wire has no ids, and nothing that marks a beginning,
// a silence is all that tells the next message from the rest of the muted one.
func (m *Memory) muted(ns, id string, now events.Time) bool {
	for i := range m.Muted {
		x := &m.Muted[i]
		if x.Namespace != ns || x.Message != id {
			continue
		}
		if id == "" {
			if now > x.Last+muteLapse {
				m.unmute(ns, id)
				return false
			}
			x.Last = now
		}
		return true
	}
	return false
}

func (m *Memory) unmute(ns, id string) {
	for i, x := range m.Muted {
		if x.Namespace == ns && x.Message == id {
			m.Muted = append(m.Muted[:i:i], m.Muted[i+1:]...)
			return
		}
	}
}

// remember keeps an orphan; false if the very same one is kept already.
func (m *Memory) remember(r Result, limit int) bool {
	for _, o := range m.Orphans {
		if o.ID == r.ID && o.digest() == r.digest() {
			return false
		}
	}
	m.Orphans = append(m.Orphans, r)
	size := 0
	for _, o := range m.Orphans {
		size += len(o.Content)
	}
	for len(m.Orphans) > limit || size > maxOrphanBytes && len(m.Orphans) > 1 {
		size -= len(m.Orphans[0].Content)
		m.Orphans = m.Orphans[1:]
	}
	return true
}

// adopt takes out the first orphan for a call that starts.
func (m *Memory) adopt(id string) *Result {
	for i, o := range m.Orphans {
		if o.ID == id {
			m.Orphans = append(m.Orphans[:i:i], m.Orphans[i+1:]...)
			return &o
		}
	}
	return nil
}

// digest tells real results apart; 16 bytes are enough to do so.
func (r *Result) digest() string {
	h := sha256.New()
	h.Write([]byte(r.Status))
	h.Write([]byte{0})
	h.Write(r.Content)
	return hex.EncodeToString(h.Sum(nil)[:digestLen/2])
}

// near tells how near two namespaces are. Nearer is what shares more segments
// from the root, so that a result of "a:1|tools:2" is nearer to a call of
// "a:1|agent:3" than to one of "b:1|agent:4"; then what is as deep: one of
// "tools:2" is nearer to a call of "agent:3" than to one below a subgraph. The
// same namespace is nearest.
func near(a, b string) int {
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

// segment is more than the segments of a namespace.
const segment = 1 << 13

func depth(namespace string) int {
	if namespace == "" {
		return 0
	}
	return strings.Count(namespace, "|") + 1
}
