package events

import (
	"fmt"
	"time"
)

// Time is a moment in milliseconds since the Unix epoch. In JSON it is RFC 3339
// in UTC with exactly three decimals. Zero means no time.
type Time int64

const timeLayout = "2006-01-02T15:04:05.000Z"

// At returns the Time of t, truncated to the millisecond.
func At(t time.Time) Time { return Time(t.UnixMilli()) }

// Add returns the moment d later.
func (t Time) Add(d time.Duration) Time { return t + Time(d.Milliseconds()) }

// Std returns the moment as a time.Time in UTC.
func (t Time) Std() time.Time { return time.UnixMilli(int64(t)).UTC() }

// String returns the wire form.
func (t Time) String() string { return string(t.append(make([]byte, 0, len(timeLayout)))) }

// MarshalText returns the wire form.
func (t Time) MarshalText() ([]byte, error) { return t.append(make([]byte, 0, len(timeLayout))), nil }

// append appends the wire form. Each event has a timestamp, and the layout takes longer
// than that of RFC 3339 without decimals.
func (t Time) append(dst []byte) []byte {
	at := t.Std()
	dst = at.AppendFormat(dst, time.RFC3339)
	ms := at.Nanosecond() / int(time.Millisecond)
	return append(dst[:len(dst)-1], '.', '0'+byte(ms/100), '0'+byte(ms/10%10), '0'+byte(ms%10), 'Z')
}

// UnmarshalText parses RFC 3339 with any number of decimals.
func (t *Time) UnmarshalText(b []byte) error {
	v, err := time.Parse(time.RFC3339Nano, string(b))
	if err != nil {
		return fmt.Errorf("events: timestamp: %w", err)
	}
	*t = At(v)
	return nil
}
