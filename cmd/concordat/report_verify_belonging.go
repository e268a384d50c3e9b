package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"concordat"
)

// belonging checks that answers belong to a report: that its site asked, and about its submission.
type belonging struct {
	asker concordat.SiteID // that signed the report; empty: nobody did
	text  [sha256.Size]byte
	jobs  map[string]bool           // site and job of answers that are about the submission
	older map[concordat.SiteID]bool // sites with an answer that does not name the submission
}

// newBelonging returns the check for the report of a site about the text with a SHA-256 in hexadecimal.
func newBelonging(asker concordat.SiteID, digest string) (*belonging, error) {
	b := &belonging{asker: asker, jobs: map[string]bool{}, older: map[concordat.SiteID]bool{}}
	text, err := hex.DecodeString(digest)
	if err != nil || len(text) != len(b.text) {
		return nil, fmt.Errorf("report: %w: no SHA-256 of the submission", concordat.ErrInvalid)
	}
	copy(b.text[:], text)
	return b, nil
}

// check fails where an answer, whose signature is good, was given to another site or about another submission. bound
// reports whether the answer names both; answers of older versions do not. Answers that follow the first round name
// its job, and come after it.
func (b *belonging) check(s concordat.Statement) (bound bool, err error) {
	if s.Asker == "" {
		b.older[s.Site] = b.older[s.Site] || s.Kind == kindTell
		return false, nil
	}
	if b.asker != "" && s.Asker != b.asker {
		return false, fmt.Errorf("it was given to site %s, not to site %s, which signed this report", s.Asker, b.asker)
	}
	job := string(s.Site) + string(s.Job)
	switch {
	case s.Kind != kindTell && b.jobs[job]:
		return true, nil
	case s.Kind != kindTell && b.older[s.Site]:
		return false, nil
	case s.Kind != kindTell:
		return false, errors.New("it belongs to another job: no answer before it is about this submission under that job")
	case len(s.Job) == 0 || len(s.Commitment) != sha256.Size || len(s.Salt) == 0:
		return false, errors.New("nothing shows that it is about this submission: its job, commitment or salt is missing")
	case concordat.Commit(s.Salt, b.text) != [sha256.Size]byte(s.Commitment):
		return false, errors.New("it is about another submission")
	}
	b.jobs[job] = true
	return true, nil
}
