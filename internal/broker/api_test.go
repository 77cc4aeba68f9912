package broker

import (
	"testing"

	"github.com/nats-io/nats.go"
)

// A request that is refused temporarily is sent again. The error of the first reply
// does not remain in the answer.
func TestTemporaryRefusal(t *testing.T) {
	b := start(t, Options{})
	refusals := []string{
		`{"error":{"code":503,"err_code":10008,"description":"JetStream system temporarily unavailable"}}`,
		`{"error":{"code":400,"err_code":10005,"description":"no suitable peers for placement"}}`,
	}
	asked := 0
	sub, err := b.nc.Subscribe("api.test", func(m *nats.Msg) {
		answer := `{"state":{"first_seq":3,"last_seq":7}}`
		if asked < len(refusals) {
			answer = refusals[asked]
		}
		_ = m.Respond([]byte(answer)) // the request is sent again if it fails
		asked++
	})
	if err != nil {
		t.Fatal(err)
	}
	defer sub.Unsubscribe()
	var info streamInfo
	if err := b.ask(deadline(t), "api.test", nil, &info); err != nil || info.State.Last != 7 {
		t.Errorf("got last_seq %d and %v, want 7", info.State.Last, err)
	}
}
