package worker

import (
	"context"
	"sync"

	"streamer/internal/broker"
)

// effects are what a partition asks for while it takes an event: publishes and reads.
// The driver performs them afterwards, and their outcomes come back as events.
type effects struct {
	publishes []*broker.Pub
	reads     []read
}

// operation is I/O that a partition asks for. It runs in a goroutine of its own, reads
// and writes no state of the partition, and returns a result that partition.result
// knows.
type operation func(ctx context.Context) any

// read is an operation and the group that it belongs to.
type read struct {
	group *operations
	run   operation
}

// operationResult is the event that an operation has finished.
type operationResult struct {
	group  *operations
	result any
}

// operations is a group of operations, of which so many run at once.
type operations struct {
	effects *effects
	limit   int
	running int
	waiting []operation
}

func (o *operations) start(op operation) {
	if o.running == o.limit {
		o.waiting = append(o.waiting, op)
		return
	}
	o.running++
	o.effects.reads = append(o.effects.reads, read{o, op})
}

// finish notes that an operation has finished and starts the next that waits.
func (o *operations) finish() {
	o.running--
	if len(o.waiting) == 0 {
		o.waiting = nil
		return
	}
	next := o.waiting[0]
	o.waiting[0] = nil
	o.waiting = o.waiting[1:]
	o.start(next)
}

// maxFlights bounds the publishes of a partition that are under way. With more of them
// a server stores no faster, and each waits longer. The channel of their outcomes has
// room for all of them, so that the broker never waits for the partition.
const maxFlights = 512

// publisher bounds the publishes of a partition.
type publisher struct {
	effects *effects
	flights int           // publishes without an outcome yet
	waiting []*broker.Pub // until one of these has its outcome
}

func (p *publisher) publish(pub *broker.Pub) {
	if p.flights == maxFlights {
		p.waiting = append(p.waiting, pub)
		return
	}
	p.flights++
	p.effects.publishes = append(p.effects.publishes, pub)
}

func (p *publisher) finish() {
	p.flights--
	if len(p.waiting) == 0 {
		p.waiting = nil
		return
	}
	next := p.waiting[0]
	p.waiting[0] = nil
	p.waiting = p.waiting[1:]
	p.publish(next)
}

// driver passes events to a partition and performs its effects.
type driver struct {
	*partition
	acks  chan broker.Ack
	done  chan operationResult // has room for the results of all operations
	spawn func(read)           // runs an operation in a goroutine of tasks
	tasks sync.WaitGroup
}

// newDriver returns the driver of a partition. working is the context of the operations.
func newDriver(working context.Context, q *partition) *driver {
	d := &driver{partition: q, acks: make(chan broker.Ack, maxFlights), done: make(chan operationResult, loadsAtOnce+choresAtOnce)}
	d.spawn = func(r read) { d.tasks.Go(func() { d.done <- operationResult{r.group, r.run(working)} }) }
	return d
}

func (d *driver) step(event any) error {
	err := d.partition.step(event)
	for _, p := range d.publishes {
		d.log.Publish(p, d.acks)
	}
	for _, r := range d.reads {
		d.spawn(r)
	}
	clear(d.publishes)
	clear(d.reads)
	d.publishes, d.reads = d.publishes[:0], d.reads[:0]
	return err
}

// until passes outcomes to the partition until a condition holds, stop is closed, or an
// error. It reports whether the condition holds.
func (d *driver) until(stop <-chan struct{}, holds func() bool) (bool, error) {
	for !holds() {
		var event any
		select {
		case event = <-d.acks:
		case event = <-d.done:
		case <-stop:
			return false, nil
		}
		if err := d.step(event); err != nil {
			return false, err
		}
	}
	return true, nil
}
