package replica

import (
	"hash/crc32"

	"concordat/cluster/wal"
)

// Revisions tracks the revisions of documents known to a copy, and decides which writes are too late. Only a master consults it, before
// appending; the log then contains the accepted writes in order, and no copy has to decide again. The zero Revisions is empty. It is not
// safe for concurrent use.
//
// It remembers only the documents of the newest records. A write that could be older than a forgotten one is refused too, and the sender
// repeats it with a higher revision. As a result, nothing depends on clocks, and the memory for deleted documents is bounded.
type Revisions struct {
	// Content returns the part of a record's payload in which two writes that are the same must agree; nil means all of it. It must be set
	// before the first Add.
	Content func(payload []byte) []byte

	horizon uint64            // no record outside ring has a higher revision
	ring    []revised         // newest records with a revision, by number
	from    int               // index of the oldest record in ring; those before it are forgotten
	last    map[uint64]uint64 // newest revision of each document in ring
	newest  uint64            // never decreases
	most    int               // number of records to track; 0 means maxRevisions
	without bool              // tests disable the rule
}

type revised struct {
	seq, doc, rev uint64
	sum           uint32 // checksum of the content written
}

// maxRevisions is the number of records that Revisions tracks: 32 bytes each in ring, and about 40 in last.
const maxRevisions = 1 << 14

// NewRevisions returns the Revisions for a log from which records with revisions up to horizon were removed.
func NewRevisions(horizon uint64) *Revisions { return &Revisions{horizon: horizon, newest: horizon} }

// Add records that a record was appended to the log.
func (v *Revisions) Add(rec *wal.Record) {
	if rec.Rev == 0 {
		return
	}
	if v.last == nil {
		v.last = map[uint64]uint64{}
	}
	most := v.most
	if most == 0 {
		most = maxRevisions
	}
	if len(v.ring)-v.from >= most {
		v.forget()
	}
	v.newest = max(v.newest, rec.Rev)
	doc := documentHash(rec.ID)
	v.ring = append(v.ring, revised{rec.Seq, doc, rec.Rev, v.sum(rec)})
	v.last[doc] = max(v.last[doc], rec.Rev)
}

// forget drops the oldest record.
func (v *Revisions) forget() {
	old := v.ring[v.from]
	v.from++
	v.horizon = max(v.horizon, old.rev)
	if v.last[old.doc] == old.rev {
		delete(v.last, old.doc)
	}
	if v.from > len(v.ring)/2 {
		v.ring = append(v.ring[:0], v.ring[v.from:]...)
		v.from = 0
	}
}

// Raise records that unknown records can have revisions up to rev.
func (v *Revisions) Raise(rev uint64) { v.horizon, v.newest = max(v.horizon, rev), max(v.newest, rev) }

// Newest returns an upper bound on the revisions of all records.
func (v *Revisions) Newest() uint64 { return v.newest }

// upTo returns an upper bound on the revisions of the records up to seq.
func (v *Revisions) upTo(seq uint64) uint64 {
	high := v.horizon
	for _, r := range v.ring[v.from:] {
		if r.seq <= seq {
			high = max(high, r.rev)
		}
	}
	return high
}

// cut forgets the records after seq, which were removed from the log.
func (v *Revisions) cut(seq uint64) {
	n := len(v.ring)
	for n > v.from && v.ring[n-1].seq > seq {
		n--
	}
	if n == len(v.ring) {
		return
	}
	v.ring = v.ring[:n]
	clear(v.last)
	for _, r := range v.ring[v.from:] {
		v.last[r.doc] = max(v.last[r.doc], r.rev)
	}
}

// restart forgets all records; no current record has a revision above rev or the horizon.
func (v *Revisions) restart(rev uint64) {
	v.Raise(rev)
	v.ring, v.from = nil, 0
	clear(v.last)
}

// The verdicts on a write.
type verdict uint8

const (
	fresh verdict = iota // it can be appended
	made                 // the log has exactly this write
	late                 // the log has, or may have had, a newer write for the document
)

// judge decides what happens to a write; it accepts one without a revision. Two writes with the same revision are the same write if their
// content is equal, because senders draw revisions at random.
func (v *Revisions) judge(rec *wal.Record) verdict {
	rev := rec.Rev
	if rev == 0 || v.without {
		return fresh
	}
	doc := documentHash(rec.ID)
	last, known := v.last[doc]
	switch {
	case rev > last && rev > v.horizon:
		return fresh
	case known:
		sum := v.sum(rec)
		for _, r := range v.ring[v.from:] {
			if r.doc == doc && r.rev == rev && r.sum == sum {
				return made
			}
		}
	}
	return late
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// sum returns the checksum of the record's content.
func (v *Revisions) sum(rec *wal.Record) uint32 {
	content := rec.Payload
	if v.Content != nil {
		content = v.Content(content)
	}
	return crc32.Update(uint32(rec.Kind), castagnoli, content)
}

// documentHash is FNV-1a (Fowler, Noll and Vo). If two documents have the same hash, the only cost is a repeated write.
func documentHash(id string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(id) {
		h = (h ^ uint64(id[i])) * 1099511628211
	}
	return h
}
