package decode

import (
	"encoding/binary"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
	"unsafe"

	"streamer/internal/chunks"

	"github.com/tidwall/gjson"
)

// The deltas of a stream are alike: from one to the next only a fragment of
// text differs, and in another stream a few ids and counts. So the Reader keeps
// the text of a delta that was read the general way as a mould: literal text,
// with holes where those values stand. What fits a mould says what its first
// delta said, with other values, and is neither parsed nor checked nor
// recognised again, since outside the holes it is the same bytes.
//
// An event fits exactly, and then gives just what the general way gives, or it
// goes the general way. So moulds are no memory: what a Reader has seen before
// changes how fast it is and nothing else.

// hole says what the value in a hole is.
type hole uint8

const (
	noHole        hole = iota
	holeUnread         // nothing reads it, whatever scalar it is
	holeEcho           // the same, while there are args
	holeArgs           // becomes the Args of the chunk
	holeText           // becomes its Text
	holeMessage        // the id of the message
	holeNamespace      // of the message
	holeIndex          // of the call, or of the block
	holeKinds          // how many kinds there are
)

// mould is the text of a delta with holes.
type mould struct {
	format string // the remembered one
	name   string // of the SSE event
	parts  []mouldPart
	tail   string
	says   chunks.Chunk // without what is in the holes
	said   langSaid     // of langchain
}

// mouldPart is literal text and the hole behind it.
type mouldPart struct {
	literal string
	hole    hole
	number  bool // decimal digits, else the inside of a string
}

const (
	keptMoulds  = 12      // formats and kinds of deltas that a worker reads in turn
	mouldText   = 4 << 10 // bytes of an event that may become a mould
	mouldKeys   = 64      // of one object in it
	mouldPrice  = 8       // what a new mould costs of the credit that each event adds one to
	mouldCredit = 8 * mouldPrice
)

// moulds are those of a Reader.
type moulds struct {
	list   []*mould // the most useful ones first
	credit int      // streams that never repeat themselves must not make moulds all the time
	fit    *mould   // what the next piece is known to fit
	in     [holeKinds]string
}

// find looks for a mould that an event fits.
func (h *moulds) find(format, name, event string) bool {
	h.credit = min(h.credit+1, mouldCredit)
	for i, m := range h.list {
		if m.format == format && m.name == name && m.fits(event, &h.in) {
			if i > 0 {
				h.list[i-1], h.list[i] = m, h.list[i-1]
			}
			h.fit = m
			return true
		}
	}
	return false
}

// add takes a new mould; the least useful one gives way.
func (h *moulds) add(m *mould) {
	h.credit -= mouldPrice
	if len(h.list) == keptMoulds {
		h.list = h.list[:keptMoulds-1]
	}
	h.list = append(h.list, m)
}

// fits tells whether an event fits, and gives what is in its holes: an index as
// it stands, the others without their quotes.
func (m *mould) fits(event string, in *[holeKinds]string) bool {
	at := 0
	for i := range m.parts {
		p := &m.parts[i]
		if !strings.HasPrefix(event[at:], p.literal) {
			return false
		}
		at += len(p.literal)
		var end int
		if p.number {
			end = digitsEnd(event, at)
		} else {
			end = insideEnd(event, at)
		}
		switch {
		case end < 0:
			return false
		case p.hole <= holeEcho:
		case end == at:
			return false // an empty text is none
		case p.hole == holeIndex && !p.number:
			in[p.hole] = event[at-1 : end+1]
		default:
			in[p.hole] = event[at:end]
		}
		at = end
	}
	return event[at:] == m.tail
}

// digitsEnd gives the end of the decimal number without sign that begins at i,
// or -1.
func digitsEnd(s string, i int) int {
	start := i
	for i < len(s) && s[i] >= '0' && s[i] <= '9' {
		i++
	}
	if i == start || s[start] == '0' && i > start+1 {
		return -1
	}
	return i
}

// insideEnd gives the place of the quote that ends the string whose inside
// begins at i, or -1 where it is not valid.
func insideEnd(s string, i int) int {
	start, ascii := i, true
	for {
		// Eight bytes at once; the lowest mark is exact, one above it may be
		// false, because of a borrow.
		for len(s)-i >= 8 {
			w := load8(s, i)
			quote, slash := w^ones*'"', w^ones*'\\'
			special := ((quote - ones) | (slash - ones) | (w - ones*' ') | w) & (ones << 7)
			if special == 0 {
				i += 8
				continue
			}
			i += bits.TrailingZeros64(special) / 8
			break
		}
		if i >= len(s) {
			return -1
		}
		switch c := s[i]; {
		case c == '"':
			if !ascii && !utf8.ValidString(s[start:i]) {
				return -1
			}
			return i
		case c < ' ':
			return -1
		case c == '\\':
			n := escapeLen(s[i:])
			if n == 0 {
				return -1
			}
			i += n
		default:
			ascii = ascii && c < utf8.RuneSelf
			i++
		}
	}
}

const ones = 0x0101010101010101

// load8 reads eight bytes from i on, the first into the lowest.
func load8(s string, i int) uint64 {
	return binary.LittleEndian.Uint64(unsafe.Slice(unsafe.StringData(s), len(s))[i:])
}

// escapeLen gives the length of the escape that s begins with, 0 if it is none.
func escapeLen(s string) int {
	if len(s) < 2 {
		return 0
	}
	switch s[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if _, ok := hex4(s); ok {
			return 6
		}
	}
	return 0
}

// pour emits what the event says that was found to fit.
func (r *Reader) pour() {
	m, in := r.moulds.fit, &r.moulds.in
	r.moulds.fit = nil
	r.out = append(r.out, m.says)
	c := &r.out[len(r.out)-1]
	m.fill(r, c, in)
	switch m.format {
	case "anthropic":
		mem := partOf(&r.mem.Anthropic)
		c.Message = mem.Message
		if c.Kind == chunks.Fragment && mem.Kind == otherBlock && mem.Block == c.Index {
			r.out = r.out[:len(r.out)-1]
		}
	case "langchain":
		var was string
		if c.Message, was = partOf(&r.mem.LangChain).stream(c.Namespace, c.Message, m.said); was != "" {
			of := *c
			*c = chunks.Chunk{Kind: chunks.Rename, Namespace: of.Namespace, Message: of.Message, ID: was}
			r.emit(of)
		}
	}
}

// fill gives the chunk of the mould the values of an event.
func (m *mould) fill(r *Reader, c *chunks.Chunk, in *[holeKinds]string) {
	for i := range m.parts {
		p := &m.parts[i]
		if p.hole <= holeEcho {
			continue
		}
		value := in[p.hole]
		switch p.hole {
		case holeArgs:
			c.Args = r.plain(value)
		case holeText:
			c.Text = r.plain(value)
		case holeMessage:
			c.Message = r.plain(value)
		case holeNamespace:
			c.Namespace = r.plain(value)
		case holeIndex:
			if c.Kind == chunks.Fragment {
				c.Index = value
			} else if m.format == "anthropic" {
				c.Part, _ = strconv.Atoi(value) // 0 where it is a string
			}
		}
	}
}

// learn makes a mould of an event that was read the general way, where it said
// one piece of text, or of the args of a call that is there.
func (r *Reader) learn(p piece, f Frame) {
	if len(r.out) != 1 || len(p.text) > mouldText || r.moulds.credit < mouldPrice {
		return
	}
	if fm := find(r.mem.Format); fm == nil || fm.claims(f) == no {
		return // another one has read it
	}
	c := &r.out[0]
	switch c.Kind {
	case chunks.Fragment:
		if c.ID != "" || c.Name != "" {
			return
		}
	case chunks.Text, chunks.Reasoning:
	default:
		return
	}
	whole := valueOf(p.text)
	if isArray(whole) && !tuple(whole) {
		return // alone it would be a list of events
	}
	k := caster{event: p.text}
	said, ok := k.cast(r.mem.Format, f)
	if !ok {
		return
	}
	m := k.mould(c)
	m.format, m.name, m.said = strings.Clone(r.mem.Format), strings.Clone(p.name), said
	if m.proves(r, p.text, c) {
		r.moulds.add(m)
	}
}

// proves tells whether the mould gives its own event back: there is nothing in
// the chunk that it does not know the place of.
func (m *mould) proves(r *Reader, event string, want *chunks.Chunk) bool {
	var in [holeKinds]string
	if !m.fits(event, &in) {
		return false
	}
	got := m.says
	m.fill(r, &got, &in)
	if m.format != "openai-chat" { // whose message it is, memory says
		got.Message = want.Message
	}
	return got == *want
}

// caster finds the holes of an event.
type caster struct {
	event string
	found []mouldHole
	bad   bool // there is something that a mould could be wrong about
}

// mouldHole is a hole in an event: the digits of a number, the inside of a string.
type mouldHole struct {
	from, to int
	hole     hole
	number   bool
}

// mouldPlace is a value and where it stands in the event.
type mouldPlace struct {
	gjson.Result
	at int
}

// cast finds the holes, for a format whose general decoder reads these places
// and, of the texts among them, no others.
func (k *caster) cast(format string, f Frame) (said langSaid, ok bool) {
	at := mouldPlace{valueOf(k.event), 0}
	if !sameBytes(f.JSON.Raw, at.Raw) { // see unwrap
		outer := k.list(at)
		at = outer["data"]
		k.scalar(outer["id"], holeUnread)
	}
	if !sameBytes(f.JSON.Raw, at.Raw) {
		return said, false // what was read does not stand in the event as it is
	}
	switch format {
	case "openai-chat":
		k.walk("", at, openAIHole)
	case "anthropic":
		if member(at.Result, "type").Str != "content_block_delta" {
			return said, false
		}
		k.walk("", at, anthropicHole)
	case "langchain":
		said, ok = k.langChain(f.Name, at)
		if !ok {
			return said, false
		}
	default:
		return said, false
	}
	return said, k.sound()
}

// sameBytes tells whether a and b are the same bytes at the same place.
func sameBytes(a, b string) bool {
	return len(a) == len(b) && unsafe.StringData(a) == unsafe.StringData(b)
}

// sound tells whether each hole is found once, and one with a text.
func (k *caster) sound() bool {
	var n [holeKinds]int
	for _, f := range k.found {
		n[f.hole]++
	}
	for h := holeArgs; h < holeKinds; h++ {
		k.bad = k.bad || n[h] > 1
	}
	return !k.bad && n[holeArgs]+n[holeText] == 1 && (n[holeEcho] == 0 || n[holeArgs] == 1)
}

// mould makes a mould of the holes.
func (k *caster) mould(c *chunks.Chunk) *mould {
	event, at := strings.Clone(k.event), 0
	m := new(mould)
	slices.SortFunc(k.found, func(a, b mouldHole) int { return a.from - b.from })
	for _, f := range k.found {
		m.parts = append(m.parts, mouldPart{literal: event[at:f.from], hole: f.hole, number: f.number})
		at = f.to
	}
	m.tail = event[at:]
	m.says = chunks.Chunk{
		Kind: c.Kind, Namespace: strings.Clone(c.Namespace), Choice: c.Choice,
		Index: strings.Clone(c.Index), CallKind: strings.Clone(c.CallKind), Part: c.Part,
	}
	return m
}

// list gives the members of an object.
func (k *caster) list(v mouldPlace) map[string]mouldPlace {
	list := map[string]mouldPlace{}
	for m := members(v.Result); m.next(); {
		// Which of two members of the same name counts is the decoder's affair.
		if _, twice := list[m.key]; twice || len(list) == mouldKeys {
			k.bad = true
			break
		}
		list[strings.Clone(m.key)] = mouldPlace{m.value, v.at + m.at - len(m.value.Raw)}
	}
	return list
}

// items gives the elements of an array.
func (k *caster) items(v mouldPlace) (list []mouldPlace) {
	for e := elements(v.Result); e.next(); {
		list = append(list, mouldPlace{e.value, v.at + e.at - len(e.value.Raw)})
	}
	return list
}

// walk finds the holes in a value: paths are keys joined by dots, with a star
// for the elements of an array.
func (k *caster) walk(path string, v mouldPlace, hole func(path string) hole) {
	switch {
	case isObject(v.Result):
		seen := k.list(v)
		for m := members(v.Result); m.next() && !k.bad; {
			if strings.ContainsAny(m.key, ".*") {
				continue // it must not pass for a path
			}
			k.walk(join(path, m.key), seen[m.key], hole)
		}
	case isArray(v.Result):
		for _, e := range k.items(v) {
			k.walk(join(path, "*"), e, hole)
		}
	default:
		k.scalar(v, hole(path))
	}
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// scalar notes a hole where v is a value that can be in one.
func (k *caster) scalar(v mouldPlace, h hole) {
	end := v.at + len(v.Raw)
	switch {
	case h == noHole:
	case v.Type == gjson.String && (h == holeUnread || len(v.Raw) > 2):
		k.found = append(k.found, mouldHole{v.at + 1, end - 1, h, false})
	case v.Type == gjson.Number && (h == holeIndex || h == holeUnread) && digitsEnd(k.event, v.at) == end:
		k.found = append(k.found, mouldHole{v.at, end, h, true})
	}
}

func openAIHole(path string) hole {
	switch path {
	case "id":
		return holeMessage
	case "created", "model", "system_fingerprint", "service_tier", "provider", "obfuscation":
		return holeUnread
	case "choices.*.delta.content", "choices.*.delta.reasoning_content", "choices.*.delta.reasoning":
		return holeText
	case "choices.*.delta.tool_calls.*.function.arguments":
		return holeArgs
	case "choices.*.delta.tool_calls.*.index":
		return holeIndex
	}
	return noHole
}

func anthropicHole(path string) hole {
	switch path {
	case "delta.partial_json":
		return holeArgs
	case "delta.text", "delta.thinking":
		return holeText
	case "index":
		return holeIndex
	}
	return noHole
}

// langChain finds the message, and its metadata, in the forms of modes that
// langDelta reads.
func (k *caster) langChain(name string, v mouldPlace) (said langSaid, ok bool) {
	mode, _, _ := strings.Cut(name, "|")
	var above mouldPlace
	switch {
	case name != "":
	case isArray(v.Result):
		mode, above, v = k.langTuple(v)
	case langPart(v.Result):
		parts := k.list(v)
		mode, v = parts["type"].Str, parts["data"]
	default:
		mode = "messages"
	}
	if mode != "messages" && mode != "messages-tuple" {
		return said, false
	}
	msg := v
	if isArray(v.Result) {
		both := k.items(v)
		if len(both) != 2 {
			return said, false
		}
		msg = both[0]
		if k.langMetadata(both[1]) {
			k.walk("", above, func(string) hole { return holeUnread })
		}
	}
	m := readLangMessage(msg.Result)
	if m.kind != langChunk {
		return said, false
	}
	fields := k.list(msg)
	inner, at := 0, msg
	for _, key := range [...]string{"kwargs", "data"} {
		if isObject(fields[key].Result) {
			inner, at = inner+1, fields[key]
		}
	}
	k.walk("", at, langHole)
	return langSays(&m, langEnd{}), inner < 2
}

// langTuple gives the mode of an event that is an array, its payload, and the
// namespace that stands before them, if one does.
func (k *caster) langTuple(v mouldPlace) (mode string, above, payload mouldPlace) {
	list := k.items(v)
	if len(list) == 3 && isArray(list[0].Result) {
		above, list = list[0], list[1:]
	}
	switch {
	case len(list) != 2:
		return "", above, v
	case isString(list[0].Result):
		return list[0].Str, above, list[1]
	}
	return "messages", above, v
}

// langMetadata finds the namespace of a message in its metadata, and tells
// whether there is one, which counts more than any that stands elsewhere.
func (k *caster) langMetadata(v mouldPlace) bool {
	first, n := "checkpoint_ns", len(k.found)
	if _, ok := k.list(v)["langgraph_checkpoint_ns"]; ok {
		first = "langgraph_checkpoint_ns"
	}
	k.walk("", v, func(path string) hole {
		if path == first {
			return holeNamespace
		}
		return holeUnread
	})
	return slices.ContainsFunc(k.found[n:], func(f mouldHole) bool { return f.hole == holeNamespace })
}

func langHole(path string) hole {
	switch path {
	case "id":
		return holeMessage
	case "content", "content.*", "content.*.text", "content.*.thinking", "content.*.reasoning",
		"content.*.reasoning_content", "content.*.reasoning_content.text", "content.*.reasoning.text",
		"content.*.thinking.text", "additional_kwargs.reasoning_content":
		return holeText
	case "tool_call_chunks.*.args":
		return holeArgs
	case "tool_call_chunks.*.index":
		return holeIndex
	case "content.*.partial_json", "content.*.input", "invalid_tool_calls.*.args",
		"additional_kwargs.tool_calls.*.function.arguments":
		return holeEcho
	}
	return noHole
}
