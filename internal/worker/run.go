package worker

import (
	"context"
	"time"
)

const (
	ticksEvery = 8 // ticks in SnapshotEvery
	listEvery  = time.Minute
)

// run takes a partition over and carries it until ctx ends. Operations go on a little
// longer than ctx, so that the next owner finds what was under way.
func (w *Worker) runPartition(ctx context.Context, p int) error {
	q := newPartition(w, p)
	q.status.begin(time.Now())
	q.held.report() // none yet: an operator may have closed those of the last run
	working, stop := context.WithCancel(context.WithoutCancel(ctx))
	d := newDriver(working, q)
	defer func() { stop(); d.tasks.Wait(); q.table.clear() }()
	t, err := w.takeOver(ctx, q)
	if err != nil {
		return err
	}
	if err := d.step(t); err != nil {
		return err
	}
	if ok, err := d.until(ctx.Done(), func() bool { return len(q.loads.of) == 0 }); !ok {
		return err
	}
	if err := q.askRules(ctx); err != nil {
		return err
	}
	q.status.settled.Store(true)
	reader := inputReader{log: w.Log, partition: p, batches: make(chan batch)}
	reading, end := context.WithCancel(ctx)
	read := make(chan error, 1)
	from := q.reading.pos
	d.tasks.Go(func() { read <- reader.run(reading, from) })
	err = d.loop(ctx.Done(), reader.batches, read)
	end()
	if ctx.Err() != nil {
		d.shutDown(working)
		return ctx.Err()
	}
	return err
}

// loop passes events to the partition until stop is closed or an error.
func (d *driver) loop(stop <-chan struct{}, batches <-chan batch, read <-chan error) error {
	ticks := time.NewTicker(max(1, d.opts.SnapshotEvery/ticksEvery))
	defer ticks.Stop()
	list := time.NewTicker(listEvery)
	defer list.Stop()
	looks := time.NewTicker(d.opts.RecoveredEvery)
	defer looks.Stop()
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		inputs := batches
		if d.appender.queued > d.opts.MaxQueued || d.loads.full() {
			inputs = nil // first let events be stored, or sessions be loaded
		}
		timer.Reset(d.untilTimer())
		var event any
		var err error
		select {
		case <-stop:
			return nil
		case err := <-read:
			return err
		case b := <-inputs:
			if event, err = d.stepMost(b); err != nil {
				return err
			}
		case event = <-d.acks:
		case event = <-d.done:
		case now := <-timer.C:
			event = timerDue(now)
		case now := <-ticks.C:
			event = tick(now)
		case <-looks.C:
			event = checkHeld{}
		case <-list.C:
			event = relist{}
		}
		if err := d.step(event); err != nil {
			return err
		}
		if err := d.takeAcks(); err != nil {
			return err
		}
	}
}

// inputsAtOnce is how many inputs are folded before their events are published: the server
// stores these while the next are folded.
const inputsAtOnce = 8

// stepMost passes a batch to the partition, except for the last inputs, which it returns.
func (d *driver) stepMost(b batch) (rest batch, err error) {
	for len(b.inputs) > inputsAtOnce && err == nil {
		part := b
		part.inputs, part.done = b.inputs[:inputsAtOnce], nil
		part.next = part.inputs[inputsAtOnce-1].Seq + 1
		b.inputs = b.inputs[inputsAtOnce:]
		err = d.step(part)
	}
	return b, err
}

// outcomesAtOnce bounds the outcomes that are taken before the driver looks for
// anything else.
const outcomesAtOnce = 64

func (d *driver) takeAcks() error {
	for range outcomesAtOnce {
		select {
		case a := <-d.acks:
			if err := d.step(a); err != nil {
				return err
			}
		default:
			return nil
		}
	}
	return nil
}

func (q *partition) untilTimer() time.Duration {
	now := time.Now()
	d := q.clock.wait(now)
	if first := q.appender.paused.first; !first.IsZero() {
		d = min(d, max(0, first.Sub(now)))
	}
	return d
}
