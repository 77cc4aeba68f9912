package chaos

import (
	"fmt"

	"streamer/internal/worker"
)

// excuses returns the messages of the errors that streamers must log because of the
// injected faults.
func (f *faultInjector) excuses() (list []string) {
	list = append(list,
		"session not erased", "input not stored", // the client repeats the request, or has ended
		"event log lost events of a session") // a server that begins to lead can answer before it has applied all
	if f.damaged || f.forged || len(f.lost) > 0 { // events whose inputs are lost may have no snapshot
		list = append(list,
			"snapshot damaged; folding the session again from its inputs",
			"checkpoint missing or damaged; folding from the first input in the log")
	}
	if f.forged {
		list = append(list, "forged message in the event log skipped")
	}
	if len(f.lost) > 0 {
		list = append(list, "snapshot lost and cannot be rebuilt; session held until `streamer recover --yes` closes its open calls", worker.ErrRewound.Error())
	}
	return list
}

// logs lists unexpected exits of processes and lines that must not be in their
// logs. It logs how often partitions started again and damage was found.
func (f *faultInjector) logs() (wrong []string) {
	ignored := 0
	for _, p := range append(f.c.servers[:], f.f.workers[:]...) {
		wrong = append(wrong, p.unexpectedExits()...)
	}
	for _, p := range f.f.workers {
		r := logged(f.t, p, f.excuses())
		wrong = append(wrong, r.wrong...)
		ignored += r.ignored
		for why, n := range r.again {
			f.t.Logf("%s: partitions started again %d times: %s", p.name, n, why)
		}
		for what, n := range r.excused {
			f.t.Logf("%s: %d times: %s", p.name, n, what)
		}
	}
	// Some of the acknowledgements may have been refused or not been read.
	if f.forged && ignored == 0 && f.count["acknowledgements within the account"] > 3 {
		wrong = append(wrong, fmt.Sprintf("a client in the account of the streams stored acknowledgements there %d times, and no streamer reported one", f.count["acknowledgements within the account"]))
	}
	return wrong
}
