package sitetest

import (
	"slices"
	"testing"

	"concordat"
	"concordat/report"
	"concordat/site"
)

// Essay is long enough for the word sets of its sentences to align.
const Essay = Glacier + Bakery + Orchard + Foundry + Winter + Garden

// Mine is a sentence that occurs only in the submission.
const Mine = "I begin with some words of my own that nobody has written before me in this order. "

const (
	Glacier = "Glaciologists drilled an ice core from the Vostok plateau and dated volcanic ash layers in it by argon isotopes. "
	Bakery  = "Bakers of the lower town petitioned the magistrate against millers who mixed chalk and sawdust into rye flour. "
	Orchard = "Pears grafted upon quince rootstock bear fruit two summers earlier than those that are raised from seedlings. "
	Foundry = "The bell founder melted copper and tin in a clay furnace whose bellows were driven by a small undershot wheel. "
)

// NewHere returns a site with a library named own that contains the given text.
func NewHere(t *testing.T, own string) *Parts {
	p := NewSite(t, "a")
	if own != "" {
		p.Add(t, "a", site.Incoming{ID: "own", Title: "own", Text: own})
	}
	return p
}

// FoundAt returns the distinct sources of the passages as site/title, sorted.
func FoundAt(f *report.Findings) []string {
	var out []string
	for _, p := range f.Passages {
		out = append(out, string(p.Source.Site)+"/"+p.Title)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// LineOf returns a check's line about a library that it consulted.
func LineOf(t *testing.T, f *report.Findings, site concordat.SiteID, lib concordat.LibraryID) concordat.Consulted {
	t.Helper()
	for _, c := range f.Consulted {
		if c.Site == site && c.Library == lib {
			return c
		}
	}
	t.Fatalf("no line for %s/%s in %+v", site, lib, f.Consulted)
	return concordat.Consulted{}
}

// Form is wording handed out to everyone.
const Form = "Applicants describe in no more than two pages how the results of the project will be made available to others. " +
	"State which ethical questions the project raises and by which committee they have been or will be considered. "
