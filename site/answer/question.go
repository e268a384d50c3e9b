package answer

import (
	"crypto/hmac"
	"crypto/sha256"
	"fmt"

	"concordat"
	"concordat/store"
)

// question is a partner's ask that is being answered.
type question struct {
	from     concordat.SiteID
	ask      *concordat.Ask
	set      *epochSet
	first    bool // this is the job's first ask with any results
	excluded map[[16]byte]bool
	withheld map[concordat.LibraryID]int // sentences left unanswered; see once
}

func newQuestion(from concordat.SiteID, a *concordat.Ask, set *epochSet) *question {
	q := &question{from: from, ask: a, set: set, excluded: map[[16]byte]bool{}, withheld: map[concordat.LibraryID]int{}}
	for _, h := range a.Authors {
		q.excluded[h] = true
	}
	return q
}

// found is a matching document with its hits from one ask.
type found struct {
	row    store.DocumentRow
	handle concordat.Handle
	hits   []hit
	// before holds the hits of the job's earlier asks.
	before []store.AnswerHit
}

// hit is a Hit with data that is not disclosed; its Document is set on disclosure.
type hit struct {
	concordat.Hit
	match   concordat.Match
	holders int  // number of documents in the library that the question came close to
	weight  int  // weight as evidence
	paged   bool // many documents contain the sentence, but it is part of a page
	blurred bool // disclosed as a near hit, and weighted no higher than one
}

// name returns a name that identifies an asked sentence.
func (q *question) name(sentence int) [8]byte {
	return q.set.sentence(q.from, q.ask.Job, q.ask.Sentences[sentence].Fingerprint)
}

// handle returns a document's pseudonym for one asker. It is the same in all of that asker's jobs, and differs between askers.
func (e *epochSet) handle(from concordat.SiteID, lib concordat.LibraryID, id concordat.DocumentID) concordat.Handle {
	return keyedID(e.HandleKey, "concordat/handle/1", []byte(from), []byte(lib), []byte(id))
}

// sentence returns a name that identifies an asked sentence within a job, so that its fingerprint need not be stored.
func (e *epochSet) sentence(from concordat.SiteID, job concordat.JobID, f concordat.Fingerprint) [8]byte {
	b, _ := f.AppendBinary(nil) // this never fails
	id := keyedID(e.HandleKey, "concordat/asked-sentence/1", []byte(from), job[:], b)
	return [8]byte(id[:8])
}

// keyedID returns the first 16 bytes of HMAC-SHA256 over a label and parts, each prefixed with its length.
func keyedID(key []byte, label string, parts ...[]byte) (id [16]byte) {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(label))
	for _, p := range parts {
		fmt.Fprintf(mac, "\x00%d\x00", len(p))
		mac.Write(p)
	}
	copy(id[:], mac.Sum(nil))
	return id
}
