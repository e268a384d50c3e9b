// Package shares opens the libraries of a site to partners, for the pages and the API. Start with Shares.
package shares

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"concordat"
	"concordat/site/answer"
	"concordat/store"
	"concordat/web/message"
	"concordat/web/pages"
)

// Shares opens libraries to partners, and closes them. It is safe for concurrent use.
type Shares struct {
	Store   *store.DB
	Answers *answer.Answerer
	Choices pages.Choices
}

// limits returns pointers to the numeric limits of a rule, by field name.
func limits(r *store.ShareRule) map[string]*int {
	return map[string]*int{"sentences": &r.Limits.Sentences, "burst": &r.Limits.Burst, "disclosures": &r.Limits.Disclosures,
		"documents": &r.Limits.Documents, "characters": &r.Limits.Characters, "opened": &r.Limits.Opened,
		"units":      &r.Limits.Units,
		"lead_cells": &r.Limits.LeadCells, "lead_sentences": &r.Limits.LeadSentences, "lead_documents": &r.Limits.LeadDocuments}
}

// Open opens a library to a partner, or changes how much the partner is shown. Empty fields of the form keep their values from an
// earlier share.
func (s Shares) Open(ctx context.Context, v *pages.Visitor, lib concordat.LibraryID, f url.Values) error {
	id := concordat.SiteID(f.Get("partner"))
	x, err := s.Store.Answers.Share(ctx, lib, id)
	if errors.Is(err, concordat.ErrNotFound) {
		x, err = store.Share{Library: lib, Partner: id, Rule: store.DefaultShareRule()}, nil
	}
	if err != nil {
		return err
	}
	if err := ReadRule(&x.Rule, f); err != nil {
		return err
	}
	_, err = s.Put(ctx, v, x)
	return err
}

// Put saves a share with a known partner and returns it.
func (s Shares) Put(ctx context.Context, v *pages.Visitor, x store.Share) (store.Share, error) {
	if known, err := s.Knows(ctx, x.Partner); err != nil {
		return x, err
	} else if !known {
		return x, message.Invalid("wrong.partner", x.Partner)
	}
	return s.Answers.Shares.Share(ctx, x, func(tx *store.DB) error {
		return tx.Audit.Note(ctx, v.Name, "library_share", map[string]any{"library": x.Library, "partner": x.Partner, "level": x.Rule.Level})
	})
}

// Knows reports whether a site is a partner that can be asked.
func (s Shares) Knows(ctx context.Context, id concordat.SiteID) (bool, error) {
	partners, err := s.Choices.Partners(ctx)
	return slices.ContainsFunc(partners, func(p pages.Partner) bool { return p.Site == id }), err
}

// Close closes a library to a partner.
func (s Shares) Close(ctx context.Context, v *pages.Visitor, lib concordat.LibraryID, partner concordat.SiteID) error {
	return s.Answers.Shares.Unshare(ctx, lib, partner, func(tx *store.DB) error {
		return tx.Audit.Note(ctx, v.Name, "library_unshare", map[string]any{"library": lib, "partner": partner})
	})
}

// ReadRule reads the rules of a share from a form.
func ReadRule(r *store.ShareRule, f url.Values) error {
	r.Level = concordat.Show(f.Get("level"))
	for name, to := range limits(r) {
		s := f.Get(name)
		if s == "" {
			continue
		}
		n, err := strconv.Atoi(s)
		if err != nil || n == 0 || n < -1 {
			return message.Invalid("wrong.limit", s)
		}
		*to = n
	}
	if s := f.Get("purposes"); s != "" {
		r.Purposes = nil
		for one := range strings.SplitSeq(s, ",") {
			if one = strings.TrimSpace(one); one != "" && one != "*" {
				r.Purposes = append(r.Purposes, one)
			}
		}
	}
	for name, to := range map[string]*time.Time{"embargo": &r.Embargo, "expires": &r.Expires} {
		s := f.Get(name)
		if s == "" {
			continue
		}
		t, err := time.ParseInLocation(time.DateOnly, s, time.Local)
		if err != nil {
			return message.Invalid("wrong.date", s)
		}
		*to = t
	}
	for name, to := range map[string]*bool{"ship": &r.Ship, "standing": &r.Standing, "leads": &r.Leads} {
		switch s := f.Get(name); s {
		case "":
		case "yes", "no":
			*to = s == "yes"
		default:
			return fmt.Errorf("%s %q: %w: want yes or no", name, s, concordat.ErrInvalid)
		}
	}
	return nil
}
