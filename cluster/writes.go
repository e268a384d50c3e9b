package cluster

import "concordat/cluster/replica"

// write is a call of Write waiting for its outcome.
type write struct {
	first uint64 // number of the Write event for its first record; the others follow consecutively
	late  []int  // changes that came too late
	open  int    // number of its records without a reply
	err   error
	seq   uint64
	done  chan struct{}
}

// answer records the outcome of one record; the copy's mu must be held. The first failure is the outcome of the whole write.
func (w *write) answer(seq uint64, err error) {
	w.seq = max(w.seq, seq)
	if w.err == nil {
		w.err = err
	}
	if w.open--; w.open == 0 {
		close(w.done)
	}
}

// writes are the writes of a copy that still wait for their outcome. The copy's mu protects them.
type writes struct {
	last    uint64            // number of the newest Write event
	waiting map[uint64]*write // by the number of the Write event of each record without a reply
}

// add returns the number of the Write event for the next record of w.
func (s *writes) add(w *write) uint64 {
	s.last++
	s.waiting[s.last] = w
	return s.last
}

// answer records the outcome of one record. mu must be held.
func (s *writes) answer(id, seq uint64, err error) {
	if w := s.waiting[id]; w != nil {
		delete(s.waiting, id)
		w.answer(seq, err)
	}
}

// refuse records the refusal of one record. mu must be held.
func (s *writes) refuse(a replica.Refuse) {
	if w := s.waiting[a.ID]; w != nil && a.Why == replica.Superseded {
		w.late = append(w.late, int(a.ID-w.first))
		s.answer(a.ID, 0, nil)
		return
	}
	s.answer(a.ID, 0, refusal(a))
}

// fail makes every write fail with err. mu must be held.
func (s *writes) fail(err error) {
	for id, w := range s.waiting {
		delete(s.waiting, id)
		w.answer(0, err)
	}
}
