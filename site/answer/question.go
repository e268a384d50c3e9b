package answer

import (
	"crypto/hmac"
	"crypto/sha256"
	"fmt"

	"concordat"
	"concordat/store"
)

// question is one ask of one partner being answered.
type question struct {
	from     concordat.SiteID
	ask      *concordat.Ask
	set      *epochSet
	first    bool // the ask is the first of its job that finds anything
	excluded map[[16]byte]bool
	withheld map[concordat.LibraryID]int // sentences that were not answered; see once
}

func newQuestion(from concordat.SiteID, a *concordat.Ask, set *epochSet) *question {
	q := &question{from: from, ask: a, set: set, excluded: map[[16]byte]bool{}, withheld: map[concordat.LibraryID]int{}}
	for _, h := range a.Authors {
		q.excluded[h] = true
	}
	return q
}

// found is a document that matches, with its hits of one ask.
type found struct {
	row    store.DocumentRow
	handle concordat.Handle
	hits   []hit
	// before are the hits of earlier asks of the job.
	before []store.AnswerHit
}

// hit is a Hit with its undisclosed values; its Document is set when it is disclosed.
type hit struct {
	concordat.Hit
	match   concordat.Match
	holders int  // number of documents of the library that the question came near
	weight  int  // as evidence
	paged   bool // many documents hold the sentence, but it is part of a page
	blurred bool // the hit is disclosed as near, and weighs no more than a near one
}

// name returns a name that identifies an asked sentence.
func (q *question) name(sentence int) [8]byte {
	return q.set.sentence(q.from, q.ask.Job, q.ask.Sentences[sentence].Fingerprint)
}

// handle returns the pseudonym of a document for one asker. It is the same in all of that asker's jobs, but different for other askers.
func (e *epochSet) handle(from concordat.SiteID, lib concordat.LibraryID, id concordat.DocumentID) concordat.Handle {
	return keyedID(e.HandleKey, "concordat/handle/1", []byte(from), []byte(lib), []byte(id))
}

// sentence returns a name that identifies an asked sentence within a job, so that its fingerprint need not be stored.
func (e *epochSet) sentence(from concordat.SiteID, job concordat.JobID, f concordat.Fingerprint) [8]byte {
	b, _ := f.AppendBinary(nil) // never fails
	id := keyedID(e.HandleKey, "concordat/asked-sentence/1", []byte(from), job[:], b)
	return [8]byte(id[:8])
}

// keyedID returns the first 16 bytes of HMAC-SHA256 over a label and parts, each after its length.
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
