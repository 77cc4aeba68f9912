package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"streamer/internal/broker"
	"streamer/internal/broker/eventlog"
	"streamer/internal/decode"
	"streamer/internal/events"
	"streamer/internal/inputs"
	"streamer/internal/lifecycle"
	"streamer/internal/session"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"
	"github.com/tidwall/gjson"
)

// The model runs the worker's own code, two owners of one partition, over two
// logs in memory. It decides what happens next: which owner folds; which publish
// arrives, arrives twice, or has its answer lost or late; which operation reads
// the logs and when its owner takes the result; which owner writes snapshots,
// moves the checkpoint, evicts sessions, looks at its timers or dies; when a server that
// was cut off from the others answers reads of snapshots; when a power
// failure takes the end of a log, and when a message is forged. Whatever the
// order, the events in the log must be the fold of the inputs in the end.

// TestModel runs random schedules. STREAMER_MODEL is their number.
func TestModel(t *testing.T) {
	n := 500
	if s := os.Getenv("STREAMER_MODEL"); s != "" {
		var err error
		if n, err = strconv.Atoi(s); err != nil {
			t.Fatal("STREAMER_MODEL: ", err)
		}
	}
	first := uint64(time.Now().UnixNano())
	if s := os.Getenv("STREAMER_SEED"); s != "" {
		n = 1
		var err error
		if first, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatal("STREAMER_SEED: ", err)
		}
	}
	steps := 0
	for i := range n {
		synctest.Test(t, func(t *testing.T) { // outdated answers are asked for again for seconds
			m := newModel(first+uint64(i), true)
			m.replicated = true
			m.stepping = (first+uint64(i))%2 == 1
			err := m.run()
			steps += m.steps
			if err != nil {
				t.Fatalf("STREAMER_SEED=%d: %v", first+uint64(i), err)
			}
		})
	}
	t.Logf("%d schedules, %d steps", n, steps)
}

// TestModelControl checks that the model finds a failing schedule if appends have no
// conditions. Otherwise TestModel would prove nothing.
func TestModelControl(t *testing.T) {
	failed := false
	for i := uint64(0); i < 500 && !failed; i++ {
		synctest.Test(t, func(*testing.T) { failed = newModel(i, false).run() != nil })
	}
	if failed {
		return
	}
	t.Error("none of 500 schedules without conditions failed")
}

type model struct {
	rnd       *rand.Rand
	condition bool
	steps     int
	now       time.Time
	// stepping: the clock of the server that stores inputs is set at times, and skew is
	// how far it is ahead.
	stepping bool
	skew     time.Duration

	inputs     []inputs.Input
	ids        map[string]uint64 // message ids of inputs
	log        []stored          // the event log; a lost place has no token
	snapshots  map[string]kept
	past       []pastSnapshots // for outdated answers
	checkpoint broker.Checkpoint
	rev        uint64
	// checkpointRev is the revision of checkpoint.
	checkpointRev uint64
	// rewound has the times at which the input log lost its end.
	rewound []time.Time
	// powered is set when the event log has lost its end.
	powered bool

	owners [2]*modelOwner
	epoch  uint64
	// replicated makes reads of snapshots outdated sometimes.
	replicated bool
	// outdated is how many answers about snapshots are the oldest in past.
	outdated int
	todo     []string // inputs that clients still publish
}

type stored struct {
	token string
	id    events.ID
	kind  events.Type
	call  string
	body  string

	forged bool // no event: another client published it
	at     time.Time
}

type kept struct {
	rev    uint64
	header map[string]string
	data   []byte
}

// pastSnapshots are the snapshots as they were when rev was the last revision.
type pastSnapshots struct {
	rev uint64
	of  map[string]kept
}

// modelOwner is an owner of the partition and what it has under way.
type modelOwner struct {
	m      *model
	q      *partition
	flying []*broker.Pub
	acks   []broker.Ack
	// operations were started and did not run yet. The results of finished were not
	// delivered to the owner yet.
	operations []func()
	finished   []finished
	atOnce     bool // operations run as soon as they are started
}

func newModel(seed uint64, condition bool) *model {
	m := &model{
		rnd: rand.New(rand.NewPCG(seed, 7)), condition: condition, now: time.Now().Truncate(time.Millisecond),
		ids: map[string]uint64{}, snapshots: map[string]kept{}, epoch: 1,
	}
	rules, err := json.Marshal(modelRules())
	if err != nil {
		panic(err)
	}
	m.append("", inputs.Rules, rules)
	m.checkpoint = broker.Checkpoint{Seq: 2, Rules: rules}
	for i := range 4 + m.rnd.IntN(8) {
		n := m.rnd.IntN(3)
		switch m.rnd.IntN(6) {
		case 0:
			m.todo = append(m.todo, "result "+fmt.Sprintf(result, n))
		case 1:
			m.todo = append(m.todo, "interrupt {}")
		case 2:
			m.todo = append(m.todo, `delta {"id":"t`+fmt.Sprint(i)+`","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"role":"assistant","content":"hello"}}]}`)
		case 3:
			m.todo = append(m.todo, m.fragments(i)...)
		default:
			m.todo = append(m.todo, "delta "+fmt.Sprintf(callDelta, i, n))
		}
	}
	return m
}

// fragments returns the inputs of a session that have the args of a call. Those between
// the first and the last may give no event.
func (m *model) fragments(i int) (list []string) {
	token := []string{"a", "b"}[m.rnd.IntN(2)]
	for _, f := range []string{`"id":"f%[1]d","function":{"name":"f","arguments":"["}`, `"function":{"arguments":"1,"}`, `"function":{"arguments":"2,"}`, `"function":{"arguments":"3]"}`} {
		list = append(list, token+fmt.Sprintf(`/delta {"id":"f%[1]d","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,`+f+`}]}}]}`, i))
	}
	return list
}

func (m *model) run() error {
	for i := range m.owners {
		if err := m.birth(i); err != nil {
			return err
		}
	}
	for range 60 + m.rnd.IntN(120) {
		m.steps++
		m.pass(time.Duration(m.rnd.IntN(60)) * time.Millisecond)
		if err := m.step(); err != nil {
			return err
		}
		for _, o := range m.owners {
			if n := o.q.status.diverged.Load(); n > 0 {
				return fmt.Errorf("%d stored events are not what their inputs give", n)
			}
			if err := tallied(o.q); err != nil {
				return err
			}
		}
	}
	return m.settle()
}

// step runs one random step. An owner that finds that another recorded a rewind
// starts again.
func (m *model) step() error {
	i := m.rnd.IntN(2)
	err := m.act(m.owners[i])
	if startsAgain(err) {
		return m.birth(i)
	}
	return err
}

// startsAgain reports whether an owner starts again after an error, as keep starts a
// partition again.
func startsAgain(err error) bool {
	return errors.Is(err, errRewinds) || errors.Is(err, errShort) || errors.Is(err, broker.ErrConflict)
}

func (m *model) act(o *modelOwner) error {
	switch m.rnd.IntN(22) {
	case 0, 1:
		m.client()
		return nil
	case 2, 3, 4:
		return o.fold(1 + m.rnd.IntN(3))
	case 5, 6, 7:
		o.arrive()
		return nil
	case 8, 9, 10:
		return o.receive()
	case 11:
		return o.writeSnapshots()
	case 12:
		o.q.advance(context.Background())
		return nil
	case 13:
		o.q.evictor.evict(time.Now().Add(time.Hour))
		if m.rnd.IntN(2) == 0 {
			o.q.sessions.compressed.clear()
		}
		return nil
	case 14:
		return o.q.ring(context.Background(), m.now)
	case 15, 16, 17:
		o.operate()
		return nil
	case 18, 19, 20:
		return o.finish()
	}
	switch m.rnd.IntN(6) {
	case 0:
		return m.birth(m.rnd.IntN(2))
	case 1:
		return m.powerLoss()
	case 4:
		if m.stepping { // a rewind is found by stored times, which must grow
			m.skew = []time.Duration{0, time.Hour, -time.Hour, 2 * time.Second}[m.rnd.IntN(4)]
			return nil
		}
		return m.rewind()
	case 5:
		return m.loseSnapshot()
	case 3:
		m.log = append(m.log, stored{token: []string{"a", "b"}[m.rnd.IntN(2)], forged: true})
	case 2: // time passes: deadlines, silence
		m.pass(time.Duration(m.rnd.IntN(2000)) * time.Millisecond)
	}
	return nil
}

// pass lets time pass, the time of the bubble.
func (m *model) pass(d time.Duration) {
	time.Sleep(d)
	m.now = time.Now()
}

// settle lets one owner process everything, and compares the logs.
func (m *model) settle() error {
	for len(m.todo) > 0 {
		m.client()
	}
	if err := m.birth(0); err != nil {
		return err
	}
	o := m.owners[0]
	m.past = nil // listings are up to date from here on
	if err := o.list(); err != nil && !startsAgain(err) {
		return err
	}
	for range 2000 {
		o = m.owners[0]
		err := o.work()
		if startsAgain(err) {
			err = m.birth(0)
			m.past = nil
		}
		if err != nil {
			return err
		}
		if len(o.q.held.of) > 0 {
			// The other owner may still be writing.
			if err := m.recover(); err != nil && !startsAgain(err) {
				return err
			}
			continue
		}
		if _, ok := o.q.clock.next(); !ok && o.q.reading.pos > uint64(len(m.inputs)) && len(o.q.loads.of) == 0 {
			if len(m.rewound) > 0 {
				return m.consistent()
			}
			return m.compare()
		}
	}
	return fmt.Errorf("it does not come to rest: position %d, %d inputs, %d sessions being loaded, timers %v", o.q.reading.pos, len(m.inputs), len(o.q.loads.of), o.q.clock.at)
}

// compare folds all inputs and compares the events with the event log.
func (m *model) compare() error {
	want, got := map[string][]string{}, map[string][]string{}
	states := map[string]*session.State{}
	for i := range m.inputs {
		in := &m.inputs[i]
		if in.Kind == inputs.Rules {
			continue
		}
		if states[in.Token] == nil {
			states[in.Token] = new(session.State)
		}
		for _, e := range session.Fold(nil, states[in.Token], sessionInput(in, in.Seq, modelRules(), new(decode.Reader))) {
			body, err := e.Body()
			if err != nil {
				return err
			}
			want[in.Token] = append(want[in.Token], e.EventID.String()+" "+string(body))
		}
	}
	for _, s := range m.log {
		if s.token != "" && !s.forged {
			got[s.token] = append(got[s.token], s.id.String()+" "+s.body)
		}
	}
	for _, token := range []string{"a", "b"} {
		if !slices.Equal(want[token], got[token]) {
			return fmt.Errorf("session %s:\nwant %q\ngot  %q", token, want[token], got[token])
		}
	}
	return nil
}

// modelRules returns rules with short deadlines, in force before the first input.
func modelRules() *session.Rules {
	r := lifecycle.DefaultRules()
	r.ArgsTimeout, r.ResultTimeout, r.RunIdle = 700, 700, 1500
	return &r
}

// client publishes the next input.
func (m *model) client() {
	if len(m.todo) == 0 {
		return
	}
	token := []string{"a", "b"}[m.rnd.IntN(2)]
	in := m.todo[0]
	m.todo = m.todo[1:]
	if of, rest, ok := strings.Cut(in, "/delta "); ok {
		token, in = of, "delta "+rest
	}
	kind, data, _ := strings.Cut(in, " ")
	m.append(token, inputs.Kind(kind), []byte(data))
}

func (m *model) append(token string, kind inputs.Kind, data []byte) uint64 {
	seq := uint64(len(m.inputs) + 1)
	m.inputs = append(m.inputs, inputs.Input{Seq: seq, At: m.now.Add(m.skew), Token: token, Kind: kind, Data: data})
	return seq
}

// birth adds an owner, or kills and replaces it. Messages that it published may
// still arrive, and their outcomes are lost.
func (m *model) birth(i int) error {
	if old := m.owners[i]; old != nil {
		for _, p := range old.flying {
			if m.rnd.IntN(2) == 0 {
				_, _ = m.apply(p) // its outcome is lost
			}
		}
		for _, run := range old.operations {
			if m.rnd.IntN(2) == 0 {
				run() // its result is lost
			}
		}
	}
	o := &modelOwner{m: m}
	m.owners[i] = o
	w := &Worker{Log: o, Options: Options{Nonce: fmt.Sprint("n", i, m.steps), KeepAcked: 24 * time.Hour, Rules: modelRules()}, Logger: zerolog.Nop()}
	o.q = newPartition(w, 0)
	o.schedule()
	o.atOnce = true
	err := o.q.takeOver(context.Background(), context.Background())
	o.atOnce = false
	if startsAgain(err) {
		return m.birth(i)
	}
	return err
}

// schedule makes the operations of the owner wait until the model runs them. The
// seed determines the schedule, so together runs one call at a time as well.
func (o *modelOwner) schedule() {
	spawn := func(run func()) {
		if o.atOnce {
			run()
			return
		}
		o.operations = append(o.operations, run)
	}
	o.q.lister.atOnce = 1
	for _, group := range []*operations{&o.q.loads.operations, &o.q.heads, &o.q.chores} {
		group.spawn = spawn
	}
}

// operate runs a random operation that was started.
func (o *modelOwner) operate() {
	if len(o.operations) == 0 {
		return
	}
	i := o.m.rnd.IntN(len(o.operations))
	run := o.operations[i]
	o.operations = slices.Delete(o.operations, i, i+1)
	run()
	o.finished = append(o.finished, <-o.q.done)
}

// finish delivers the result of a random operation to the owner.
func (o *modelOwner) finish() error {
	if len(o.finished) == 0 {
		return nil
	}
	i := o.m.rnd.IntN(len(o.finished))
	f := o.finished[i]
	o.finished = slices.Delete(o.finished, i, i+1)
	return o.q.complete(context.Background(), f)
}

// powerLoss removes the end of the event log. The owners die with the server, or run
// in other processes and reconnect: then their publishes under way end with a
// conflict.
func (m *model) powerLoss() error {
	m.powered = true
	for i := len(m.log) - m.rnd.IntN(4); i >= 0 && i < len(m.log); {
		m.log = m.log[:i]
	}
	m.epoch++
	survive := m.rnd.IntN(2) == 0
	for i, o := range m.owners {
		if survive {
			o.reconnect()
			continue
		}
		m.owners[i] = nil
		if err := m.birth(i); err != nil {
			return err
		}
	}
	return nil
}

// rewind removes the end of the input log, as a power loss or restored files do.
// Some clients publish before an owner reads the log again.
func (m *model) rewind() error {
	cut := max(1, len(m.inputs)-m.rnd.IntN(4))
	m.inputs = m.inputs[:cut]
	maps.DeleteFunc(m.ids, func(_ string, seq uint64) bool { return seq > uint64(cut) })
	m.rewound = append(m.rewound, m.now)
	m.now = m.now.Add(time.Second)
	for range m.rnd.IntN(4) {
		m.now = m.now.Add(time.Millisecond)
		m.client()
	}
	m.epoch++
	for _, o := range m.owners {
		o.reconnect()
	}
	survive := m.rnd.IntN(2) == 0
	for i, o := range m.owners {
		if survive && !o.rewound() {
			continue
		}
		m.owners[i] = nil
		if err := m.birth(i); err != nil {
			return err
		}
	}
	return nil
}

// rewound reports whether the reader of an owner sees that the log was rewound.
func (o *modelOwner) rewound() bool {
	last := o.q.reading.last
	if o.q.reading.pos > uint64(len(o.m.inputs))+1 {
		return true
	}
	return last.Seq > 0 && !o.m.inputs[last.Seq-1].At.Equal(last.At)
}

// loseSnapshot damages a snapshot, deletes it or replaces it by an older one, while
// no owner runs.
func (m *model) loseSnapshot() error {
	for _, token := range []string{"a", "b"} {
		old := kept{}
		for _, p := range m.past {
			if k, ok := p.of[token]; ok && m.rnd.IntN(3) == 0 {
				old = k
			}
		}
		k, ok := m.snapshots[token]
		switch m.rnd.IntN(4) {
		case 0:
			delete(m.snapshots, token)
		case 1:
			if ok {
				k.data = k.data[:len(k.data)/2]
				m.snapshots[token] = k
			}
		case 2:
			if old.rev != 0 {
				m.snapshots[token] = old
			}
		}
	}
	m.past = nil
	for i := range m.owners {
		m.owners[i] = nil
	}
	for i := range m.owners {
		if err := m.birth(i); err != nil {
			return err
		}
	}
	return nil
}

// recover closes the sessions that are held, as an operator does, and lets an
// owner start again.
func (m *model) recover() error {
	ctx := context.Background()
	m.past = nil // listings are up to date
	losses, err := Losses(ctx, m.owners[0], nil)
	if err != nil {
		return err
	}
	if len(m.rewound) == 0 {
		return fmt.Errorf("sessions are held though their inputs are all there: %s", m.owners[0].reasons())
	}
	for _, l := range losses {
		if err := Recover(ctx, m.owners[0], l); err != nil {
			return err
		}
	}
	if len(losses) == 0 {
		return fmt.Errorf("sessions are held, and nothing is to be recovered: %s", m.owners[0].reasons())
	}
	m.past = nil
	return m.birth(0)
}

// work runs the owner until it has nothing left to do.
func (o *modelOwner) work() error {
	o.m.pass(50 * time.Millisecond)
	if err := o.fold(len(o.m.inputs)); err != nil {
		return err
	}
	if err := o.q.ring(context.Background(), o.m.now); err != nil {
		return err
	}
	return o.drain()
}

// drain delivers all publishes of the owner and finishes all its operations.
func (o *modelOwner) drain() error {
	for len(o.flying)+len(o.acks)+len(o.operations)+len(o.finished) > 0 {
		for len(o.flying) > 0 {
			o.arrive()
		}
		for len(o.operations) > 0 {
			o.operate()
		}
		if err := o.finish(); err != nil {
			return err
		}
		if err := o.receive(); err != nil {
			return err
		}
	}
	return nil
}

// reasons returns why sessions are held.
func (o *modelOwner) reasons() (s string) {
	for token, h := range o.q.held.of {
		s += token + ": " + h.reason + "; "
	}
	return s
}

// consistent checks the event log where inputs were lost after they were folded:
// ids grow, each call that starts ends once, every delta that was stored since
// counts, and no text counts twice.
func (m *model) consistent() error {
	last, open := map[string]events.ID{}, map[string]int{}
	seen := map[string]map[uint64]bool{"a": {}, "b": {}}
	texts := map[string]events.ID{} // by the message, which has one input
	for _, s := range m.log {
		if s.token == "" || s.forged {
			continue
		}
		if !s.id.After(last[s.token]) {
			return fmt.Errorf("session %s: event %s stands behind %s", s.token, s.id, last[s.token])
		}
		last[s.token] = s.id
		seen[s.token][s.id.Seq] = true
		switch call := s.token + " " + s.call; s.kind {
		case events.AgentResponseChunk:
			message := gjson.Get(s.body, "message_id").Str
			if id, ok := texts[message]; ok {
				return fmt.Errorf("session %s: message %s has its text in the events %s and %s", s.token, message, id, s.id)
			}
			texts[message] = s.id
		case events.ToolCallStart:
			open[call] += 100
		case events.ToolCallResult:
			open[call]++
		}
	}
	for call, n := range open {
		if n != 101 && !m.powered {
			return fmt.Errorf("call %s: %d starts and %d results, want one of each", call, n/100, n%100)
		}
	}
	for i := range m.inputs {
		in := &m.inputs[i]
		counts := seen[in.Token][m.checkpoint.Rewinds.Effective(in.Seq)]
		for _, r := range m.checkpoint.Rewinds { // one can begin earlier for a session
			counts = counts || seen[in.Token][in.Seq+r.By]
		}
		if in.Kind == inputs.Delta && !strings.Contains(string(in.Data), `"id":"f`) && in.At.After(m.rewound[0]) && !counts {
			return fmt.Errorf("session %s: input %d, stored after the log was rewound, gave no event", in.Token, in.Seq)
		}
	}
	return nil
}

// apply stores what was published and returns the answer.
func (m *model) apply(p *broker.Pub) (seq uint64, err error) {
	token := p.Header.Get("token")
	switch p.Subject {
	case "event":
		if prev, _, _ := m.last(token); m.condition && p.Header.Get("prev") != fmt.Sprint(prev) {
			return 0, broker.ErrConflict
		}
		id, err := events.ParseID(p.Header.Get("id"))
		if err != nil {
			return 0, err
		}
		m.log = append(m.log, stored{token, id, events.Type(p.Header.Get("type")), p.Header.Get("call"), string(p.Data), false, m.now})
		return uint64(len(m.log)), nil
	case "state":
		if m.condition && p.Header.Get("rev") != fmt.Sprint(m.snapshots[token].rev) {
			return 0, broker.ErrConflict
		}
		m.past = append(m.past, pastSnapshots{m.rev, maps.Clone(m.snapshots)})
		m.rev++
		k := kept{rev: m.rev, data: p.Data}
		if err := json.Unmarshal([]byte(p.Header.Get("header")), &k.header); err != nil {
			return 0, err
		}
		m.snapshots[token] = k
		return m.rev, nil
	}
	if seq := m.ids[p.Header.Get("id")]; seq != 0 {
		return seq, nil
	}
	seq = m.append(token, inputs.Kind(p.Subject), p.Data)
	m.ids[p.Header.Get("id")] = seq
	return seq, nil
}

func (m *model) last(token string) (seq uint64, last events.Record, err error) {
	for i, s := range m.log {
		if s.token != token {
			continue
		}
		seq = uint64(i + 1)
		if !s.forged {
			last = m.event(i)
		}
	}
	return seq, last, nil
}

// fold delivers the next n inputs to the owner.
func (o *modelOwner) fold(n int) error {
	if o.q.reading.waits() {
		return nil // the reader waits until the owner has accepted the last batch
	}
	from := int(o.q.reading.pos) - 1
	to := min(from+n, len(o.m.inputs))
	b := batch{next: uint64(to + 1), caughtUp: to == len(o.m.inputs), done: make(chan struct{}, 1)}
	if from < to {
		b.inputs = slices.Clone(o.m.inputs[from:to])
	}
	return o.q.take(context.Background(), b)
}

// arrive stores one publish once, or twice if its answer is lost.
func (o *modelOwner) arrive() {
	if len(o.flying) == 0 {
		return
	}
	// The seed determines the schedule, so map order must not.
	slices.SortStableFunc(o.flying, func(a, b *broker.Pub) int {
		return strings.Compare(a.Subject+a.Header.Get("token")+a.Header.Get("id"), b.Subject+b.Header.Get("token")+b.Header.Get("id"))
	})
	i := o.m.rnd.IntN(len(o.flying))
	p := o.flying[i]
	seq, err := o.m.apply(p)
	if o.m.rnd.IntN(5) == 0 {
		return // the answer is lost: the same message is sent again
	}
	o.flying = slices.Delete(o.flying, i, i+1)
	o.acks = append(o.acks, broker.Ack{Pub: p, Seq: seq, Err: err})
}

// reconnect returns the appends that were under way as conflicts; the rest is sent
// again.
func (o *modelOwner) reconnect() {
	o.flying = slices.DeleteFunc(o.flying, func(p *broker.Pub) bool {
		if p.Epoch == 0 {
			return false
		}
		o.acks = append(o.acks, broker.Ack{Pub: p, Err: broker.ErrConflict})
		return true
	})
}

// receive delivers a random outcome to the owner.
func (o *modelOwner) receive() error {
	if len(o.acks) == 0 {
		return nil
	}
	i := o.m.rnd.IntN(len(o.acks))
	a := o.acks[i]
	o.acks = slices.Delete(o.acks, i, i+1)
	return o.q.acked(context.Background(), a)
}

// writeSnapshots begins to write snapshots of some of the sessions that changed.
func (o *modelOwner) writeSnapshots() error {
	if o.m.rnd.IntN(3) == 0 {
		o.q.checkFresh(context.Background(), time.Now())
		return nil
	}
	for _, token := range []string{"a", "b"} {
		s := o.q.sessions.resident[token]
		if s != nil && s.snapshot.first != 0 && s.snapshot.write == nil && !s.fresh && o.m.rnd.IntN(3) > 0 {
			o.q.snapshots.begin(s, o.m.now)
		}
	}
	return nil
}

// The methods below are the owner's Log.

func (o *modelOwner) Inputs(context.Context, int, uint64, func([]inputs.Input, uint64, bool) error) error {
	return nil
}

func (o *modelOwner) Partition(string) int { return 0 }

func (o *modelOwner) Partitions() int { return 1 }

func (o *modelOwner) Outage() (from, until time.Time) { return from, until }

func (o *modelOwner) Replicated() bool { return o.m.replicated }

func (o *modelOwner) Input(_ context.Context, seq uint64) (in inputs.Input, ok bool, err error) {
	if seq == 0 || seq > uint64(len(o.m.inputs)) {
		return in, false, nil
	}
	return o.m.inputs[seq-1], true, nil
}

func (o *modelOwner) InputAfter(_ context.Context, t time.Time) (uint64, error) {
	for i := range o.m.inputs {
		if o.m.inputs[i].At.After(t) {
			return uint64(i + 1), nil
		}
	}
	return uint64(len(o.m.inputs) + 1), nil
}

func (o *modelOwner) SessionInputs(_ context.Context, token string, fn func(*inputs.Input) error) error {
	for i := range o.m.inputs {
		if in := &o.m.inputs[i]; in.Token == token && in.Kind != inputs.Rules {
			if err := fn(in); err != nil {
				return err
			}
		}
	}
	return nil
}

func (o *modelOwner) RulesInputs(_ context.Context, _ int, fn func(*inputs.Input) error) error {
	for i := range o.m.inputs {
		if in := &o.m.inputs[i]; in.Kind == inputs.Rules {
			if err := fn(in); err != nil {
				return err
			}
		}
	}
	return nil
}

func (o *modelOwner) LastRules(ctx context.Context, p int) (last inputs.Input, ok bool, err error) {
	err = o.RulesInputs(ctx, p, func(in *inputs.Input) error { last, ok = *in, true; return nil })
	return last, ok, err
}

func (m *model) event(i int) events.Record {
	s := m.log[i]
	return events.Record{Seq: uint64(i + 1), Token: s.token, ID: s.id, Type: s.kind, Call: s.call, At: s.at, Data: []byte(s.body)}
}

func (o *modelOwner) Events(_ context.Context, token string, after uint64, fn func(events.Record) error) error {
	for i := range o.m.log {
		if e := o.m.event(i); e.Seq > after && e.Token != "" && !o.m.log[i].forged && (token == "" || e.Token == token) {
			if err := fn(e); err != nil {
				return err
			}
		}
	}
	return nil
}

func (o *modelOwner) FirstEvent(_ context.Context, token string) (events.Record, error) {
	for i := range o.m.log {
		if e := o.m.event(i); e.Token == token && !o.m.log[i].forged {
			return e, nil
		}
	}
	return events.Record{}, nil
}

func (o *modelOwner) TopEvent(context.Context, int, time.Time) (top events.ID, err error) {
	for i := range o.m.log {
		if e := o.m.event(i); e.Token != "" && !o.m.log[i].forged && e.ID.After(top) {
			top = e.ID
		}
	}
	return top, nil
}

func (o *modelOwner) RecentEvents(_ context.Context, d time.Duration) (map[int]events.Record, error) {
	var top events.Record
	for i := range o.m.log {
		if e := o.m.event(i); o.m.now.Sub(e.At) <= d && e.Token != "" && !o.m.log[i].forged && e.ID.After(top.ID) {
			top = e
		}
	}
	return map[int]events.Record{0: top}, nil
}

func (o *modelOwner) OpenEvents(context.Context) (map[string]eventlog.Opened, error) {
	open := map[string]eventlog.Opened{}
	for _, s := range o.m.log {
		n := open[s.token]
		switch s.kind {
		case events.ToolCallStart:
			n.Calls++
		case events.ToolCallResult:
			n.Calls--
		case events.RunStarted:
			n.Runs++
		case events.RunFinished:
			n.Runs--
		}
		open[s.token] = n
	}
	maps.DeleteFunc(open, func(_ string, n eventlog.Opened) bool { return n.Calls <= 0 && n.Runs <= 0 })
	return open, nil
}

// list reads a listing and delivers it to the owner.
func (o *modelOwner) list() error {
	l, err := o.q.lister.list(context.Background())
	if err != nil {
		return err
	}
	o.q.listed(context.Background(), l)
	return nil
}

func (o *modelOwner) InputPosition(_ context.Context, _ int, next uint64) (uint64, error) {
	return next, nil
}

func (o *modelOwner) InputBounds(context.Context) (first, last uint64, err error) {
	return 1, uint64(len(o.m.inputs)), nil
}

func (o *modelOwner) EventBounds(context.Context) (first, last uint64, err error) {
	return 1, uint64(len(o.m.log)), nil
}

func (o *modelOwner) Head(_ context.Context, token string) (uint64, events.Record, error) {
	seq, last, err := o.m.last(token)
	o.meanwhile()
	return seq, last, err
}

// Confirm confirms nothing sometimes, as where no server answers it.
func (o *modelOwner) Confirm(_ context.Context, expected []eventlog.Expected) []bool {
	confirmed := make([]bool, len(expected))
	if len(expected) == 0 || o.m.rnd.IntN(4) == 0 {
		return confirmed
	}
	for i, e := range expected {
		for _, s := range o.m.log {
			confirmed[i] = confirmed[i] || s.token == e.Token && !s.forged && s.kind == e.Type && !e.ID.After(s.id)
		}
	}
	o.meanwhile()
	return confirmed
}

// meanwhile stores something of the other owner, so that what was read is outdated
// when it is used.
func (o *modelOwner) meanwhile() {
	for _, other := range o.m.owners {
		if other != nil && other != o && o.m.rnd.IntN(4) == 0 {
			other.arrive()
		}
	}
}

func (o *modelOwner) Epoch() uint64 { return o.m.epoch }

func (o *modelOwner) Publish(p *broker.Pub, _ chan<- broker.Ack) {
	if p.Epoch != 0 && p.Epoch != o.m.epoch {
		o.acks = append(o.acks, broker.Ack{Pub: p, Err: broker.ErrConflict})
		return
	}
	o.flying = append(o.flying, p)
}

func (o *modelOwner) PublishWait(_ context.Context, p *broker.Pub) broker.Ack {
	seq, err := o.m.apply(p)
	return broker.Ack{Pub: p, Seq: seq, Err: err}
}

func (o *modelOwner) EventPub(token string, e *events.Event, body []byte, _ map[string]string, prev uint64) *broker.Pub {
	return &broker.Pub{Subject: "event", Data: body, Header: header("token", token, "prev", fmt.Sprint(prev), "id", e.EventID.String(), "type", string(e.Type), "call", e.Call)}
}

func (o *modelOwner) ClockPub(token, msgID string, data []byte) *broker.Pub {
	return &broker.Pub{Subject: string(inputs.Clock), Data: data, Header: header("token", token, "id", msgID)}
}

func (o *modelOwner) RulesPub(_ int, msgID string, data []byte) *broker.Pub {
	return &broker.Pub{Subject: string(inputs.Rules), Data: data, Header: header("id", msgID)}
}

func (o *modelOwner) BlobPubs(events.Blob) []*broker.Pub { return nil }

func (o *modelOwner) LoadSnapshot(_ context.Context, _ int, token string) (broker.Snapshot, bool, error) {
	k, ok := o.m.answering().of[token]
	o.meanwhile()
	return broker.Snapshot{Rev: k.rev, Header: k.header, Data: k.data}, ok, nil
}

// answering returns the snapshots of the server that answers, which may be outdated.
func (m *model) answering() pastSnapshots {
	if m.outdated > 0 {
		m.outdated--
		return m.past[0]
	}
	if n := len(m.past); n > 0 && m.replicated && m.rnd.IntN(4) == 0 {
		return m.past[m.rnd.IntN(n)]
	}
	return pastSnapshots{m.rev, m.snapshots}
}

func (o *modelOwner) SnapshotExpired(_ context.Context, _ int, token string, rev uint64) (bool, error) {
	server := o.m.answering()
	_, exists := server.of[token]
	return server.rev >= rev && !exists && (token != allTokens || len(server.of) == 0), nil
}

func (o *modelOwner) RecallSnapshot(_ context.Context, _ int, token string, rev uint64) (broker.Snapshot, bool) {
	k, ok := o.m.answering().of[token]
	o.meanwhile()
	return broker.Snapshot{Rev: k.rev, Header: k.header, Data: k.data}, ok && k.rev == rev
}

func (o *modelOwner) SnapshotPub(_ int, token string, rev uint64, h map[string]string, data []byte) (*broker.Pub, []*broker.Pub) {
	text, err := json.Marshal(h)
	if err != nil {
		panic(err)
	}
	return &broker.Pub{Subject: "state", Data: data, Header: header("token", token, "rev", fmt.Sprint(rev), "header", string(text))}, nil
}

// lastRev returns the revision of the snapshot that was written last.
func lastRev(snapshots map[string]kept) (rev uint64) {
	for _, k := range snapshots {
		rev = max(rev, k.rev)
	}
	return rev
}

// ListSnapshots may return an older listing.
func (o *modelOwner) ListSnapshots(_ context.Context, _ int, fn func(string, uint64, map[string]string, time.Time) error) (complete bool, err error) {
	server := o.m.answering().of
	states := server
	if n := len(o.m.past); n > 0 && o.m.rnd.IntN(4) == 0 {
		states = o.m.past[n-1].of
	}
	for _, token := range []string{"a", "b"} {
		if k, ok := states[token]; ok {
			if err := fn(token, k.rev, k.header, time.Time{}); err != nil {
				return false, err
			}
		}
	}
	return lastRev(states) >= lastRev(server), nil
}

func (o *modelOwner) LoadCheckpoint(context.Context, int) (broker.Checkpoint, uint64, error) {
	return o.m.checkpoint, o.m.checkpointRev, nil
}

func (o *modelOwner) WriteCheckpoint(_ context.Context, _ int, c broker.Checkpoint, rev uint64) (uint64, error) {
	switch {
	case rev != o.m.checkpointRev:
		return 0, broker.ErrConflict
	case c.Seq < o.m.checkpoint.Seq && c.Rewinds.Equal(o.m.checkpoint.Rewinds):
		return 0, broker.ErrBackwards
	}
	o.m.checkpoint = c
	o.m.checkpointRev++
	return o.m.checkpointRev, nil
}

func header(pairs ...string) nats.Header {
	h := nats.Header{}
	for i := 0; i < len(pairs); i += 2 {
		h.Set(pairs[i], pairs[i+1])
	}
	return h
}
