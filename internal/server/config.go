package server

import (
	"os"
	"path/filepath"
	"runtime"
	"time"

	"streamer/internal/client"
	"streamer/internal/gateway"
	"streamer/internal/lifecycle"
	"streamer/internal/natsserver"
	"streamer/internal/telemetry"
	"streamer/internal/worker"
)

// Config is the configuration of a Server.
type Config struct {
	// Broker is the NATS server and its streams. Open sets the passwords of an
	// embedded server and OnNotice.
	Broker client.BrokerOptions
	// Gateway is the HTTP API. Open sets Exposed, Token, Verify, Certificate, Check, Trial,
	// Warnings, Metrics and Repairs.
	Gateway gateway.Options
	// Worker carries inputs through the fold. Open sets Rules and Nonce.
	Worker worker.Options
	// Rules are the settings of the fold.
	Rules Rules

	Roles            Roles
	Retain           []PatternTime // of finished sessions; the first match counts; others are kept as long as their events
	Drain            time.Duration // maximum wait for open calls when Serve ends; if zero, none
	HTTPListen       string        // address of the page and the HTTP API; "" for no HTTP
	TokenFile        string        // file with the token that permits everything; "" for none
	MetricsTokenFile string        // file with the token that permits only to read the metrics; "" for none
	AuthFile         string        // file with the issuers of JSON Web Tokens; "" for none
	CertFile         string        // PEM file of the certificate for TLS; "" for no TLS
	KeyFile          string        // PEM file of its key

	OTLPEndpoint string          // URL to which traces are sent by OTLP; if "", that of OTEL_EXPORTER_OTLP_ENDPOINT, or none
	OTLPContent  bool            // spans have the args and results of calls
	Logs         *telemetry.Logs // sends the lines of the log; Server.Close closes it; nil for none
	MetricTools  int             // maximum number of tools with a label of their own in metrics; if zero, 50

	Tap  TapFlags
	Sink SinkFlags

	RepairBytes int  // maximum size of one history to repair, and of all at once; if zero, 64 MiB
	RepairNATS  bool // also repair histories on the subject streamer.repair
}

const defaultHTTP = "127.0.0.1:8080"

// NewConfig returns the defaults of a server.
func NewConfig() Config {
	return Config{
		Broker:     client.BrokerOptions{Config: natsserver.Config{DataDir: DefaultDataDir(), Listen: client.DefaultNATS}},
		Worker:     worker.Options{SnapshotEvery: time.Second, EvictAfter: time.Minute, Grace: 10 * time.Second},
		Rules:      Rules{Base: lifecycle.DefaultRules()},
		Roles:      Roles{Worker: true, Gateway: true, Sink: true},
		HTTPListen: defaultHTTP,
		RepairNATS: true,
	}
}

// DefaultDataDir returns the user's directory for data that outlives a restart.
func DefaultDataDir() string {
	if dir := os.Getenv("XDG_DATA_HOME"); dir != "" {
		return filepath.Join(dir, "streamer")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return filepath.Join(os.TempDir(), "streamer")
	}
	switch runtime.GOOS {
	case "darwin":
		return filepath.Join(home, "Library", "Application Support", "streamer")
	case "windows":
		return filepath.Join(home, "AppData", "Local", "streamer")
	}
	return filepath.Join(home, ".local", "share", "streamer")
}
