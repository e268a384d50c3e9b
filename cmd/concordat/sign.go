package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

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

// maxReport bounds a report that is verified, in bytes.
const maxReport = 1 << 30

// outcome is what report verify found.
type outcome struct {
	OK         bool               `json:"ok"`
	Site       concordat.SiteID   `json:"site,omitempty"` // that signed
	At         time.Time          `json:"at,omitzero"`
	Problems   []string           `json:"problems"`
	Statements []statementOutcome `json:"statements"`
}

type statementOutcome struct {
	Site concordat.SiteID `json:"site"`
	Kind string           `json:"kind"`
	At   time.Time        `json:"at"`
	OK   bool             `json:"ok"`
}

func (a *app) reportVerify() *cobra.Command {
	var cardFiles []string
	c := &cobra.Command{
		Use: "verify FILE", Short: "Check the signatures of a report in JSON or PDF, and name what was changed",
		Long: `verify checks the site's signature over every part of the report, each partner's signature over what it
answered, and that the report attributes nothing to a partner that it did not say: no document, title or
text. Of a PDF it checks the report attached, the signature over the whole file, and that the site vouches
for the certificate that made it. It needs nothing but the cards of the sites: those of --card, else those of this site's own
partners and itself. Whoever verifies must know the cards from a source other than the report.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			b, err := instance.ReadBounded(args[0], maxReport)
			if err != nil {
				return cli.Usage(err)
			}
			cards, err := a.cards(cmd.Context(), cardFiles)
			if err != nil {
				return err
			}
			verify := verifyReport
			if bytes.HasPrefix(b, []byte("%PDF-")) {
				verify = verifyPDF
			}
			out, err := verify(b, cards)
			if err != nil {
				return cli.Usage(err)
			}
			return a.showOutcome(args[0], out)
		},
	}
	c.Flags().StringArrayVar(&cardFiles, "card", nil, "file with the card of a site; may be repeated")
	return c
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
func verifyReport(b []byte, cards cardsBySite) (*outcome, error) {
	out := &outcome{Problems: []string{}, Statements: []statementOutcome{}}
	m, err := report.ReadManifest(b)
	switch {
	case errors.Is(err, concordat.ErrNotFound):
		out.Problems = append(out.Problems, "the report is not signed")
	case err != nil:
		return nil, err
	default:
		out.Site, out.At = m.Site, m.At
		sum := m.Sum()
		if err := cards.check(concordat.Statement{Site: m.Site, Kind: signing.KindReport, KeyEpoch: m.KeyEpoch, At: m.At, Request: make([]byte, 32), Payload: sum[:], Signature: m.Signature}); err != nil {
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
			out.Problems = append(out.Problems, fmt.Sprintf("answer (%s) of site %s at %s: %v", s.Kind, s.Site, s.At.UTC().Format(time.RFC3339), err))
		}
		out.Statements = append(out.Statements, statementOutcome{s.Site, s.Kind, s.At, err == nil})
	}
	unsaid, err := borneOut(b, good)
	if err != nil {
		return nil, err
	}
	out.Problems = append(out.Problems, unsaid...)
	out.OK = len(out.Problems) == 0
	return out, nil
}

func (a *app) showOutcome(file string, out *outcome) error {
	if a.JSON {
		if err := a.Line(out); err != nil {
			return err
		}
	} else if out.OK {
		a.Say("%s is as site %s signed it at %s", file, out.Site, out.At.Local().Format(time.DateTime))
		a.Say("signatures of partners: %d, all good", len(out.Statements))
	} else {
		for _, p := range out.Problems {
			a.Say("%s", p)
		}
	}
	if !out.OK {
		err := &cli.Exit{Code: cli.Failed}
		if !a.JSON {
			err.Err = fmt.Errorf("%s: %d problems", file, len(out.Problems))
		}
		return err
	}
	return nil
}
