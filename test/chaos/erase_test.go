package chaos

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"streamer/internal/audit"
	"streamer/internal/client"
	"streamer/internal/events"
)

const (
	// retained is how the names of sessions begin that the streamers erase after a time.
	retained = "t"
	retain   = retained + "*=5s"

	eraseTime   = 90 * time.Second // maximum time of one request
	eraseAtOnce = 16
)

// erasers erase sessions, over HTTP and with `streamer forget`, until they are answered that
// it is done. Some give up earlier, or are killed.
type erasers struct {
	t        *testing.T
	streamer string // program
	url      string
	gateways []string
	tokens   *tokens
	wg       sync.WaitGroup

	mu    sync.Mutex
	begun map[string]bool      // sessions
	done  map[string]time.Time // when the last erasure began that was answered
	count map[string]int       // tries by their end
	// longest is the longest time of one that was answered.
	longest time.Duration
}

func newErasers(t *testing.T, streamer, url string, gateways []string, tokens *tokens) *erasers {
	return &erasers{
		t: t, streamer: streamer, url: url, gateways: gateways, tokens: tokens,
		begun: map[string]bool{}, done: map[string]time.Time{}, count: map[string]int{},
	}
}

// run erases sessions until ctx ends, about one each interval. If wait is set, those that
// have begun are then continued to their end, which takes a minute where large values are.
func (e *erasers) run(ctx context.Context, seed uint64, every time.Duration, wait bool) {
	rnd, within := rand.New(rand.NewPCG(seed, 500)), ctx
	if wait {
		within = context.Background()
	}
	e.wg.Go(func() {
		slots := make(chan struct{}, eraseAtOnce)
		for {
			select {
			case <-ctx.Done():
				return
			case <-time.After(every/2 + time.Duration(rnd.Int64N(int64(every)))): // a random moment
			}
			token, seed := e.tokens.any(rnd), rnd.Uint64()
			if token == "" {
				continue
			}
			slots <- struct{}{}
			e.wg.Go(func() {
				defer func() { <-slots }()
				e.erase(within, token, rand.New(rand.NewPCG(seed, 501)))
			})
		}
	})
}

// erase erases a session.
func (e *erasers) erase(within context.Context, token string, rnd *rand.Rand) {
	once, how := e.request, "DELETE"
	if rnd.IntN(4) == 0 {
		once, how = e.forget, "forget"
	}
	limit, tries := eraseTime, 4
	if rnd.IntN(3) == 0 { // gives up
		limit, tries, how = time.Duration(rnd.IntN(6000))*time.Millisecond, 1, how+" of seconds"
	}
	e.mu.Lock()
	e.begun[token] = true
	e.mu.Unlock()
	for try := 0; try < tries && within.Err() == nil; try++ {
		began := time.Now()
		ctx, cancel := context.WithTimeout(within, limit)
		err := once(ctx, token, rnd)
		cancel()
		e.note(how, token, began, err)
		if err == nil {
			return
		}
		time.Sleep(time.Second) // before the next try
	}
}

// note counts a try by its end.
func (e *erasers) note(how, token string, began time.Time, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	took := time.Since(began)
	if err != nil {
		e.count[how+": "+kind(err.Error())]++
		return
	}
	e.done[token] = began
	e.count[how+": done"]++
	e.longest = max(e.longest, took)
}

// digits are what differs between errors of a kind.
var digits = regexp.MustCompile(`[0-9]+`)

// kind returns what an error has in common with others.
func kind(text string) string { return digits.ReplaceAllString(text, "N") }

// request sends a request to a random gateway.
func (e *erasers) request(ctx context.Context, token string, rnd *rand.Rand) error {
	url := "http://" + e.gateways[rnd.IntN(len(e.gateways))] + "/v1/sessions/" + token
	req, err := http.NewRequestWithContext(ctx, http.MethodDelete, url, nil)
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", res.Status, bytes.TrimSpace(body))
	}
	return err
}

// forget runs `streamer forget`, and kills it when ctx ends.
func (e *erasers) forget(ctx context.Context, token string, _ *rand.Rand) error {
	out, err := exec.CommandContext(ctx, e.streamer, "forget", "--nats-url", e.url, token).CombinedOutput()
	if err == nil || strings.Contains(string(out), "nothing is stored") {
		return nil
	}
	return fmt.Errorf("%w: %s", err, out)
}

// history is what is stored of a session.
type history struct {
	seqs   []uint64 // of the events
	erased uint64   // sequence of the input of the erasure with which the events begin, or 0
}

// since returns the sequences that are not before the first stored event of a session that
// was erased, and all of another session.
func (h *history) since(seqs []uint64) []uint64 {
	if h.erased == 0 {
		return seqs
	}
	return slices.DeleteFunc(slices.Clone(seqs), func(seq uint64) bool { return seq < h.seqs[0] })
}

// histories reads the event log.
func histories(ctx context.Context, b *client.Broker) (map[string]*history, error) {
	all := map[string]*history{}
	err := b.Events(ctx, "", 0, func(s events.Record) error {
		h := all[s.Token]
		if h == nil {
			h = new(history)
			all[s.Token] = h
		}
		if s.Type == events.SessionErased {
			h.erased = s.ID.Seq
		}
		h.seqs = append(h.seqs, s.Seq)
		return nil
	})
	return all, err
}

// places returns, by session, the sequence of the input of its erasure.
func places(all map[string]*history) map[string]uint64 {
	list := map[string]uint64{}
	for token, h := range all {
		if h.erased > 0 {
			list[token] = h.erased
		}
	}
	return list
}

// awaitErased waits until nothing is stored from before an erasure. If all is set, no erasure
// has a record any more either, and unless values were damaged the sessions whose retention is over
// are erased. The record of an erasure can be among damaged checkpoints: sessions that
// `streamer verify` names are then erased again.
func (e *erasers) awaitErased(t *testing.T, f *faultInjector, b *client.Broker, all bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), settleTimeOf(t)+eraseTime)
	defer cancel()
	waitFor(t, ctx, b, func() (list []string, err error) {
		if all {
			records, err := b.Erasures(ctx)
			for _, token := range slices.Sorted(maps.Keys(records)) {
				list = append(list, token+": its erasure is not complete")
			}
			if err != nil || len(list) > 0 {
				return list, err
			}
		}
		r, err := audit.Verification{Log: &genuine{Broker: b, forged: f.forged}}.Run(ctx)
		for _, token := range r.Half {
			if f.damaged {
				e.again(ctx, token)
			}
			list = append(list, token+": something is stored from before its erasure")
		}
		if err != nil || !all || f.damaged || f.forged {
			return list, err
		}
		stored, err := histories(ctx, b)
		for token, h := range stored {
			if strings.HasPrefix(token, retained) && (h.erased == 0 || len(h.seqs) > 1) {
				list = append(list, token+": its retention is over, and it is not erased")
			}
		}
		return list, err
	})
}

// again erases a session again.
func (e *erasers) again(ctx context.Context, token string) {
	if err := e.forget(ctx, token, nil); err == nil {
		e.count["again, because the record was damaged"]++
	}
}

// wrong lists what is wrong with the sessions that were erased, by the inputs that were
// acknowledged: those from before the erasure are gone, and nothing else was erased.
func (e *erasers) wrong(places map[string]uint64, inLog map[string]int, acked []acked) (list []string) {
	for token := range places {
		if !e.begun[token] && !strings.HasPrefix(token, retained) {
			list = append(list, fmt.Sprintf("session %s was erased by nobody", token))
		}
	}
	for _, a := range acked {
		place := places[a.token]
		if a.seq < place && inLog[a.id] > 0 {
			list = append(list, fmt.Sprintf("input %s at %d is stored after the erasure of its session at %d", a.id, a.seq, place))
		}
		if began, ok := e.done[a.token]; ok && a.at.Before(began) && a.seq >= place {
			list = append(list, fmt.Sprintf("input %s at %d was acknowledged before an erasure that was answered, and the session was erased at %d", a.id, a.seq, place))
		}
	}
	return list
}

// summary returns how many erasures ended how.
func (e *erasers) summary(places map[string]uint64) string {
	expired := 0
	for token := range places {
		if strings.HasPrefix(token, retained) {
			expired++
		}
	}
	text := fmt.Sprintf("%d sessions were erased, of which %d are retained for a time; the longest erasure that was answered took %.0f s", len(places), expired, e.longest.Seconds())
	for _, how := range slices.Sorted(maps.Keys(e.count)) {
		text += fmt.Sprintf("\n  %4d %s", e.count[how], how)
	}
	return text
}

// restored checks that a backup of the settled cluster is restored in a data directory with
// the same events, and that a streamer which runs there finds the fold of its inputs.
func restored(t *testing.T, f *faultInjector, op *operator, b *client.Broker) (wrong []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), settleTimeOf(t))
	defer cancel()
	dir := t.TempDir()
	if out, err := op.run(ctx, "backup", dir+"/backup"); err != nil {
		t.Fatalf("backup: %v\n%s", err, out)
	}
	s := &single{dir: dir, streamer: op.streamer}
	if out, err := exec.CommandContext(ctx, s.streamer, "restore", dir+"/backup", "--data-dir", s.data()).CombinedOutput(); err != nil {
		t.Fatalf("restore: %v\n%s", err, out)
	}
	s.start(t)
	into := s.open(ctx, t)
	defer into.Close()
	was, err := histories(ctx, b)
	if err != nil {
		t.Fatal(err)
	}
	is, err := histories(ctx, into)
	if err != nil {
		t.Fatal(err)
	}
	for token, h := range was {
		if is[token] == nil || !slices.Equal(is[token].seqs, h.seqs) {
			wrong = append(wrong, fmt.Sprintf("session %s has other events in the restored backup", token))
		}
	}
	awaitEqual(ctx, t, f, into, op)
	return wrong
}

// pause makes the streamers refuse new sessions over HTTP for the time d.
func (f *faultInjector) pause(d time.Duration) {
	f.paused.Lock()
	defer f.paused.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), settleTime)
	defer cancel()
	_, err := f.op.run(ctx, "pause", "--wait", d.String())
	f.note("ended with open calls", err)
	for ctx.Err() == nil {
		out, err := f.op.run(ctx, "pause", "--end")
		if err == nil {
			return
		}
		if ctx.Err() != nil {
			f.t.Errorf("pause --end: %v\n%s", err, out)
		}
	}
}
