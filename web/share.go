package web

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
	"concordat/store"
	"concordat/web/message"
)

// shareLimits returns pointers to the numeric limits of a rule, by field name.
func shareLimits(r *store.ShareRule) map[string]*int {
	return map[string]*int{"sentences": &r.Limits.Sentences, "burst": &r.Limits.Burst, "disclosures": &r.Limits.Disclosures,
		"documents": &r.Limits.Documents, "characters": &r.Limits.Characters, "opened": &r.Limits.Opened,
		"units":      &r.Limits.Units,
		"lead_cells": &r.Limits.LeadCells, "lead_sentences": &r.Limits.LeadSentences, "lead_documents": &r.Limits.LeadDocuments}
}

// shareLibrary opens a library to a partner, or changes how much the partner is shown. Empty fields of the form keep their values from an
// earlier share.
func (w libraryPages) shareLibrary(ctx context.Context, v *Visitor, l store.Library, f url.Values) error {
	id := concordat.SiteID(f.Get("partner"))
	x, err := w.o.Store.Answers.Share(ctx, l.ID, id)
	if errors.Is(err, concordat.ErrNotFound) {
		x, err = store.Share{Library: l.ID, Partner: id, Rule: store.DefaultShareRule()}, nil
	}
	if err != nil {
		return err
	}
	if err := readShare(&x.Rule, f); err != nil {
		return err
	}
	_, err = w.PutShare(ctx, v, x)
	return err
}

// PutShare saves a share with a known partner and returns it.
func (w libraryPages) PutShare(ctx context.Context, v *Visitor, x store.Share) (store.Share, error) {
	if known, err := w.Knows(ctx, x.Partner); err != nil {
		return x, err
	} else if !known {
		return x, message.Invalid("wrong.partner", x.Partner)
	}
	return w.o.Answers.Shares.Share(ctx, x, func(tx *store.DB) error {
		return tx.Audit.Note(ctx, v.Name, "library_share", map[string]any{"library": x.Library, "partner": x.Partner, "level": x.Rule.Level})
	})
}

// Knows reports whether a site is a partner that can be asked.
func (w libraryPages) Knows(ctx context.Context, id concordat.SiteID) (bool, error) {
	partners, err := w.o.Partners(ctx)
	return slices.ContainsFunc(partners, func(p Partner) bool { return p.Site == id }), err
}

// Unshare closes a library to a partner.
func (w libraryPages) Unshare(ctx context.Context, v *Visitor, lib concordat.LibraryID, partner concordat.SiteID) error {
	return w.o.Answers.Shares.Unshare(ctx, lib, partner, func(tx *store.DB) error {
		return tx.Audit.Note(ctx, v.Name, "library_unshare", map[string]any{"library": lib, "partner": partner})
	})
}

// readShare reads the rules of a share from a form.
func readShare(r *store.ShareRule, f url.Values) error {
	r.Level = concordat.Show(f.Get("level"))
	for name, to := range shareLimits(r) {
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
			return fmt.Errorf("%s %q: %w: yes or no", name, s, concordat.ErrInvalid)
		}
	}
	return nil
}
