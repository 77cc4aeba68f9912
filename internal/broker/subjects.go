package broker

import (
	"hash/fnv"
	"strings"
	"unicode/utf8"
)

// Headers of NATS, from its ADR-4, ADR-22 and ADR-43. A message keeps the header
// of its condition, from which readers know the message before it.
const (
	HeaderMsgID = "Nats-Msg-Id"
	// HeaderPrev is the condition of an append: the sequence of the last message
	// on the subjects that HeaderPrevOf names, else on the message's own subject.
	HeaderPrev   = "Nats-Expected-Last-Subject-Sequence"
	HeaderPrevOf = "Nats-Expected-Last-Subject-Sequence-Subject"
	headerTTL    = "Nats-TTL"
	// headerLast is the condition of a pulse: the last sequence of the stream. No stream
	// has the impossible one.
	headerLast = "Nats-Expected-Last-Sequence"
	impossible = "9223372036854775807"
)

// SubjectProbe is the subject of probes. It is in no partition, and so in the log
// of none. Where there is only one partition, which is read without a filter,
// probes are delivered as foreign inputs.
const SubjectProbe = "_llm.probe"

// maxToken is the maximum length of a token that can be answered, even with a
// rejection: a line of the protocol has at most 4 KiB, and a condition contains
// the token twice.
const maxToken = 1 << 10

// Answerable reports whether events can be published under a token as it came,
// and the session's event log read by it. Servers accept tokens such as *x, on
// which nothing can be published, and bytes that are not UTF-8, which no request
// in JSON can name: a read would be of another token.
func Answerable(token string) bool {
	return len(token) <= maxToken && publishable(token) && utf8.ValidString(token)
}

// publishable reports whether a subject has neither empty tokens nor wildcards
// nor bytes that end a line of the protocol.
func publishable(subject string) bool {
	last := byte('.')
	for i := range len(subject) {
		c := subject[i]
		switch c {
		case ' ', '\t', '\r', '\n', '*', '>':
			return false
		case '.':
			if last == '.' {
				return false
			}
		}
		last = c
	}
	return last != '.'
}

// RepliesTo reports whether an answer may be sent to a subject. It excludes the empty
// subject and those on which only streamer, the server or publishers of inputs may
// publish. The requester names the subject, and may have fewer rights than this
// connection.
func RepliesTo(subject string) bool {
	if subject == "" || subject[0] == '$' {
		return false
	}
	root, _, _ := strings.Cut(subject, ".")
	switch root + "." {
	case "llm.", "_llm.", "toolcalls.", "_toolcalls.", rootBlobs, RootDead:
		return false
	}
	return true
}

// Partition returns the partition of a session's token. It is that of the server's
// partition(P,1) in the stream's subject transform.
func (b *Broker) Partition(token string) int { return partition(token, b.partitions) }

func partition(token string, of int) int {
	h := fnv.New32a()
	h.Write([]byte(token))
	return int(h.Sum32() % uint32(of))
}
