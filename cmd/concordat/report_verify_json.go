package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"concordat"
	"concordat/cmd/internal/cli"
	"concordat/crypto"
	"concordat/instance"
	"concordat/instance/signing"
	"concordat/report"
)

// reportLine prints the report in JSON on one line.
func (a *app) reportLine(rep *report.Report) error {
	b, err := a.Signatures().JSON(rep)
	if err != nil {
		return err
	}
	return a.Line(json.RawMessage(b))
}

// verification is what report verify found.
type verification struct {
	OK         bool                    `json:"ok"`
	Site       concordat.SiteID        `json:"site,omitempty"` // that signed
	At         time.Time               `json:"at,omitzero"`
	Problems   []string                `json:"problems"`
	Statements []statementVerification `json:"statements"`
}

type statementVerification struct {
	Site concordat.SiteID `json:"site"`
	Kind string           `json:"kind"`
	At   time.Time        `json:"at"`
	OK   bool             `json:"ok"`
}

// cards reads the cards by which something is verified: those of the files, else those that this site knows.
func (a *app) cards(ctx context.Context, files []string) (cardsBySite, error) {
	out := cardsBySite{}
	if len(files) > 0 {
		return out, out.read(files)
	}
	return out, a.With(ctx, instance.StoreOnly, func(o *instance.Instance) error { return out.load(ctx, o) })
}

// cardsBySite are the cards that a verifier trusts: those it was given.
type cardsBySite map[concordat.SiteID][]*crypto.Card

func (cs cardsBySite) read(files []string) error {
	for _, file := range files {
		b, err := instance.ReadBounded(file, crypto.MaxCard)
		if err != nil {
			return cli.Usage(err)
		}
		c, err := crypto.ParseCard(b)
		if err != nil {
			return cli.Usagef("%s: %w", file, err)
		}
		cs[instance.PartnerName(c.Site)] = append(cs[instance.PartnerName(c.Site)], c)
	}
	return nil
}

// load takes the cards of the site itself and of all sites that were partners.
func (cs cardsBySite) load(ctx context.Context, o *instance.Instance) error {
	sites, err := o.Store.CardSites(ctx)
	if err != nil {
		return err
	}
	for _, s := range sites {
		if cs[s], err = storedCards(ctx, o, s); err != nil {
			return err
		}
	}
	return nil
}

// check succeeds where a card of the site confirms the signature.
func (cs cardsBySite) check(s concordat.Statement) error {
	cards := cs[s.Site]
	if len(cards) == 0 {
		return errors.New("no card of this site is known")
	}
	if len(s.Request) != 32 {
		return errors.New("the digest of the request has not 32 bytes")
	}
	err := crypto.ErrNoKey
	for _, c := range cards {
		e := c.VerifyStatement(s.KeyEpoch, s.Kind, s.At, [32]byte(s.Request), s.Payload, s.Signature)
		if e == nil {
			return nil
		}
		if !errors.Is(e, crypto.ErrNoKey) {
			err = e
		}
	}
	switch {
	case errors.Is(err, crypto.ErrNoKey):
		return errors.New("its cards have no such key for that time")
	case errors.Is(err, crypto.ErrSignature):
		return errors.New("signature does not match its card")
	}
	return err
}

// verifyReport checks a report against cards. It fails with concordat.ErrInvalid for what is no report.
func verifyReport(b []byte, cards cardsBySite) (*verification, error) {
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
		if err := cards.check(concordat.Statement{Site: m.Site, Kind: signing.KindReport, KeyEpoch: m.KeyEpoch, At: m.At,
			Request: make([]byte, 32), Payload: sum[:], Signature: m.Signature}); err != nil {
			out.Problems = append(out.Problems, fmt.Sprintf("manifest of site %s: %v", m.Site, err))
		}
		changes, err := m.Changes(b)
		if err != nil {
			return nil, err
		}
		out.Problems = append(out.Problems, changes...)
	}
	var r struct {
		Statements []concordat.Statement `json:"statements"`
	}
	if err := json.Unmarshal(b, &r); err != nil {
		return nil, fmt.Errorf("report: %w: %w", concordat.ErrInvalid, err)
	}
	var good []concordat.Statement
	for _, s := range r.Statements {
		err := cards.check(s)
		if err == nil {
			err = askedFor(s)
		}
		if err == nil {
			good = append(good, s)
		}
		if err != nil {
			out.Problems = append(out.Problems, fmt.Sprintf("answer (%s) of site %s at %s: %v", s.Kind, s.Site, s.At.UTC().Format(time.RFC3339),
				err))
		}
		out.Statements = append(out.Statements, statementVerification{s.Site, s.Kind, s.At, err == nil})
	}
	unsaid, err := verifyAttribution(b, good)
	if err != nil {
		return nil, err
	}
	out.Problems = append(out.Problems, unsaid...)
	out.OK = len(out.Problems) == 0
	return out, nil
}
