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

const (
	dayMillis = 24 * 60 * 60 * 1000
	// endOfYears is the first Time whose year has more than four digits.
	endOfYears Time = 253402300800000
)

// append appends the wire form. Each event has a timestamp, and AppendFormat takes
// several times as long.
func (t Time) append(dst []byte) []byte {
	if t < 0 || t >= endOfYears {
		return t.Std().AppendFormat(dst, timeLayout)
	}
	year, month, day := date(uint64(t) / dayMillis)
	ms := uint64(t) % dayMillis
	dst = appendPair(appendPair(dst, year/100), year%100)
	dst = appendPair(append(dst, '-'), month)
	dst = appendPair(append(dst, '-'), day)
	dst = appendPair(append(dst, 'T'), ms/3600000)
	dst = appendPair(append(dst, ':'), ms/60000%60)
	dst = appendPair(append(dst, ':'), ms/1000%60)
	dst = append(dst, '.', '0'+byte(ms/100%10))
	return append(appendPair(dst, ms%100), 'Z')
}

// date returns the date of a number of days after 1970-01-01. It counts in years that
// begin in March, so that the leap day is the last day of a year, and in eras of 400
// years, which have the same number of days.
func date(days uint64) (year, month, day uint64) {
	const era, toMarch = 146097, 719468 // days of an era, and from 0000-03-01 to 1970-01-01
	days += toMarch
	inEra := days % era
	years := (inEra - inEra/1460 + inEra/36524 - inEra/146096) / 365
	inYear := inEra - (365*years + years/4 - years/100)
	fromMarch := (5*inYear + 2) / 153
	year, month, day = years+days/era*400, fromMarch+3, inYear-(153*fromMarch+2)/5+1
	if month > 12 {
		year, month = year+1, month-12
	}
	return year, month, day
}

// appendPair appends a number below 100 as two digits.
func appendPair(dst []byte, n uint64) []byte { return append(dst, '0'+byte(n/10), '0'+byte(n%10)) }

// UnmarshalText parses RFC 3339 with any number of decimals.
func (t *Time) UnmarshalText(b []byte) error {
	v, err := time.Parse(time.RFC3339Nano, string(b))
	if err != nil {
		return fmt.Errorf("events: timestamp: %w", err)
	}
	*t = At(v)
	return nil
}
