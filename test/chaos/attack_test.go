package chaos

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"streamer/internal/client"

	"github.com/nats-io/nats.go"
)

// Sessions of clients that name internal subjects for the acknowledgements of
// their inputs. The client of outsider is in the account of clients, and the client
// of insider in the account of the streams.
const (
	outsider = "outsider"
	insider  = "insider"
	// canary and the session are part of the subjects on which only such an
	// acknowledgement is stored.
	canary = "canary-"
)

// forge publishes inputs and names internal subjects for their acknowledgements:
// subjects of snapshots, checkpoints, settings, large values and events that are in
// use, and one subject of each kind that is not in use.
func (f *faultInjector) forge(nc *nats.Conn, session string, p params) {
	f.mu.Lock()
	f.forged = f.forged || session == insider
	f.mu.Unlock()
	rnd := rand.New(rand.NewPCG(p.seed, 5))
	replies := append(f.internal(rnd), canaries(canary+session)...)
	for _, reply := range replies {
		if err := nc.PublishRequest("llm."+session+".interrupt", reply, []byte("{}")); err != nil {
			f.note("forged", err)
			return
		}
		time.Sleep(time.Duration(rnd.Int64N(int64(p.short/8) + 1))) // spreads them over time
	}
	if err := nc.FlushTimeout(time.Second); err != nil {
		f.note("forged", err)
	}
}

// internal returns subjects of each kind that streamer uses.
func (f *faultInjector) internal(rnd *rand.Rand) (list []string) {
	for _, stream := range []string{"KV_STREAMER_SNAPSHOT", "STREAMER_BLOBS"} {
		subjects, err := f.subjects(stream)
		if err != nil {
			f.note("listed", err)
		}
		for range min(2, len(subjects)) {
			list = append(list, subjects[rnd.IntN(len(subjects))])
		}
	}
	p := strconv.Itoa(rnd.IntN(partitions))
	list = append(list, "$KV.STREAMER_CHECKPOINT."+p, "_llm."+p+".rules")
	for range 2 {
		if token := f.tokens.random(rnd); token != "" {
			list = append(list, "_toolcalls."+token+".x")
		}
	}
	return list
}

// canaries returns subjects of each kind that streamer does not use.
func canaries(name string) []string {
	return []string{
		"$KV.STREAMER_SNAPSHOT.0." + name, "$KV.STREAMER_CHECKPOINT." + name, "_llm.0." + name + ".clock", "_llm." + name + ".rules",
		"_blobs." + name, "_toolcalls." + name + ".x",
	}
}

// subjects lists the subjects of the messages of a stream.
func (f *faultInjector) subjects(stream string) ([]string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	reply, err := f.nc.RequestWithContext(ctx, "$JS.API.STREAM.INFO."+stream, []byte(`{"subjects_filter":">"}`))
	if err != nil {
		return nil, err
	}
	var info struct {
		Error *struct {
			Description string `json:"description"`
		} `json:"error"`
		State struct {
			Subjects map[string]uint64 `json:"subjects"`
		} `json:"state"`
	}
	if err := json.Unmarshal(reply.Data, &info); err != nil {
		return nil, err
	}
	if info.Error != nil {
		return nil, fmt.Errorf("subjects of stream %s: %s", stream, info.Error.Description)
	}
	return slices.Sorted(maps.Keys(info.State.Subjects)), nil
}

// leaked lists the internal subjects on which an acknowledgement of a client in its
// own account is stored. There must be none.
func (f *faultInjector) leaked(t *testing.T, b *client.Broker) (list []string) {
	f.control(t, b)
	for _, stream := range streams {
		subjects, err := f.subjects(stream)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range subjects {
			if strings.Contains(s, canary+outsider) {
				list = append(list, fmt.Sprintf("stream %s has a message on %s: a client of another account stored it", stream, s))
			}
		}
	}
	return list
}

// control checks that leaked would find an acknowledgement on an internal subject:
// a client in the account of the streams can have one stored there.
func (f *faultInjector) control(t *testing.T, b *client.Broker) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), settleTime)
	defer cancel()
	subject := "_blobs." + canary + insider
	waitFor(t, ctx, b, func() ([]string, error) {
		if err := f.nc.PublishRequest("llm."+insider+".interrupt", subject, []byte("{}")); err != nil {
			return nil, err
		}
		subjects, err := f.subjects("STREAMER_BLOBS")
		if err == nil && !slices.Contains(subjects, subject) {
			return []string{"no acknowledgement is stored on " + subject}, nil
		}
		return nil, err
	})
}
