package chaos

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"streamer/test/testkit"

	"github.com/nats-io/nats.go"
)

// damageKeys deletes or overwrites some values of a bucket, or purges the bucket.
func (f *faultInjector) damageKeys(bucket string, p params) {
	rnd := rand.New(rand.NewPCG(p.seed, 6))
	stream := "KV_" + bucket
	f.mu.Lock()
	f.damaged = true
	f.mu.Unlock()
	if rnd.IntN(4) == 0 {
		f.note("purged", f.ask("$JS.API.STREAM.PURGE."+stream, ""))
		return
	}
	for range 1 + rnd.IntN(8) {
		subjects, err := f.subjects(stream)
		if err != nil || len(subjects) == 0 {
			f.note("damaged", errors.Join(err, errNothing))
			return
		}
		if err := f.damageKey(stream, subjects[rnd.IntN(len(subjects))], rnd.IntN(len(damages)+1)); err != nil {
			f.note("damaged", err)
		}
		time.Sleep(time.Duration(rnd.Int64N(int64(p.short/8) + 1))) // spreads them over time
	}
}

var errNothing = errors.New("nothing is stored")

// damages are messages that replace a value. Those with own have the header by
// which streamer identifies the messages that it wrote.
var damages = [...]struct {
	own    bool
	header nats.Header
	body   string
}{
	{false, nats.Header{"KV-Operation": {"DEL"}}, ""},
	{false, nats.Header{"KV-Operation": {"PURGE"}, "Nats-Rollup": {"sub"}}, ""},
	{false, nil, ""},
	{false, nil, "garbage"},
	{true, nil, "\x00\xff"},
	{true, nil, "{}"},
	{true, nats.Header{"Streamer-Blob": {"1"}}, `{"sha256":"0"}`},
}

// damageKey replaces the value of one key, or deletes it without a trace.
func (f *faultInjector) damageKey(stream, subject string, way int) error {
	if way == len(damages) {
		return f.ask("$JS.API.STREAM.PURGE."+stream, fmt.Sprintf(`{"filter":%q}`, subject))
	}
	d := damages[way]
	m := &nats.Msg{Subject: subject, Header: maps.Clone(d.header), Data: []byte(d.body)}
	if m.Header == nil {
		m.Header = nats.Header{}
	}
	switch {
	case d.own && stream == "KV_STREAMER_SNAPSHOT":
		m.Header.Set("Nats-TTL", "1h")
	case d.own:
		rev, err := f.revision(stream, subject)
		if err != nil {
			return err
		}
		m.Header.Set("Nats-Expected-Last-Subject-Sequence", strconv.FormatUint(rev, 10))
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_, err := f.nc.RequestMsgWithContext(ctx, m) // refused if streamer wrote the key meanwhile
	return err
}

// revision returns the sequence of the value of a key.
func (f *faultInjector) revision(stream, subject string) (uint64, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	reply, err := f.nc.RequestWithContext(ctx, "$JS.API.STREAM.MSG.GET."+stream, fmt.Appendf(nil, `{"last_by_subj":%q}`, subject))
	if err != nil {
		return 0, err
	}
	var got struct {
		Message struct {
			Seq uint64 `json:"seq"`
		} `json:"message"`
	}
	err = json.Unmarshal(reply.Data, &got)
	return got.Message.Seq, err
}

// ask sends a request to the JetStream API.
func (f *faultInjector) ask(subject, body string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	reply, err := f.nc.RequestWithContext(ctx, subject, []byte(body))
	if err == nil && strings.Contains(string(reply.Data), `"error"`) {
		err = fmt.Errorf("%s: %s", subject, reply.Data)
	}
	return err
}

// flip changes bits in a file of each of some streams of a server while the server is down.
// Afterwards it leads them for the time d, if its server can read them, and its disk is replaced:
// nats-server does not repair such a file, and others cannot be filled from it.
func (f *faultInjector) flip(i int, streams []string, p params) {
	rnd := rand.New(rand.NewPCG(p.seed, 7))
	f.alone(func() {
		f.mu.Lock()
		f.damaged, f.bits = true, f.bits || len(streams) > 1
		f.mu.Unlock()
		f.c.servers[i].end(syscall.SIGKILL)
		for _, stream := range streams {
			where, err := flipIn(filepath.Join(streamsOf(f.c.dirs[i]), stream, "msgs"), rnd)
			f.note("flipped", err)
			f.did(err == nil, "flipped in "+where+" of "+stream)
		}
		f.c.servers[i].start()
		if f.awaitReplicas() {
			for _, stream := range streams {
				f.lead(i, stream)
			}
			time.Sleep(p.short)
		} else {
			f.did(true, "a damaged replica did not come back")
			f.named(i)
		}
		f.renew(i, p.stall, p.short)
	})
}

// lead makes a server lead a stream.
func (f *faultInjector) lead(i int, stream string) {
	err := f.ask("$JS.API.STREAM.LEADER.STEPDOWN."+stream, fmt.Sprintf(`{"placement":{"preferred":%q}}`, f.c.names[i]))
	if err != nil && strings.Contains(err.Error(), "is already leader") {
		err = nil
	}
	f.note("leading", err)
	f.did(err == nil, "a damaged server leads "+stream)
}

// named checks that `streamer doctor` names a server that does not come back.
func (f *faultInjector) named(i int) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	err := testkit.Poll(ctx, func() error {
		out, _ := f.op.run(ctx, "doctor") // fails, because something is wrong
		if !strings.Contains(out, "server "+f.c.names[i]+" does not run or is behind") && !f.current() {
			return errors.New(out)
		}
		return nil
	})
	if err != nil {
		f.t.Errorf("doctor does not name %s, whose replicas are not current: %v", f.c.names[i], err)
	}
}

// flipIn changes bits of one byte in the middle half of a block file in dir, and returns which
// block that is.
func flipIn(dir string, rnd *rand.Rand) (where string, err error) {
	blocks, err := filepath.Glob(filepath.Join(dir, "*.blk"))
	if err != nil || len(blocks) == 0 {
		return "", errors.Join(err, errNothing)
	}
	where = "the only block"
	if len(blocks) > 1 {
		where = "one of several blocks"
	}
	file := blocks[rnd.IntN(len(blocks))]
	data, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	if len(data) < 4 {
		return "", errNothing
	}
	data[len(data)/4+rnd.IntN(len(data)/2)] ^= 0x41
	return where, os.WriteFile(file, data, 0o600)
}
