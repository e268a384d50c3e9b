package program

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"concordat"
)

// belonging checks that answers belong to a report, that is, that the report's site asked for them about the report's submission.
type belonging struct {
	asker concordat.SiteID // the site that signed the report; empty if unsigned
	text  [sha256.Size]byte
	jobs  map[string]bool           // sites and jobs of answers about the submission
	older map[concordat.SiteID]bool // sites with an answer that does not name the submission
}

// newBelonging returns the check for a site's report on the text with the given hexadecimal SHA-256. statements contains all answers in
// the report with valid signatures, in any order.
func newBelonging(asker concordat.SiteID, digest string, statements []concordat.Statement) (*belonging, error) {
	b := &belonging{asker: asker, jobs: map[string]bool{}, older: map[concordat.SiteID]bool{}}
	text, err := hex.DecodeString(digest)
	if err != nil || len(text) != len(b.text) {
		return nil, fmt.Errorf("report: %w: missing the SHA-256 hash of the submission", concordat.ErrInvalid)
	}
	copy(b.text[:], text)
	for _, s := range statements {
		switch {
		case !beginsJob(s.Kind):
		case s.Asker == "":
			b.older[s.Site] = true
		case b.isAbout(s) == nil:
			b.jobs[jobKey(s)] = true
		}
	}
	return b, nil
}

// beginsJob reports whether answers of this kind begin a job and therefore name the submission themselves. A check begins two jobs at a
// partner, one by fingerprints and one by meaning, so that the partner cannot see that both concern the same text. All other answers
// belong to one of the two jobs and name it.
func beginsJob(kind string) bool { return kind == kindTell || kind == kindLeads }

func jobKey(s concordat.Statement) string { return string(s.Site) + "\x00" + string(s.Job) }

// check fails if an answer with a valid signature was given to another site or about another submission. bound reports whether the answer
// names both; answers from older versions do not.
func (b *belonging) check(s concordat.Statement) (bound bool, err error) {
	switch {
	case s.Asker == "":
		return false, nil
	case b.asker != "" && s.Asker != b.asker:
		return false, fmt.Errorf("the answer was given to site %s, but site %s signed this report", s.Asker, b.asker)
	case beginsJob(s.Kind):
		err := b.isAbout(s)
		return err == nil, err
	case b.jobs[jobKey(s)]:
		return true, nil
	case b.older[s.Site]:
		return false, nil
	}
	return false, errors.New("the answer belongs to another job, and no answer under that job is about this submission")
}

// isAbout fails unless an answer that begins a job was given to the report's site and commits to the report's submission.
func (b *belonging) isAbout(s concordat.Statement) error {
	switch {
	case b.asker != "" && s.Asker != b.asker:
		return fmt.Errorf("the answer was given to site %s", s.Asker)
	case len(s.Job) == 0 || len(s.Commitment) != sha256.Size || len(s.Salt) == 0:
		return errors.New("cannot confirm that the answer is about this submission: the job, commitment or salt is missing")
	case concordat.Commit(s.Salt, b.text) != [sha256.Size]byte(s.Commitment):
		return errors.New("the answer is about another submission")
	}
	return nil
}
