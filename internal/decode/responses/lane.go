package responses

import (
	"slices"
	"strings"

	"streamer/internal/decode/wire"
	"streamer/internal/stored"
)

// Lane is the state of one queue of responses. Responses of different lanes are streamed
// at the same time. Over a WebSocket the stream_id names the lane, and in the Realtime
// API each response is one. The lane without a name is that of all other streams.
type Lane struct {
	Name    string
	Message string // id of the response that began last
	Open    bool   // it has not ended
	Failed  bool   // it has ended with a failure
	// Calls are those of the response, the latest at the end.
	Calls []Call
}

func (l *Lane) fields(f *stored.Fields) {
	f.Text("s", &l.Name)
	f.Text("m", &l.Message)
	f.Flag("o", &l.Open)
	f.Flag("f", &l.Failed)
	stored.List(f, "c", &l.Calls, (*Call).fields)
}

// maxLanes is the maximum number of lanes that are stored besides the current one.
const maxLanes = 64

// enter makes the lane with a name the current one. A named lane without an open response
// is forgotten.
func (d *decoder) enter(name string) {
	if name = name[:min(len(name), wire.MaxID)]; name == d.Name {
		return
	}
	next := Lane{Name: strings.Clone(name)}
	at := slices.IndexFunc(d.Others, func(l Lane) bool { return l.Name == name })
	if at >= 0 {
		next = d.Others[at]
		d.Others = slices.Delete(d.Others, at, at+1)
	}
	if d.Name == "" && d.Message != "" || d.Open {
		d.Others = append(makeRoom(d.Others), d.Lane)
	}
	d.Lane = next
}

// makeRoom returns a list to which a lane can be appended. The oldest named lane goes.
func makeRoom(list []Lane) []Lane {
	if len(list) < maxLanes {
		return list
	}
	at := slices.IndexFunc(list, func(l Lane) bool { return l.Name != "" })
	return slices.Delete(list, at, at+1)
}

func (d *decoder) beside() bool {
	return slices.ContainsFunc(d.Others, func(l Lane) bool { return l.Open })
}

// parallel reports whether responses of other lanes may go on when that of this one ends.
func (d *decoder) parallel() bool { return d.Name != "" || d.beside() }

func (l *Lane) reset(message string, open bool) {
	*l = Lane{Name: l.Name, Message: message, Open: open}
}
