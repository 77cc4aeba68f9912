package broker

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Subjects of the JetStream API; the name of a stream follows. The requests do not
// use the library, whose reads go to any replica where a stream allows that: these
// must be answered by the leader.
const (
	apiAccountInfo    = "$JS.API.INFO" // without a stream
	apiStreamInfo     = "$JS.API.STREAM.INFO."
	apiStreamCreate   = "$JS.API.STREAM.CREATE."
	apiStreamUpdate   = "$JS.API.STREAM.UPDATE."
	apiPurge          = "$JS.API.STREAM.PURGE."
	apiMsgGet         = "$JS.API.STREAM.MSG.GET."
	apiMsgDelete      = "$JS.API.STREAM.MSG.DELETE."
	apiConsumerCreate = "$JS.API.CONSUMER.CREATE."
	apiConsumerInfo   = "$JS.API.CONSUMER.INFO."
	apiConsumerDelete = "$JS.API.CONSUMER.DELETE."
	apiConsumerNext   = "$JS.API.CONSUMER.MSG.NEXT."
)

// Error codes of the API, from the server's errors.json.
const (
	codeWrongLastSequence = 10071 // the condition does not hold
	codeConditionInFlight = 10164 // another conditional publish is in flight: the outcome is unknown
	codeMessageTooLarge   = 10054
	codeMessageNotFound   = 10037
	codeDeleteFailed      = 10057 // mostly of a message that is not there
	codeStreamNotFound    = 10059
	codeStreamOther       = 10058 // a stream of that name has another configuration
	codeNoPeers           = 10005 // too few servers for the replicas: a starting cluster does not know all of them
	codeNoResources       = 10023 // the server's limit of storage is reached
	codeStoreFailed       = 10077 // the description has the reason
	codeNoJetStream       = 10039 // not enabled for the account
	codeNotClustered      = 10074 // replicas are requested, but the server has no cluster
)

// AskTimeout is the maximum duration of one try of a request.
const AskTimeout = 3 * time.Second

type apiError struct {
	Code        int    `json:"code"` // as in HTTP
	ErrCode     int    `json:"err_code"`
	Description string `json:"description"`
}

func (e *apiError) Error() string { return fmt.Sprintf("%s (%d)", e.Description, e.ErrCode) }

func (e *apiError) uncertain() bool {
	switch {
	case e.ErrCode == codeConditionInFlight, e.ErrCode == codeNoPeers:
		return true
	case e.ErrCode == codeNotClustered, e.ErrCode == codeNoJetStream, e.ErrCode == codeDeleteFailed: // their status is that of a server failure
		return false
	case e.Code == 408, e.Code == 409, e.Code == 429:
		return true
	}
	return e.Code >= 500
}

// full reports whether the stream refused a message because it has as many bytes
// as it may have. Only the description shows that.
func (e *apiError) full() bool {
	return e.ErrCode == codeStoreFailed && e.Description == "maximum bytes exceeded"
}

type failure struct {
	Err *apiError `json:"error"`
}

type streamInfo struct {
	Config  jetstream.StreamConfig `json:"config"`
	Created time.Time              `json:"created"`
	Clock   time.Time              `json:"ts"` // of the server that answers
	Cluster *jetstream.ClusterInfo `json:"cluster"`
	State   struct {
		Bounds
		Consumers int            `json:"consumer_count"`
		Subjects  map[string]int `json:"subjects"` // a page of those that a filter selects
	} `json:"state"`
	Total int `json:"total"` // number of these subjects
}

// Bounds are the first and the last sequence of a stream. In an empty stream
// First is Last + 1.
type Bounds struct {
	First  uint64    `json:"first_seq"`
	Last   uint64    `json:"last_seq"`
	Bytes  int64     `json:"bytes"`
	LastAt time.Time `json:"last_ts"` // when the last was stored
}

type storedMessage struct {
	Message struct {
		Subject string    `json:"subject"`
		Seq     uint64    `json:"seq"`
		Header  []byte    `json:"hdrs"`
		Data    []byte    `json:"data"`
		Time    time.Time `json:"time"`
	} `json:"message"`
}

// ask sends an API request, and sends it again after every uncertain outcome, as
// long as ctx allows. A definitive refusal is an *apiError.
func (b *Broker) ask(ctx context.Context, subject string, request, answer any) error {
	var before error // of the last try
	for try := 0; ; try++ {
		err := b.askOnce(ctx, subject, request, answer)
		if err != nil && ctx.Err() != nil && before != nil {
			return fmt.Errorf("%w; the try before: %w", ctx.Err(), before)
		}
		if err == nil || !b.worthRetry(ctx, err) {
			return err
		}
		before = err
		if denied := b.denied.Load(); denied != nil && *denied == subject {
			return fmt.Errorf("%w: no permission to publish on %s", ErrRefused, subject)
		}
		b.counts.retried.Add(1)
		if try%10 == 3 {
			b.report(noAnswer, "no answer from JetStream yet on "+subject, err)
		}
		if b.Backoff(ctx, try) != nil {
			return errors.Join(ctx.Err(), err)
		}
	}
}

func (b *Broker) worthRetry(ctx context.Context, err error) bool {
	if refused := (*apiError)(nil); errors.As(err, &refused) {
		return refused.uncertain()
	}
	return ctx.Err() == nil && !errors.Is(err, ErrClosed) && !errors.Is(err, errUnreadable)
}

var errUnreadable = errors.New("unreadable answer")

func (b *Broker) askOnce(ctx context.Context, subject string, request, answer any) error {
	var body []byte
	if request != nil {
		body, _ = json.Marshal(request) // maps and structs of ours: cannot fail
	}
	limited, cancel := context.WithTimeout(ctx, AskTimeout)
	defer cancel()
	reply, err := b.nc.RequestWithContext(limited, subject, body)
	if errors.Is(err, nats.ErrConnectionClosed) {
		return ErrClosed
	}
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return fmt.Errorf("no answer on %s within %v: %w", subject, AskTimeout, err)
	}
	if err != nil {
		return unconnected(err)
	}
	if bytes.Contains(reply.Data, []byte(`"error"`)) {
		var refused failure
		if json.Unmarshal(reply.Data, &refused) == nil && refused.Err != nil {
			return refused.Err
		}
	}
	if err := json.Unmarshal(reply.Data, answer); err != nil {
		return fmt.Errorf("%w on %s: %w", errUnreadable, subject, err)
	}
	return nil
}

// Bounds asks a stream's leader for its bounds. It returns ErrReplaced if the
// input stream is another one than at the start.
func (b *Broker) Bounds(ctx context.Context, stream string) (Bounds, error) {
	var info streamInfo
	if err := b.ask(ctx, apiStreamInfo+stream, nil, &info); err != nil {
		return Bounds{}, fmt.Errorf("broker: stream %s: %w", stream, err)
	}
	if stream == StreamInputs && !info.Created.Equal(b.created) {
		return Bounds{}, fmt.Errorf("%w: stream %s was created at %s, that of the start at %s; event ids would mean other inputs",
			ErrReplaced, stream, info.Created.Format(time.RFC3339), b.created.Format(time.RFC3339))
	}
	info.State.First = max(info.State.First, 1)
	return info.State.Bounds, nil
}

// LastMessage reads the last message on a subject, which may be a wildcard, from
// the stream's leader. It returns nil if there is none.
func (b *Broker) LastMessage(ctx context.Context, stream, subject string) (*Message, error) {
	return b.message(ctx, stream, map[string]any{"last_by_subj": subject})
}

// MessageAt reads the message at a sequence from the stream's leader. It returns
// nil if there is none.
func (b *Broker) MessageAt(ctx context.Context, stream string, seq uint64) (*Message, error) {
	if seq == 0 { // the server reads 0 as no sequence at all
		return nil, nil
	}
	return b.message(ctx, stream, map[string]any{"seq": seq})
}

// NextMessage reads the first message at or after a sequence whose subject
// matches filter, "" for any, from the stream's leader. It returns nil if there
// is none.
func (b *Broker) NextMessage(ctx context.Context, stream, filter string, seq uint64) (*Message, error) {
	return b.message(ctx, stream, map[string]any{"seq": seq, "next_by_subj": everything(filter)})
}

// MessageAfter reads the first message stored after a time whose subject matches filter
// from the stream's leader. It returns nil if there is none.
func (b *Broker) MessageAfter(ctx context.Context, stream, filter string, t time.Time) (*Message, error) {
	return b.message(ctx, stream, map[string]any{"start_time": t.Add(1), "next_by_subj": everything(filter)})
}

// DeleteMessage deletes the message at a sequence. It is no error if there is none.
func (b *Broker) DeleteMessage(ctx context.Context, stream string, seq uint64) error {
	err := b.ask(ctx, apiMsgDelete+stream, map[string]any{"seq": seq, "no_erase": true}, &failure{})
	if err == nil {
		return nil
	}
	// An earlier try may have deleted it.
	if m, failed := b.MessageAt(ctx, stream, seq); failed == nil && m == nil {
		return nil
	}
	return fmt.Errorf("broker: deleting message %d of stream %s: %w", seq, stream, err)
}

// Purge deletes the messages of a stream whose subjects match filter, before a sequence or,
// if that is 0, all of them. It returns how many the last try deleted; 0 where there is no
// such stream.
func (b *Broker) Purge(ctx context.Context, stream, filter string, before uint64) (int, error) {
	var done struct {
		Purged int `json:"purged"`
	}
	err := b.ask(ctx, apiPurge+stream, map[string]any{"filter": filter, "seq": before}, &done)
	if refused := (*apiError)(nil); errors.As(err, &refused) && refused.ErrCode == codeStreamNotFound {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("broker: purging %s of stream %s: %w", filter, stream, err)
	}
	return done.Purged, nil
}

func everything(filter string) string { return cmp.Or(filter, ">") }

func (b *Broker) message(ctx context.Context, stream string, which map[string]any) (*Message, error) {
	var got storedMessage
	err := b.ask(ctx, apiMsgGet+stream, which, &got)
	if refused := (*apiError)(nil); errors.As(err, &refused) && refused.ErrCode == codeMessageNotFound {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("broker: reading stream %s: %w", stream, err)
	}
	m := got.Message
	header, err := nats.DecodeHeadersMsg(m.Header)
	if err != nil { // as in Read, headers that cannot be read count as none
		header = nats.Header{}
	}
	return &Message{Seq: m.Seq, At: m.Time, Subject: m.Subject, Header: header, Data: m.Data}, nil
}

// Subjects calls fn with each subject of a stream that matches filter and the
// number of its messages, a page of subjects at a time.
func (b *Broker) Subjects(ctx context.Context, stream, filter string, fn func(subject string, n int)) error {
	for offset := 0; ; {
		var page streamInfo
		if err := b.ask(ctx, apiStreamInfo+stream, map[string]any{"subjects_filter": filter, "offset": offset}, &page); err != nil {
			return fmt.Errorf("broker: subjects of stream %s: %w", stream, err)
		}
		for subject, n := range page.State.Subjects {
			fn(subject, n)
		}
		if offset += len(page.State.Subjects); len(page.State.Subjects) == 0 || offset >= page.Total {
			return nil
		}
	}
}
