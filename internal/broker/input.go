package broker

import (
	"context"
	"strconv"
	"strings"
	"unicode/utf8"

	"streamer/internal/inputs"
)

// Input is one message of the input log.
type Input = inputs.Input

// subjectProbe is where probes are stored: in no partition, and so in the log of
// none. Only where there is one partition, which is read without a filter, they
// are delivered, as inputs.Probe and Foreign.
const subjectProbe = "_llm.probe"

// longestToken bounds a token that can be answered, even to refuse it: a line
// of the protocol holds 4 KiB, and a condition names the token twice.
const longestToken = 1 << 10

// answerable reports whether events can be published under a token as it came,
// and the session's event log read by it. A server lets tokens such as *x pass,
// which are no subject to publish on, and bytes that are not UTF-8, which no
// request in JSON can name: reads would be of another token.
func answerable(token string) bool {
	return len(token) <= longestToken && publishable(token) && utf8.ValidString(token)
}

// input reads what the subject tells: _llm.<p>.<token>.<kind> or _llm.<p>.rules.
func (b *Broker) input(m stored, partition int) Input {
	in := Input{Seq: m.seq, At: m.at, Subject: m.subject, Header: inputs.Header(m.header), Data: m.data, Partition: partition, Foreign: true}
	if m.subject == subjectProbe {
		in.Kind = inputs.Probe
		return in
	}
	p, rest := partitionOf(m.subject)
	if p != partition {
		return in
	}
	token, kind, more := strings.Cut(rest, ".")
	switch {
	case !more && token == string(inputs.Rules):
		in.Kind, in.Foreign = inputs.Rules, !b.ours(m)
	case more && inputs.Kind(kind).OfSession():
		in.Token, in.Kind = token, inputs.Kind(kind)
		in.Foreign = b.Partition(token) != partition || !answerable(token) || in.Kind == inputs.Clock && !b.ours(m)
	}
	return in
}

// IsInput reports whether the message at a sequence of the input log is an input
// of a session and kind. It reports true where there is no message any more:
// then whatever was there has been read.
func (b *Broker) IsInput(ctx context.Context, seq uint64, token string, kind inputs.Kind) (bool, error) {
	m, err := b.message(ctx, streamInputs, map[string]any{"seq": seq})
	if err != nil || m == nil {
		return err == nil, err
	}
	return m.Subject == partitionRoot(b.Partition(token))+token+"."+string(kind), nil
}

// ours reports whether streamer wrote an input that only it may write.
func (b *Broker) ours(m stored) bool {
	if own(m.header, ownInput) {
		return true
	}
	b.ignored("foreign input", m.subject, m.seq)
	return false
}

// partitionOf reads the partition of a stored input's subject, and gives the
// rest; what has none is in a partition that nobody has.
func partitionOf(subject string) (partition int, rest string) {
	text, rest, dotted := strings.Cut(strings.TrimPrefix(subject, "_llm."), ".")
	p, err := strconv.Atoi(text)
	if err != nil || p < 0 || !dotted || text != strconv.Itoa(p) {
		return 1 << 30, ""
	}
	return p, rest
}
