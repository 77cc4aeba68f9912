package broker

import (
	"context"
	"encoding/json"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
)

// Headers of the answers to a direct read of several messages, and the status that
// ends them.
const (
	headerDirectStream  = "Nats-Stream"
	headerDirectPending = "Nats-Num-Pending"
	statusEnd           = "204"
)

// Limits of one direct read of several messages. The stream stores nothing meanwhile.
// The server refuses a request for more than 1,024 messages.
const (
	lastsSubjects = 256
	lastsBytes    = 1 << 20 // at least one message is answered
)

// LastMessages reads the last message on each of many subjects, none of them a
// wildcard or twice in the list, and calls fn with each message that was read. Many
// at once cost a third of LastMessage. A subject without a message can be empty, or
// was not read: LastMessage shows which.
//
// A direct read is answered by any server that has the stream, a mirror of it
// included. A replica or a mirror can lack messages, and after a power loss of the
// leader it can have messages that the leader lost. So nothing is read of a stream
// with replicas, and answers of mirrors are left out.
func (b *Broker) LastMessages(ctx context.Context, stream string, subjects []string, fn func(Message)) {
	if len(subjects) == 0 || time.Now().UnixNano() < b.noLasts.Load() {
		return
	}
	if info, err := b.stream(ctx, stream); err != nil || info == nil || info.Config.Replicas > 1 {
		return
	}
	for len(subjects) > 0 {
		n := min(lastsSubjects, len(subjects))
		if !b.lasts(ctx, stream, subjects[:n], fn) {
			if ctx.Err() == nil {
				b.noLasts.Store(time.Now().Add(recallPause).UnixNano())
			}
			return
		}
		subjects = subjects[n:]
	}
}

// lasts is LastMessages for few subjects. It returns false where the server does not
// answer such reads.
func (b *Broker) lasts(ctx context.Context, stream string, subjects []string, fn func(Message)) bool {
	missing := make(map[string]bool, len(subjects))
	for _, s := range subjects {
		missing[s] = true
	}
	for len(subjects) > 0 {
		more, ok := b.lastsOnce(ctx, stream, subjects, func(m Message) {
			if missing[m.Subject] {
				delete(missing, m.Subject)
				fn(m)
			}
		})
		if !more || !ok || len(missing) == len(subjects) {
			return ok
		}
		subjects = make([]string, 0, len(missing))
		for s := range missing {
			subjects = append(subjects, s)
		}
	}
	return true
}

// lastsOnce sends one request. more reports whether the answer was cut off for its
// size.
func (b *Broker) lastsOnce(ctx context.Context, stream string, subjects []string, fn func(Message)) (more, ok bool) {
	ctx, cancel := context.WithTimeout(ctx, AskTimeout)
	defer cancel()
	in, inbox := make(chan *nats.Msg, len(subjects)+1), b.reads.NewInbox()
	sub, err := b.reads.ChanSubscribe(inbox, in)
	if err != nil {
		return false, false
	}
	defer sub.Unsubscribe()
	body, _ := json.Marshal(map[string]any{"multi_last": subjects, "max_bytes": lastsBytes}) // cannot fail
	if b.reads.PublishRequest(apiDirectGet+stream, inbox, body) != nil {
		return false, false
	}
	for {
		select {
		case reply := <-in:
			switch status := reply.Header.Get("Status"); status {
			case "":
				if m, ok := directMessage(reply, stream); ok {
					fn(m)
				}
			case statusEnd:
				pending, _ := strconv.Atoi(reply.Header.Get(headerDirectPending))
				return pending > 0, true
			default: // 404: nothing is stored, or a message is damaged
				return false, status == "404"
			}
		case <-ctx.Done():
			return false, false
		}
	}
}

// directMessage returns the message in an answer to a direct read. ok is false where
// it is not the stream itself that answers. A client can store a message with the
// headers of an answer: it then has one of them twice.
func directMessage(reply *nats.Msg, stream string) (m Message, ok bool) {
	h := reply.Header
	for _, k := range [...]string{headerDirectStream, headerDirectSubject, headerDirectSeq, headerDirectAt} {
		if len(h[k]) != 1 {
			return m, false
		}
	}
	seq, err := strconv.ParseUint(h.Get(headerDirectSeq), 10, 64)
	if err != nil || h.Get(headerDirectStream) != stream {
		return m, false
	}
	at, err := time.Parse(time.RFC3339Nano, h.Get(headerDirectAt))
	return Message{seq, at, h.Get(headerDirectSubject), h, reply.Data}, err == nil
}
