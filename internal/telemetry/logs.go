package telemetry

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/rs/zerolog"
	"github.com/tidwall/gjson"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploghttp"
	"go.opentelemetry.io/otel/log"
	sdklog "go.opentelemetry.io/otel/sdk/log"
)

// Logs sends the lines of a zerolog.Logger by OTLP over HTTP: message and level as body and
// severity, other fields as attributes. Lines that cannot be sent are dropped.
type Logs struct {
	provider *sdklog.LoggerProvider
	logger   log.Logger
	failed   func(error)
}

// NewLogs returns a Logs that sends to a URL, or if it is "", to the one of
// OTEL_EXPORTER_OTLP_LOGS_ENDPOINT; nil if there is none. failed is called with the errors of
// the exporter: it must not log to the Logs. The caller closes it.
func NewLogs(ctx context.Context, url string, failed func(error)) (*Logs, error) {
	if url == "" && os.Getenv("OTEL_EXPORTER_OTLP_LOGS_ENDPOINT") == "" {
		return nil, nil
	}
	options, err := optionsOf(url, otlploghttp.WithEndpointURL)
	if err != nil {
		return nil, err
	}
	e, err := otlploghttp.New(ctx, options...)
	if err != nil {
		return nil, fmt.Errorf("telemetry: OTLP exporter: %w", err)
	}
	res, err := newResource(ctx)
	if err != nil {
		return nil, err
	}
	p := sdklog.NewLoggerProvider(sdklog.WithProcessor(sdklog.NewBatchProcessor(logExporter{e, failed})), sdklog.WithResource(res))
	return &Logs{p, p.Logger("streamer"), failed}, nil
}

// logExporter reports its errors to a function. The handler of the library would log them,
// which would be the next lines to send.
type logExporter struct {
	sdklog.Exporter
	failed func(error)
}

func (e logExporter) Export(ctx context.Context, lines []sdklog.Record) error {
	if err := e.Exporter.Export(ctx, lines); err != nil {
		e.failed(err)
	}
	return nil
}

var severities = map[string]log.Severity{
	zerolog.LevelDebugValue: log.SeverityDebug, zerolog.LevelInfoValue: log.SeverityInfo,
	zerolog.LevelWarnValue: log.SeverityWarn, zerolog.LevelErrorValue: log.SeverityError,
}

// Write takes a line of JSON. It never waits and never fails.
func (l *Logs) Write(line []byte) (int, error) {
	var r log.Record
	r.SetTimestamp(time.Now()) // that of the line has whole seconds
	gjson.ParseBytes(line).ForEach(func(key, v gjson.Result) bool {
		switch key.Str {
		case zerolog.TimestampFieldName:
		case zerolog.LevelFieldName:
			r.SetSeverityText(v.Str)
			r.SetSeverity(severities[v.Str])
		case zerolog.MessageFieldName:
			r.SetBody(attribute.StringValue(v.Str))
		default:
			r.AddAttributes(attribute.KeyValue{Key: attribute.Key(key.Str), Value: valueOf(v)})
		}
		return true
	})
	l.logger.Emit(context.Background(), r)
	return len(line), nil
}

func valueOf(v gjson.Result) attribute.Value {
	switch v.Type {
	case gjson.Number:
		if n := v.Int(); float64(n) == v.Num {
			return attribute.Int64Value(n)
		}
		return attribute.Float64Value(v.Num)
	case gjson.True, gjson.False:
		return attribute.BoolValue(v.Bool())
	}
	return attribute.StringValue(v.String()) // of a value that is no string, its JSON
}

// Close sends the lines that are not sent yet. failed has its errors.
func (l *Logs) Close(ctx context.Context) {
	if err := l.provider.Shutdown(ctx); err != nil {
		l.failed(err)
	}
}
