package broker

import (
	"encoding/json"
	"errors"
	"testing"
)

// plainAck and encoding/json agree.
func FuzzPlainAck(f *testing.F) {
	for _, s := range []string{
		`{"stream":"LLM","seq":42}`,
		`{"stream":"LLM","domain":"hub","seq":18446744073709551615}`,
		`{"stream":"LLM","seq":42,"duplicate": true}`,
		`{"stream":"LLM","seq":0}`,
		`{"error":{"code":400,"err_code":10071,"description":"wrong last sequence: 5"},"stream":"LLM","seq":0}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		seq, ok := plainAck(data)
		if !ok {
			return
		}
		var want struct {
			failure
			Seq       uint64 `json:"seq"`
			Duplicate bool   `json:"duplicate"`
		}
		if err := json.Unmarshal(data, &want); err != nil || seq != want.Seq || want.Err != nil || want.Duplicate || seq == 0 {
			t.Errorf("%q: got %d, want %+v, %v", data, seq, want, err)
		}
	})
}

func TestPlainAck(t *testing.T) {
	for data, want := range map[string]uint64{
		`{"stream":"LLM","seq":42}`:                                    42,
		`{"stream":"LLM","domain":"hub","seq":18446744073709551615}`:   18446744073709551615,
		`{"stream":"LLM","seq":18446744073709551616}`:                  0,
		`{"stream":"LLM","seq":42,"duplicate": true}`:                  0,
		`{"stream":"LLM","seq":0}`:                                     0,
		`{"stream":"LLM","seq":-1}`:                                    0,
		`{"stream":"L\"","seq":7}`:                                     0,
		"{\"stream\":\"L\x06\",\"seq\":7}":                             0,
		`{"stream":"LLM","seq":7`:                                      0,
		`{"stream":"LLM"}`:                                             0,
		`{"error":{"code":503,"err_code":10008,"description":"busy"}}`: 0,
		``: 0,
	} {
		t.Run(data, func(t *testing.T) {
			if got, ok := plainAck([]byte(data)); got != want && ok || ok != (want > 0) {
				t.Errorf("%s: got %d, %v, want %d", data, got, ok, want)
			}
		})
	}
}

// A publish without an answer is sent again until it is stored. A definitive refusal
// ends it.
func TestPublishWaitsForItsStream(t *testing.T) {
	b := start(t, Options{})
	info, err := b.stream(deadline(t), streamBlobs)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.nc.Request("$JS.API.STREAM.DELETE."+streamBlobs, nil, within); err != nil {
		t.Fatal(err)
	}
	acks := make(chan Ack, 2)
	b.Publish(&Pub{Subject: rootBlobs + "x"}, acks)
	b.Publish(&Pub{Subject: rootBlobs + "bad..subject"}, acks)
	if a := <-acks; !errors.Is(a.Err, ErrRefused) {
		t.Errorf("a bad subject: got %+v, want ErrRefused", a)
	}
	info.Config.MaxMsgSize = 10
	if err := b.ask(deadline(t), apiStreamCreate+streamBlobs, info.Config, info); err != nil {
		t.Fatal(err)
	}
	if a := <-acks; a.Err != nil || a.Seq != 1 {
		t.Errorf("got %+v, want sequence 1", a)
	}
	if a := b.PublishWait(deadline(t), &Pub{Subject: rootBlobs + "x", Data: make([]byte, 11)}); !errors.Is(a.Err, ErrTooLarge) {
		t.Errorf("above the stream's limit: got %v, want ErrTooLarge", a.Err)
	}
}

// An append whose answer was lost is sent again, and is not stored twice.
func TestLostAnswer(t *testing.T) {
	b := start(t, Options{})
	acks := make(chan Ack, 10)
	p := event("s", 1, 0)
	answers, err := b.reads.SubscribeSync(b.pubs.inbox + "*")
	if err == nil {
		err = b.reads.Flush()
	}
	if err != nil {
		t.Fatal(err)
	}
	b.pubs.sub.Unsubscribe() // the answer is lost
	b.Publish(p, acks)
	if _, err := answers.NextMsgWithContext(deadline(t)); err != nil {
		t.Fatal(err)
	}
	if b.pubs.sub, err = b.nc.Subscribe(b.pubs.inbox+"*", b.pubs.reply); err != nil {
		t.Fatal(err)
	}
	b.pubs.resendAll()
	if a := <-acks; !errors.Is(a.Err, ErrConflict) || a.Pub != p {
		t.Errorf("got %+v, want ErrConflict", a)
	}
	if got, err := b.Bounds(deadline(t), StreamEvents); got.Last != 1 || err != nil {
		t.Errorf("%d events are stored, %v, want 1", got.Last, err)
	}
}
