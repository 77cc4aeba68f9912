package tap

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"streamer/internal/events"
	"streamer/internal/inputs"
)

func humanMessage(text string) []byte {
	body, _ := json.Marshal(map[string]string{"role": "user", "content": text}) // cannot fail
	return body
}

// next returns the message id of the next input of an exchange.
func (x *exchange) next() string {
	x.sent++
	return x.id + "." + strconv.Itoa(x.sent)
}

// publish stores an input in the place of a line. It tries again until the patience of the
// tap ends. An error is counted as a loss.
func (x *exchange) publish(l *line, kind inputs.Kind, id string, header inputs.Header, data []byte) error {
	token, err := events.Token(l.session)
	if err != nil {
		x.tap.lose(len(data), err)
		return err
	}
	if l.namespace != "" {
		if header == nil {
			header = inputs.Header{}
		}
		header[inputs.HeaderNamespace] = []string{l.namespace}
		if l.parent != "" {
			header[inputs.HeaderParentCall] = []string{l.parent}
		}
	}
	until := time.Now().Add(x.tap.opts.Patience)
	for wait := 50 * time.Millisecond; ; wait = min(2*wait, 2*time.Second) {
		ctx, cancel := context.WithTimeout(x.tap.ctx, 10*time.Second)
		_, _, err = x.tap.opts.Publish(ctx, token, kind, token+":tap:"+id, header, data)
		cancel()
		if err == nil {
			return nil
		}
		if errors.Is(err, inputs.ErrTooLarge) || time.Now().Add(wait).After(until) || x.tap.ctx.Err() != nil {
			x.tap.lose(len(data), err)
			return err
		}
		select {
		case <-time.After(wait):
		case <-x.tap.ctx.Done():
		}
	}
}
