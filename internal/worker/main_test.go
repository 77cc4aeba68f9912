package worker

import (
	"testing"

	"streamer/internal/broker/brokertest"
)

func TestMain(m *testing.M) { brokertest.Main(m) }
