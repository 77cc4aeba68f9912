package broker

import (
	"context"
	"errors"
	"slices"
)

// part is what a partition has among some inputs in a row.
type part struct {
	batch []stored
	next  uint64 // it has no other below this
	read  Witness
}

// deal gives each partition what is its own.
func (s *sweep) deal(ctx context.Context, batch []stored, pending uint64) error {
	riders, from, next, err := s.move(batch)
	if err != nil {
		return err
	}
	if next-from != uint64(len(batch)) { // some are no longer there
		state, err := s.b.bounds(ctx, streamInputs)
		if err != nil || state.First > from || s.b.old(batch[0].at, expiryEdge) {
			return errors.Join(errStop, err)
		}
	}
	s.giveAll(riders, batch, next, pending == 0)
	if pending == 0 {
		return errSwept
	}
	return nil
}

// move moves the sweep behind a batch, and gives who is aboard. Who boards from
// then on and wants some of the batch makes it rewind.
func (s *sweep) move(batch []stored) (riders []*rider, from, next uint64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.rewind:
		return nil, 0, 0, errRewind
	case s.few(s.aboard):
		return nil, 0, 0, errFew
	}
	from = s.next
	if n := len(batch); n > 0 {
		s.next = batch[n-1].seq + 1
		s.read = Witness{batch[n-1].seq, batch[n-1].at}
	}
	return slices.Clone(s.riders), from, s.next, nil
}

// giveAll hands over the parts of a batch, empty ones now and then and at the
// end.
func (s *sweep) giveAll(riders []*rider, batch []stored, next uint64, end bool) {
	patience, stop := context.WithTimeout(context.Background(), sweepPatience)
	defer stop()
	var read Witness
	if n := len(batch); n > 0 {
		read = Witness{batch[n-1].seq, batch[n-1].at}
	}
	parts := byPartition(batch, riders)
	for p, r := range riders {
		if r != nil && (end || len(parts[p]) > 0 || next >= r.told+sweepTell) {
			s.give(patience, r, part{parts[p], next, read})
		}
	}
}

// give hands over a part, unless the rider takes nothing for too long.
func (s *sweep) give(patience context.Context, r *rider, p part) {
	r.told = p.next
	select {
	case r.in <- p:
		return
	default:
	}
	select {
	case r.in <- p:
	case <-r.left:
	case <-patience.Done():
		s.drop(r, restLate)
		close(r.in)
	}
}

// byPartition gives the messages of each rider.
func byPartition(batch []stored, riders []*rider) [][]stored {
	of, size := make([]int, len(batch)), make([]int, len(riders))
	for i := range batch {
		if of[i], _ = partitionOf(batch[i].subject); of[i] < len(riders) {
			size[of[i]]++
		}
	}
	parts := make([][]stored, len(riders))
	for i, m := range batch {
		if p := of[i]; p < len(riders) && riders[p] != nil {
			if parts[p] == nil {
				parts[p] = make([]stored, 0, size[p])
			}
			parts[p] = append(parts[p], m)
		}
	}
	return parts
}
