package repair

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"

	"streamer/internal/patch"
)

// Answer is the answer to a request, as JSON in pieces. A piece may share its
// bytes with the request, so that a large history is not copied.
type Answer [][]byte

// answer returns {"messages","report"}, {"ops","report"} or {"report"}, depending
// on the output that the request asks for.
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

// Report returns a report as JSON.
func Report(r patch.Report) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(r); err != nil {
		return nil, fmt.Errorf("repair: report: %w", err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// Script returns an edit script as a JSON list. Its messages keep their bytes,
// including white space, which encoding/json would remove.
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

// Len returns the number of bytes.
func (a Answer) Len() (n int) {
	for _, piece := range a {
		n += len(piece)
	}
	return n
}

// Bytes returns the whole answer.
func (a Answer) Bytes() []byte { return bytes.Join(a, nil) }

// WriteTo writes the whole answer to w.
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
