package lifecycle

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"streamer/internal/events"
)

// Memory is what a session remembers of closed calls and finished messages. It
// serves to recognise a late result, a repeated history, and an id that was used
// before. It is bounded: the oldest entries are forgotten first.
type Memory struct {
	Closed   []Closed
	Messages []string // ids of messages, human ones included
	Orphans  []Result
	Muted    []Muted
	Left     []Left
	Answers  *Answers // nil in a session without one
	// Ended: a message ended.
	Ended bool
	// Roles: the wire repeated the role in the middle of a message.
	Roles bool
	// Forgot: ids of messages were forgotten, so an unknown one may be that of a message
	// that began before.
	Forgot bool

	closed   map[string]int      // id or uid → number of entries in Closed with it; nil up to searched
	messages map[string]struct{} // the set of Messages; nil up to searched
}

// searched is the number of closed calls, or of message ids, up to which a search
// replaces a map. The map would take more memory than the rest of a new session.
const searched = 16

// Closed is a closed call.
type Closed struct {
	Call      string // "" of a call that only a repeated history had
	ID        string
	Name      string
	UID       string
	Synth     bool
	Message   string
	Namespace string
	Choice    int
	Index     string
	Run       string
	// Args is the fingerprint of the args, 0 where they were never complete.
	Args uint64
	// Real is the digest of the real result, "" where none came yet.
	Real string
	// Others are the digests of the last other results that were emitted.
	Others Digests
	// Task is the namespace in which its real result came, "" where that is its own.
	Task string
	// Child: the call that made it is known.
	Child bool
	// Began: some of its args came.
	Began bool
	// Reported: args that came after the call was closed were reported.
	Reported bool
}

// Digests are the digests of results, joined. They are those that contradict the
// result that counts.
type Digests string

const (
	digestLen = 32
	maxOthers = 8 // remembered per call
)

func (d Digests) has(digest string) bool {
	for ; len(d) >= digestLen; d = d[digestLen:] {
		if string(d[:digestLen]) == digest {
			return true
		}
	}
	return false
}

// add adds a digest. It reports false where the digest is present already.
func (d *Digests) add(digest string) bool {
	if d.has(digest) {
		return false
	}
	if len(*d) >= maxOthers*digestLen {
		*d = (*d)[digestLen:]
	}
	*d += Digests(digest)
	return true
}

// Muted identifies a muted message.
type Muted struct {
	Namespace string
	Message   string
	// Last is the time of its last input, of a message without an id.
	Last events.Time
}

const (
	maxMuted       = 100
	maxOrphanBytes = 1 << 20

	// muteSilence is the silence in ms after which a message without an id is
	// taken for another one.
	muteSilence events.Time = 2000
)

func (m *Memory) resume() {
	m.closed, m.messages = nil, nil
	m.index()
}

// index makes the maps that are missing.
func (m *Memory) index() {
	if m.closed == nil && len(m.Closed) > searched {
		m.closed = make(map[string]int, len(m.Closed))
		for i := range m.Closed {
			m.count(&m.Closed[i], 1)
		}
	}
	if m.messages == nil && len(m.Messages) > searched {
		m.messages = make(map[string]struct{}, len(m.Messages))
		for _, id := range m.Messages {
			m.messages[id] = struct{}{}
		}
	}
}

// Forget returns the memory of a session that was forgotten.
func (m *Memory) Forget() Memory { return Memory{Ended: true, Roles: m.Roles, Forgot: true} }

func (m *Memory) close(c Closed, limit int) {
	m.Closed = append(m.Closed, c)
	if m.closed != nil {
		m.count(&c, 1)
	}
	m.index()
	for len(m.Closed) > limit {
		if m.closed != nil {
			m.count(&m.Closed[0], -1)
		}
		m.Closed = m.Closed[1:]
	}
}

func (m *Memory) count(c *Closed, by int) {
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

func (m *Memory) find(id, namespace string) *Closed {
	if !m.used(id) {
		return nil
	}
	var best *Closed
	for i := len(m.Closed) - 1; i >= 0; i-- {
		c := &m.Closed[i]
		if (c.ID == id || c.UID == id) && (best == nil || proximity(c.Namespace, namespace) > proximity(best.Namespace, namespace)) {
			best = c
		}
	}
	return best
}

func (m *Memory) newest(match func(*Closed) bool) *Closed {
	for i := len(m.Closed) - 1; i >= 0; i-- {
		if c := &m.Closed[i]; match(c) {
			return c
		}
	}
	return nil
}

// closedIn returns the number of closed calls of a message with an id, and with a result
// that has a digest if that is not "".
func (m *Memory) closedIn(id, namespace, message, digest string) (n int) {
	if !m.used(id) {
		return 0
	}
	for i := range m.Closed {
		if c := &m.Closed[i]; c.ID == id && c.Message == message && c.Namespace == namespace && (digest == "" || c.Real == digest) {
			n++
		}
	}
	return n
}

// findByTool returns the closed call that a result without an id belongs to, or
// nil: the call that has this result, or else the oldest call of the tool that has
// none.
func (m *Memory) findByTool(r *Result) (found *Closed) {
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

func (m *Memory) used(id string) bool {
	if m.closed != nil {
		return m.closed[id] > 0
	}
	for i := range m.Closed {
		if c := &m.Closed[i]; c.ID == id || c.UID == id {
			return true
		}
	}
	return false
}

func (m *Memory) hasMessage(id string) bool {
	if m.messages == nil {
		return slices.Contains(m.Messages, id)
	}
	_, ok := m.messages[id]
	return ok
}

func (m *Memory) addMessage(id string, limit int) {
	if id == "" || m.hasMessage(id) {
		return
	}
	m.Messages = append(m.Messages, id)
	if m.messages != nil {
		m.messages[id] = struct{}{}
	}
	m.index()
	for len(m.Messages) > limit {
		m.Forgot = true
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

// muted reports whether a chunk of a message is muted. Where the wire has neither
// ids nor a beginning of messages, only a silence separates the next message from
// the rest of the muted one.
func (m *Memory) muted(ns, id string, now events.Time) bool {
	for i := range m.Muted {
		x := &m.Muted[i]
		if x.Namespace != ns || x.Message != id {
			continue
		}
		if id == "" {
			if now > x.Last+muteSilence {
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

func (m *Memory) hasOrphan(id string) bool {
	return slices.ContainsFunc(m.Orphans, func(o Result) bool { return o.ID == id })
}

// adopt removes and returns the first orphan with an id, or nil.
func (m *Memory) adopt(id string) *Result {
	for i, o := range m.Orphans {
		if o.ID == id {
			m.Orphans = append(m.Orphans[:i:i], m.Orphans[i+1:]...)
			return &o
		}
	}
	return nil
}

// digest returns a digest that identifies a result among those of a session, for
// which 16 bytes suffice.
func (r *Result) digest() string {
	var small [512]byte
	b := append(append(append(small[:0], r.Status...), 0), r.Content...)
	sum := sha256.Sum256(b)
	var text [digestLen]byte
	hex.Encode(text[:], sum[:digestLen/2])
	return string(text[:])
}
