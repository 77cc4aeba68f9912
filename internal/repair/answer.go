package repair

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"

	"streamer/internal/patch"
)

// Answer is what a repair gave, as JSON in pieces: the largest of them may be
// the request's own bytes.
type Answer [][]byte

// answer writes {"messages","report"}, {"ops","report"} or {"report"}, by the
// output that was asked for.
func answer(r Request, done patch.Repaired) (Answer, error) {
	report, err := Report(done.Report)
	if err != nil {
		return nil, err
	}
	end := [][]byte{[]byte(`"report":`), report, []byte("}\n")}
	switch r.Options.Output {
	case "check":
		return append(Answer{[]byte("{")}, end...), nil
	case "ops":
		return append(Answer{[]byte(`{"ops":`), Script(done.Script), []byte(",")}, end...), nil
	}
	return append(Answer{[]byte(`{"messages":`), done.History, []byte(",")}, end...), nil
}

// Report writes a report as JSON.
func Report(r patch.Report) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(r); err != nil {
		return nil, fmt.Errorf("repair: report: %w", err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// Script writes an edit script as a JSON list. Messages in it keep their bytes,
// white space too, which encoding/json would leave out.
func Script(steps []patch.Edit) []byte {
	b := []byte{'['}
	for i, s := range steps {
		if i > 0 {
			b = append(b, ',')
		}
		switch {
		case s.Copy != nil:
			b = append(b, `{"copy":[`...)
			b = strconv.AppendInt(b, int64(s.Copy[0]), 10)
			b = append(b, ',')
			b = strconv.AppendInt(b, int64(s.Copy[1]), 10)
			b = append(b, "]}"...)
		case s.Replace != nil:
			b = append(b, `{"replace":{"message":`...)
			b = strconv.AppendInt(b, int64(s.Replace.Message), 10)
			b = append(b, `,"with":`...)
			b = append(b, s.Replace.With...)
			b = append(b, "}}"...)
		default:
			b = append(b, `{"insert":`...)
			b = append(b, s.Insert...)
			b = append(b, '}')
		}
	}
	return append(b, ']')
}

// Len is the number of bytes.
func (a Answer) Len() (n int) {
	for _, piece := range a {
		n += len(piece)
	}
	return n
}

// Bytes gives the whole.
func (a Answer) Bytes() []byte { return bytes.Join(a, nil) }

// WriteTo writes the whole.
func (a Answer) WriteTo(w io.Writer) (n int64, err error) {
	for _, piece := range a {
		m, err := w.Write(piece)
		n += int64(m)
		if err != nil {
			return n, err
		}
	}
	return n, nil
}
