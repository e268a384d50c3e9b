package web

import (
	"context"
	"net/url"
	"slices"
	"strings"

	"concordat"
	"concordat/report"
)

// sourceWork is the work whose text a source is, as its page shows it.
type sourceWork struct {
	concordat.Work
	Same []string // letters of other sources that are texts of the same work
}

// PageURL is the address of the repository's own page; empty: there is none that may become a link.
func (w sourceWork) PageURL() string { return webAddress(w.Page) }

// LicenseURL is the address of the licence; empty: it is said in words.
func (w sourceWork) LicenseURL() string { return webAddress(w.License) }

// webAddress returns text if it is a web address, else nothing: what a repository says becomes a link.
func webAddress(text string) string {
	if u, err := url.Parse(text); err != nil || u.Scheme != "https" && u.Scheme != "http" || strings.ContainsAny(text, " \n\t") {
		return ""
	}
	return text
}

// sourceWorks returns the works of those sources of a report that are documents of this site, by their places among the sources.
func sourceWorks(ctx context.Context, w reportPages, rep *report.Report) (map[int]*sourceWork, error) {
	ids := map[concordat.LibraryID][]concordat.DocumentID{}
	for _, s := range rep.Sources {
		if s.Site == w.o.Site.ID() {
			ids[s.Library] = append(ids[s.Library], s.Document)
		}
	}
	out := map[int]*sourceWork{}
	for lib, all := range ids {
		works, err := w.o.Store.Harvest.Works(ctx, lib, all)
		if err != nil {
			return nil, err
		}
		for i, s := range rep.Sources {
			if one, ok := works[s.Document]; ok && s.Site == w.o.Site.ID() && s.Library == lib {
				out[i] = &sourceWork{Work: one}
			}
		}
	}
	for i, a := range out {
		for j := range rep.Sources {
			if b := out[j]; b != nil && i != j && sameWork(a.IDs, b.IDs) {
				a.Same = append(a.Same, rep.Sources[j].Letter())
			}
		}
	}
	return out, nil
}

// sameWork reports whether two works share a persistent identifier.
func sameWork(a, b []concordat.WorkID) bool {
	return slices.ContainsFunc(a, func(id concordat.WorkID) bool { return slices.Contains(b, id) })
}
