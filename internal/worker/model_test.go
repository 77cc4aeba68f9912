package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"streamer/internal/broker"
	"streamer/internal/decode"
	"streamer/internal/events"
	"streamer/internal/inputs"
	"streamer/internal/lifecycle"
	"streamer/internal/rewind"
	"streamer/internal/session"

	"github.com/rs/zerolog"
	"github.com/tidwall/gjson"
)

// The model is a second driver of partitions: two owners of one partition, over two logs
// in memory. It decides what happens next: which owner gets inputs; which publish
// arrives, arrives twice, or has its answer lost or late; which operation reads the logs
// and when its owner gets the result; when an owner saves, looks at its timers, evicts
// sessions or dies; when a server that was cut off from the others answers reads of
// snapshots; when snapshots are damaged; when a power failure takes what is younger than
// durableAfter, of each stream on its own; when inputs expire that a checkpoint covers;
// and when a message is forged. Whatever the order, the events in the log must be the
// fold of the inputs in the end. Where inputs were lost, each call must end once all the
// same, and every input that was stored since must count.

// durableAfter is what the model keeps in a power failure.
const durableAfter = 2 * time.Second

// TestModel runs random schedules. STREAMER_MODEL is their number.
func TestModel(t *testing.T) {
	n := 500
	if s := os.Getenv("STREAMER_MODEL"); s != "" {
		var err error
		if n, err = strconv.Atoi(s); err != nil {
			t.Fatal("STREAMER_MODEL: ", err)
		}
	}
	seed := uint64(time.Now().UnixNano())
	if s := os.Getenv("STREAMER_SEED"); s != "" {
		n = 1
		var err error
		if seed, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatal("STREAMER_SEED: ", err)
		}
	}
	var steps atomic.Int64
	t.Run("schedules", func(t *testing.T) {
		procs := runtime.GOMAXPROCS(0)
		for first := range procs {
			t.Run(strconv.Itoa(first), func(t *testing.T) {
				t.Parallel()
				for i := first; i < n; i += procs {
					runSchedule(t, seed+uint64(i), &steps)
				}
			})
		}
	})
	t.Logf("%d schedules, %d steps", n, steps.Load())
}

func runSchedule(t *testing.T, seed uint64, steps *atomic.Int64) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { // outdated answers are asked for again for seconds
		m := newModel(seed)
		if os.Getenv("STREAMER_SEED") != "" {
			began := time.Now()
			m.trace = func(format string, args ...any) {
				t.Logf("%8v "+format, append([]any{time.Since(began)}, args...)...)
			}
			m.logger = zerolog.New(zerolog.NewTestWriter(t))
		}
		err := m.run()
		steps.Add(int64(m.steps))
		if err != nil {
			t.Errorf("STREAMER_SEED=%d: %v", seed, err)
		}
	})
}

// TestModelControl checks that the model finds a failing schedule where a protection is
// taken out. Otherwise TestModel would prove nothing.
func TestModelControl(t *testing.T) {
	for _, test := range []struct {
		name    string
		without func(*model)
		from    uint64 // a schedule shortly before one that failed once
	}{
		{"conditions", func(m *model) { m.unconditional = true }, 0},
		{"pads", func(m *model) { m.blind = true }, 0},
		{"waiting", func(m *model) { m.keep = 1 }, 1020},
	} {
		t.Run(test.name, func(t *testing.T) {
			failed := false
			for i := test.from; i < test.from+5000 && !failed; i++ {
				synctest.Test(t, func(*testing.T) {
					m := newModel(20 * i) // a harsh schedule
					test.without(m)
					failed = m.run() != nil
				})
			}
			if !failed {
				t.Error("none of 5,000 schedules failed")
			}
		})
	}
}

type model struct {
	rnd    *rand.Rand
	steps  int
	now    time.Time
	trace  func(format string, args ...any) // logs what happens
	logger zerolog.Logger                   // of the owners

	// Protections that are taken out.
	unconditional bool          // appends have no conditions
	blind         bool          // nothing shows that the input log is too short
	keep          time.Duration // of the owners: DurableAfter

	// stepping: the clock of the server that stores inputs is set at times, and skew is
	// how far it is ahead.
	stepping bool
	skew     time.Duration

	inputs  []inputs.Input
	stored  []time.Time       // when each input was stored, by the time of the bubble
	first   uint64            // the first input that has not expired
	ids     map[string]uint64 // message ids of inputs
	log     []modelEvent      // the event log; a lost place has no token
	expires bool              // inputs that a checkpoint covers expire
	harsh   bool              // more inputs, and faults are frequent

	snapshots   map[string]modelSnapshot
	past        []pastSnapshots // for outdated answers, and for power failures
	rev         uint64
	checkpoints []modelCheckpoint // the last is stored
	// lost is when input logs lost their ends.
	lost []time.Time

	owners [2]*modelOwner
	epoch  uint64
	// replicated makes reads of snapshots outdated sometimes.
	replicated bool
	todo       []string // inputs that clients still publish
}

type modelEvent struct {
	token string
	id    events.ID
	kind  events.Type
	call  string
	body  []byte

	forged bool // no event: another client published it
	at     time.Time
}

type modelSnapshot struct {
	rev    uint64
	header map[string]string
	data   []byte
}

// pastSnapshots are the snapshots as they were until another was written.
type pastSnapshots struct {
	until time.Time
	of    map[string]modelSnapshot
}

type modelCheckpoint struct {
	broker.Checkpoint
	rev uint64
	at  time.Time
}

// modelOwner is an owner of the partition and what it has under way.
type modelOwner struct {
	m      *model
	q      *partition
	flying []*broker.Pub
	acks   []broker.Ack
	// operations did not run yet. The results of finished were not delivered to the owner
	// yet.
	operations []read
	finished   []operationResult
	ready      bool // the sessions that the takeover found are loaded
}

func newModel(seed uint64) *model {
	m := &model{
		rnd: rand.New(rand.NewPCG(seed, 7)), now: time.Now().Truncate(time.Millisecond),
		ids: map[string]uint64{}, snapshots: map[string]modelSnapshot{}, epoch: 1, first: 1, keep: durableAfter,
		trace: func(string, ...any) {}, logger: zerolog.Nop(),
	}
	m.stepping, m.replicated, m.expires, m.harsh = seed%2 == 1, seed%3 == 1, seed%4 < 2, seed%20 == 0
	rules, err := json.Marshal(modelRules())
	if err != nil {
		panic(err)
	}
	m.append("", inputs.Rules, rules)
	m.checkpoints = []modelCheckpoint{{broker.Checkpoint{Seq: 2, Rules: rules}, 0, m.now}}
	some := 4 + m.rnd.IntN(8)
	if m.harsh {
		some *= 3
	}
	for i := range some {
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

// step passes an event to the owner, and takes what it asks for.
func (o *modelOwner) step(event any) error {
	err := o.q.step(event)
	for _, p := range o.q.publishes {
		o.publish(p)
	}
	o.operations = append(o.operations, o.q.reads...)
	o.q.effects = effects{}
	return err
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
	pace, steps := []int{60, 60, 400}[m.rnd.IntN(3)], 60+m.rnd.IntN(120) // milliseconds
	if m.harsh {
		steps *= 4
	}
	for range steps {
		m.steps++
		m.pass(time.Duration(m.rnd.IntN(pace)) * time.Millisecond)
		if err := m.step(); err != nil {
			return err
		}
		for _, o := range m.owners {
			if n := o.q.status.diverged.Load(); n > 0 {
				return fmt.Errorf("%d stored events are not what their inputs give", n)
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
	return errors.Is(err, rewind.ErrOther) || errors.Is(err, errShort) || errors.Is(err, broker.ErrConflict)
}

func (m *model) act(o *modelOwner) error {
	if m.harsh && m.rnd.IntN(15) == 0 {
		return m.fault()
	}
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
	case 11, 12:
		return o.step(save(m.now))
	case 13:
		return o.step(tick(m.now))
	case 14:
		return o.step(timerDue(m.now))
	case 15, 16, 17:
		o.operate()
		return nil
	case 18, 19, 20:
		return o.finish()
	}
	return m.fault()
}

// fault lets something happen that is rare.
func (m *model) fault() error {
	switch m.rnd.IntN(6) {
	case 0:
		return m.birth(m.rnd.IntN(2))
	case 1:
		return m.powerLoss()
	case 4:
		if m.stepping && m.rnd.IntN(2) == 0 {
			m.skew = []time.Duration{0, time.Hour, -time.Hour, 2 * time.Second}[m.rnd.IntN(4)]
			return nil
		}
		return m.expire()
	case 5:
		return m.loseSnapshot()
	case 3:
		m.log = append(m.log, modelEvent{token: []string{"a", "b"}[m.rnd.IntN(2)], forged: true})
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
	if m.rnd.IntN(2) == 0 {
		if err := m.birth(0); err != nil {
			return err
		}
	}
	m.replicated = false // answers are up to date from here on
	for range 3000 {
		o := m.owners[0]
		err := o.work()
		if startsAgain(err) {
			if err = m.birth(0); err == nil {
				continue
			}
		}
		if err != nil {
			return err
		}
		if len(o.q.held.of) > 0 {
			return fmt.Errorf("sessions are held: %s", o.reasons())
		}
		if _, ok := o.q.clock.next(); !ok && o.q.reading.pos > uint64(len(m.inputs)) && len(o.q.loads.of) == 0 {
			if len(m.lost) > 0 {
				return m.consistent()
			}
			return m.compare()
		}
	}
	o := m.owners[0]
	return fmt.Errorf("it does not come to rest: position %d, %d inputs, %d sessions being loaded, timers %v", o.q.reading.pos, len(m.inputs), len(o.q.loads.of), o.q.clock.at)
}

// compare folds all inputs and compares the events with the event log.
func (m *model) compare() error {
	want, got := map[string][]string{}, map[string][]string{}
	states := map[string]*session.State{}
	for i := range m.inputs {
		in := &m.inputs[i]
		if !in.Kind.OfSession() {
			continue
		}
		if states[in.Token] == nil {
			states[in.Token] = new(session.State)
		}
		for _, e := range session.Fold(nil, states[in.Token], sessionInput(in, modelRules(), new(decode.Reader))) {
			body, err := e.Body()
			if err != nil {
				return err
			}
			want[in.Token] = append(want[in.Token], e.EventID.String()+" "+string(body))
		}
	}
	for _, s := range m.log {
		if s.token != "" && !s.forged {
			got[s.token] = append(got[s.token], s.id.String()+" "+string(s.body))
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
	m.inputs = append(m.inputs, inputs.Input{
		Seq: seq, At: m.now.Add(m.skew), Token: token, Kind: kind, Data: data, Foreign: kind == inputs.Probe,
		Subject: string(kind), Header: inputs.Header{"token": {token}},
	})
	m.stored = append(m.stored, m.now)
	m.trace("input %d of %q: %s %s", seq, token, kind, data)
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
		for _, r := range old.operations {
			if m.rnd.IntN(2) == 0 {
				r.run(context.Background()) // its result is lost
			}
		}
	}
	m.trace("owner %d begins", i)
	o := &modelOwner{m: m}
	m.owners[i] = o
	w := &Worker{Log: o, Options: Options{
		Nonce: fmt.Sprint("n", i, m.steps), Rules: modelRules(), PadInputs: true,
		SnapshotEvery: 20 * time.Millisecond, DurableAfter: m.keep, EvictAfter: 50 * time.Millisecond,
		MaxMemory: []int{1, 64 << 20}[m.rnd.IntN(2)],
	}, Logger: m.logger}
	o.q = newPartition(w, 0)
	t, err := w.takeOver(context.Background(), o.q)
	if startsAgain(err) {
		return m.birth(i)
	}
	if err != nil {
		return err
	}
	return o.step(t)
}

func (o *modelOwner) name() string { return fmt.Sprint("owner ", slices.Index(o.m.owners[:], o)) }

// operate runs a random operation.
func (o *modelOwner) operate() {
	if len(o.operations) == 0 {
		return
	}
	i := o.m.rnd.IntN(len(o.operations))
	r := o.operations[i]
	o.operations = slices.Delete(o.operations, i, i+1)
	o.finished = append(o.finished, operationResult{r.group, r.run(context.Background())})
}

// finish delivers the result of a random operation to the owner.
func (o *modelOwner) finish() error {
	if len(o.finished) == 0 {
		return nil
	}
	i := o.m.rnd.IntN(len(o.finished))
	f := o.finished[i]
	if l, ok := f.result.(*loadResult); ok {
		o.m.trace("%s of %q: %v", o.name(), l.loading.token, l.err)
	}
	o.finished = slices.Delete(o.finished, i, i+1)
	return o.step(f)
}

// powerLoss removes what was stored a short time ago from some of the streams, each on its
// own. The owners die with the server. Where the inputs are complete, they may also run in
// other processes and reconnect: then their publishes under way end with a conflict.
func (m *model) powerLoss() error {
	since := m.now.Add(-durableAfter)
	if m.rnd.IntN(2) == 0 {
		n := len(m.log)
		for n > 0 && m.log[n-1].at.After(since) && m.rnd.IntN(4) > 0 {
			n--
		}
		m.log = m.log[:n]
	}
	inputs := len(m.inputs)
	if m.rnd.IntN(2) == 0 && !m.stepping {
		for inputs > 1 && m.stored[inputs-1].After(since) && m.rnd.IntN(4) > 0 {
			inputs--
		}
	}
	if m.rnd.IntN(2) == 0 {
		for n := len(m.past); n > 0 && m.past[n-1].until.After(since) && m.rnd.IntN(4) > 0; n-- {
			m.snapshots, m.past = m.past[n-1].of, m.past[:n-1]
		}
	}
	if m.rnd.IntN(2) == 0 {
		for n := len(m.checkpoints); n > 1 && m.checkpoints[n-1].at.After(since) && m.checkpoints[n-2].Seq >= m.first && m.rnd.IntN(4) > 0; n-- {
			m.checkpoints = m.checkpoints[:n-1]
		}
	}
	m.epoch++
	m.trace("power failure: %d events, %d of %d inputs, %d versions of snapshots, %d of checkpoints", len(m.log), inputs, len(m.inputs), len(m.past), len(m.checkpoints))
	survive := m.rnd.IntN(2) == 0
	if inputs < len(m.inputs) {
		survive = false
		m.inputs, m.stored = m.inputs[:inputs], m.stored[:inputs]
		maps.DeleteFunc(m.ids, func(_ string, seq uint64) bool { return seq > uint64(inputs) })
		m.lost = append(m.lost, m.now)
	}
	for i, o := range m.owners {
		if survive {
			o.reconnect()
		} else {
			m.owners[i] = nil
		}
	}
	for i, o := range m.owners {
		if o == nil {
			if err := m.birth(i); err != nil {
				return err
			}
		}
	}
	return nil
}

// expire removes the inputs that a checkpoint covers which a power failure leaves. They
// are hours old: all that began meanwhile has ended, and what was folded is saved.
func (m *model) expire() error {
	if !m.expires {
		return nil
	}
	for range 4 {
		m.pass(durableAfter)
		for i, o := range m.owners {
			err := o.quiet()
			if startsAgain(err) {
				err = m.birth(i)
			}
			if err != nil {
				return err
			}
		}
	}
	for _, c := range m.checkpoints {
		if !c.at.After(m.now.Add(-durableAfter)) {
			m.first = max(m.first, c.Seq)
		}
	}
	m.past = nil // no server answers as of hours ago
	m.trace("inputs before %d expire", m.first)
	return nil
}

// quiet lets what the owner has under way end, and saves what is due.
func (o *modelOwner) quiet() error {
	for _, event := range []any{save(o.m.now), tick(o.m.now)} {
		if err := o.step(event); err != nil {
			return err
		}
	}
	return o.drain()
}

// loseSnapshot damages a snapshot, deletes it or replaces it by an older one, while
// no owner runs.
func (m *model) loseSnapshot() error {
	if m.first > 1 {
		return nil // then inputs are missing that replace a snapshot
	}
	for _, token := range []string{"a", "b"} {
		old := modelSnapshot{}
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
	m.trace("snapshots damaged: revisions %d and %d", m.snapshots["a"].rev, m.snapshots["b"].rev)
	m.past = nil
	m.expires = false // or the session might be held
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

// work runs the owner until it has nothing left to do.
func (o *modelOwner) work() error {
	o.m.pass(50 * time.Millisecond)
	if err := o.fold(len(o.m.inputs)); err != nil {
		return err
	}
	if err := o.step(timerDue(o.m.now)); err != nil {
		return err
	}
	return o.quiet()
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
			message := gjson.GetBytes(s.body, "message_id").Str
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
		if n != 101 {
			return fmt.Errorf("call %s: %d starts and %d results, want one of each", call, n/100, n%100)
		}
	}
	for i := range m.inputs {
		in := &m.inputs[i]
		counts := seen[in.Token][in.Seq]
		if in.Kind == inputs.Delta && !strings.Contains(string(in.Data), `"id":"f`) && m.stored[i].After(m.lost[0]) && !counts {
			return fmt.Errorf("session %s: input %d, stored after the log lost its end, gave no event", in.Token, in.Seq)
		}
	}
	return nil
}

// apply stores what was published and returns the answer.
func (m *model) apply(p *broker.Pub) (seq uint64, err error) {
	token := p.Header.Get("token")
	switch p.Subject {
	case broker.SubjectProbe:
		return m.append("", inputs.Probe, nil), nil
	case "event":
		if prev, _, _ := m.last(token); !m.unconditional && p.Header.Get("prev") != fmt.Sprint(prev) {
			return 0, broker.ErrConflict
		}
		id, err := events.ParseID(p.Header.Get("id"))
		if err != nil {
			return 0, err
		}
		m.trace("event %d of %s: %s %s", len(m.log)+1, token, id, p.Header.Get("type"))
		m.log = append(m.log, modelEvent{token, id, events.Type(p.Header.Get("type")), p.Header.Get("call"), p.Data, false, m.now})
		return uint64(len(m.log)), nil
	case "state":
		if !m.unconditional && p.Header.Get("rev") != fmt.Sprint(m.snapshots[token].rev) {
			return 0, broker.ErrConflict
		}
		m.past = append(m.past, pastSnapshots{m.now, maps.Clone(m.snapshots)})
		m.rev++
		k := modelSnapshot{rev: m.rev, data: p.Data}
		if err := json.Unmarshal([]byte(p.Header.Get("header")), &k.header); err != nil {
			return 0, err
		}
		m.snapshots[token] = k
		m.trace("snapshot %d of %s: %s", m.rev, token, p.Header.Get("header"))
		return m.rev, nil
	}
	if seq := m.ids[p.Header.Get("id")]; seq != 0 {
		return seq, nil
	}
	seq = m.append(token, inputs.Kind(p.Subject), p.Data)
	m.inputs[seq-1].Header = inputs.Header(p.Header)
	if id := p.Header.Get("id"); id != "" {
		m.ids[id] = seq
	}
	return seq, nil
}

func (m *model) last(token string) (seq uint64, last events.Record, err error) {
	for i := len(m.log); i > 0; i-- {
		s := &m.log[i-1]
		if s.token != token {
			continue
		}
		seq = max(seq, uint64(i))
		if !s.forged {
			return seq, m.event(i - 1), nil
		}
	}
	return seq, last, nil
}

// fold delivers the next n inputs to the owner.
func (o *modelOwner) fold(n int) error {
	if o.ready = o.ready || len(o.q.loads.of) == 0; !o.ready {
		return nil // what the takeover found is loaded first
	}
	from := int(o.q.reading.pos) - 1
	to := min(from+n, len(o.m.inputs))
	b := batch{next: uint64(to + 1), caughtUp: to == len(o.m.inputs), done: make(chan struct{}, 1)}
	if from < to {
		b.inputs = slices.Clone(o.m.inputs[from:to])
	}
	o.m.trace("%s reads inputs %d to %d", o.name(), from+1, to)
	return o.step(b)
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
	return o.step(a)
}
