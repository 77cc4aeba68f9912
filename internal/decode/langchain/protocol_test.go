package langchain

import (
	"strconv"
	"strings"
	"testing"

	"streamer/internal/decode/wire"
)

// TestProtocolIsBounded begins more messages, and fails more tools, than the state
// stores.
func TestProtocolIsBounded(t *testing.T) {
	var m protocol
	long := strings.Repeat("x", wire.MaxID+1)
	m.begin(protocolOpen{ID: long})
	m.Failed.AddNew(long, maxFailed)
	for i := range 2 * maxOpen {
		id := strconv.Itoa(i)
		m.begin(protocolOpen{Namespace: "agent:" + id, ID: id})
		m.Failed.AddNew(id, maxFailed)
		m.cause("tools:"+id, id)
	}
	m.cause("tools:"+long, "c")
	m.cause("tools:0", long)
	if len(m.Open) != maxOpen || len(m.Failed) != maxFailed || len(m.Causes) != maxCauses {
		t.Errorf("%d messages, %d calls and %d causes are stored, want %d, %d and %d",
			len(m.Open), len(m.Failed), len(m.Causes), maxOpen, maxFailed, maxCauses)
	}
	last := strconv.Itoa(2*maxOpen - 1)
	if i := m.find("agent:"+last, ""); i < 0 || m.Open[i].ID != last || !m.Failed.Has(last) || m.Failed.Has("0") {
		t.Errorf("the latest are not stored: %+v", m)
	}
	if got := m.causeOf("tools:" + last + "|agent:1"); got != last || m.causeOf("tools:0|agent:1") != "" {
		t.Errorf("the cause of the latest graph is %q, want %q; that of the oldest %q", got, last, m.causeOf("tools:0|agent:1"))
	}
	m.drop(m.find("agent:"+last, ""))
	m.Failed.Remove(last)
	if m.find("agent:"+last, "") >= 0 || m.Failed.Has(last) {
		t.Errorf("%s is still stored: %+v", last, m)
	}
}
