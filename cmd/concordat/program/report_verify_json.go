package program

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"concordat"
	"concordat/cmd/cli"
	"concordat/instance/signing"
	"concordat/report"
)

// reportLine prints the report as one line of JSON.
func (a *app) reportLine(rep *report.Report) error {
	b, err := a.Signatures().JSON(rep)
	if err != nil {
		return err
	}
	return a.Line(json.RawMessage(b))
}

// verification is the result of report verify.
type verification struct {
	OK         bool                    `json:"ok"`
	Site       concordat.SiteID        `json:"site,omitempty"` // the site that signed
	At         time.Time               `json:"at,omitzero"`
	Problems   []string                `json:"problems"`
	Statements []statementVerification `json:"statements"`

	whole bool // the format is signed as a whole and contains no statements
}

type statementVerification struct {
	Site concordat.SiteID `json:"site"`
	Kind string           `json:"kind"`
	At   time.Time        `json:"at"`
	OK   bool             `json:"ok"`
	// Bound reports whether the partner's signature covers the asking site and, through the job, the submission.
	Bound bool `json:"bound"`
}

// unbound returns the number of valid answers whose signatures cover neither the asker nor the submission.
func (v *verification) unbound() int {
	n := 0
	for _, s := range v.Statements {
		if s.OK && !s.Bound {
			n++
		}
	}
	return n
}

// verifyFile verifies a report in HTML, CSV or text against cards. For an empty file, it fails with concordat.ErrInvalid.
func verifyFile(b []byte, cards cli.Cards) (*verification, error) {
	if len(b) == 0 {
		return nil, fmt.Errorf("%w: the file is empty", concordat.ErrInvalid)
	}
	out := &verification{Problems: []string{}, Statements: []statementVerification{}, whole: true}
	sig, sum, err := signing.ReadFile(b)
	switch {
	case errors.Is(err, concordat.ErrNotFound):
		out.Problems = append(out.Problems, "the report is not signed, or text was added after its signature")
	case err != nil:
		return nil, err
	default:
		out.Site, out.At = sig.Site, sig.At
		if err := cards.Check(concordat.Statement{Site: sig.Site, Kind: signing.KindFile, KeyEpoch: sig.KeyEpoch, At: sig.At,
			Request: make([]byte, 32), Payload: sum[:], Signature: sig.Signature}); err != nil {
			out.Problems = append(out.Problems, fmt.Sprintf("cannot verify the signature of site %s over the file: %v", sig.Site, err))
		}
	}
	out.OK = len(out.Problems) == 0
	return out, nil
}

// verifyReport verifies a report against cards. If b is not a report, it fails with concordat.ErrInvalid.
func verifyReport(b []byte, cards cli.Cards) (*verification, error) {
	out := &verification{Problems: []string{}, Statements: []statementVerification{}}
	m, err := report.ReadManifest(b)
	switch {
	case errors.Is(err, concordat.ErrNotFound):
		out.Problems = append(out.Problems, "the report is not signed")
	case err != nil:
		return nil, err
	default:
		out.Site, out.At = m.Site, m.At
		sum := m.Sum()
		if err := cards.Check(concordat.Statement{Site: m.Site, Kind: signing.KindReport, KeyEpoch: m.KeyEpoch, At: m.At,
			Request: make([]byte, 32), Payload: sum[:], Signature: m.Signature}); err != nil {
			out.Problems = append(out.Problems, fmt.Sprintf("cannot verify the manifest of site %s: %v", m.Site, err))
		}
		changes, err := m.Changes(b)
		if err != nil {
			return nil, err
		}
		out.Problems = append(out.Problems, changes...)
	}
	var r struct {
		Submission struct {
			Digest string `json:"sha256"`
		} `json:"submission"`
		Statements []concordat.Statement `json:"statements"`
	}
	if err := json.Unmarshal(b, &r); err != nil {
		return nil, fmt.Errorf("report: %w: %w", concordat.ErrInvalid, err)
	}
	signed := make([]error, len(r.Statements)) // the fault of each signature
	var good []concordat.Statement
	for i, s := range r.Statements {
		if signed[i] = cards.Check(s); signed[i] == nil {
			signed[i] = askedFor(s)
		}
		if signed[i] == nil {
			good = append(good, s)
		}
	}
	own, err := newBelonging(out.Site, r.Submission.Digest, good)
	if err != nil {
		return nil, err
	}
	good = good[:0]
	for i, s := range r.Statements {
		err, bound := signed[i], false
		if err == nil {
			bound, err = own.check(s)
		}
		if err == nil {
			good = append(good, s)
		} else {
			out.Problems = append(out.Problems, fmt.Sprintf("answer (%s) from site %s at %s: %v", s.Kind, s.Site, s.At.UTC().Format(time.RFC3339),
				err))
		}
		out.Statements = append(out.Statements, statementVerification{s.Site, s.Kind, s.At, err == nil, bound})
	}
	unsaid, err := verifyAttribution(b, good)
	if err != nil {
		return nil, err
	}
	out.Problems = append(out.Problems, unsaid...)
	out.OK = len(out.Problems) == 0
	return out, nil
}
