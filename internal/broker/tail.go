package broker

import "context"

// Tail reads the events after sequence after, of one session or, with token
// "", of all: first the history with live false, then once fn(Stored{}, true),
// then what comes, for ever, with live true. No event is left out and none
// comes twice. Tails of one session share a NATS subscription; a slow fn holds
// up only its own. Tail returns fn's error or ctx's.
func (b *Broker) Tail(ctx context.Context, token string, after uint64, fn func(s Stored, live bool) error) error {
	return errTODO
}
