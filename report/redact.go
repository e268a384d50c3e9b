package report

import (
	"slices"
	"time"

	"concordat"
)

// Codes of flags on findings with sources that are not yet, or no longer, visible.
const (
	FlagDeleted = "source_deleted"
	FlagHidden  = "source_hidden"
)

// HiddenTitle replaces the title of a hidden source.
const HiddenTitle = "—"

// Redact returns the findings without the titles and wording of redacted sources, which still count. It does not modify f.
func Redact(f *Findings, redacted func(concordat.Ref) bool) *Findings {
	out := *f
	out.Passages = slices.Clone(f.Passages)
	for i := range out.Passages {
		p := &out.Passages[i]
		if redacted(p.Source) {
			p.Title, p.Text, p.Before, p.After, p.Words, p.Shared = HiddenTitle, "", "", "", nil, nil
		}
	}
	if f.Short != nil {
		short := *f.Short
		short.Matches = slices.Clone(short.Matches)
		for i := range short.Matches {
			if m := &short.Matches[i]; redacted(m.Source) {
				m.Title, m.Text = HiddenTitle, ""
			}
		}
		out.Short = &short
	}
	out.SharedWorks = slices.Clone(f.SharedWorks)
	for i := range out.SharedWorks {
		if w := &out.SharedWorks[i]; redacted(w.Source) {
			w.Title = HiddenTitle
		}
	}
	out.Leads = slices.Clone(f.Leads)
	for i := range out.Leads {
		if l := &out.Leads[i]; redacted(l.Source) {
			l.Title = HiddenTitle
			l.hide()
		}
	}
	out.PartnerLeads = slices.Clone(f.PartnerLeads)
	for i := range out.PartnerLeads {
		if l := &out.PartnerLeads[i]; redacted(l.Source) {
			l.Title, l.Author = HiddenTitle, ""
		}
	}
	out.Works = slices.Clone(f.Works)
	for i := range out.Works {
		if w := &out.Works[i]; redacted(w.Source) {
			w.Work, w.Authors = concordat.Work{}, nil
		}
	}
	// A work is preferably represented by a text that may be displayed.
	shown := map[concordat.Ref]concordat.Ref{}
	for _, w := range out.Works {
		if first := shown[w.Same]; w.Same != (concordat.Ref{}) && !redacted(w.Source) && (first == (concordat.Ref{}) || w.Source == w.Same) {
			shown[w.Same] = w.Source
		}
	}
	for i := range out.Works {
		if first, ok := shown[out.Works[i].Same]; ok {
			out.Works[i].Same = first
		}
	}
	out.Partners = slices.Clone(f.Partners)
	for i := range out.Partners {
		if redacted(out.Partners[i].Ref) {
			out.Partners[i].Title, out.Partners[i].Author = HiddenTitle, ""
		}
	}
	return &out
}

// Flagged returns the findings with an additional flag, which replaces any flag with the same code.
func Flagged(f *Findings, flag concordat.Flag) *Findings {
	out := *f
	out.Flags = slices.DeleteFunc(slices.Clone(f.Flags), func(x concordat.Flag) bool { return x.Code == flag.Code })
	out.Flags = append(out.Flags, flag)
	return &out
}

// HiddenFlag returns a flag saying that n sources are hidden until a date, when the last of their embargoes ends.
func HiddenFlag(n int, until time.Time) concordat.Flag {
	return concordat.Flag{Code: FlagHidden, Count: n,
		Detail: "Sources under an embargo count in the scores, but their titles and wording are not shown before " +
			until.UTC().Format("2006-01-02") + "."}
}

// DeletedFlag returns a flag saying that n sources have since been deleted from their library.
func DeletedFlag(n int) concordat.Flag {
	return concordat.Flag{Code: FlagDeleted, Count: n, Detail: "Sources named in this report have since been deleted from their library. Their titles and wording are shown only as far as the site's policy allows them to be kept."}
}

// Renamed returns the findings with some sources renamed.
func Renamed(f *Findings, names map[concordat.Ref]concordat.Ref) *Findings {
	rename := func(r *concordat.Ref) {
		if to, ok := names[*r]; ok {
			*r = to
		}
	}
	out := *f
	out.Passages = slices.Clone(f.Passages)
	for i := range out.Passages {
		rename(&out.Passages[i].Source)
	}
	out.SharedWorks = slices.Clone(f.SharedWorks)
	for i := range out.SharedWorks {
		rename(&out.SharedWorks[i].Source)
	}
	out.Leads = slices.Clone(f.Leads)
	for i := range out.Leads {
		rename(&out.Leads[i].Source)
	}
	out.Dates = slices.Clone(f.Dates)
	for i := range out.Dates {
		rename(&out.Dates[i].Source)
	}
	out.Works = slices.Clone(f.Works)
	for i := range out.Works {
		rename(&out.Works[i].Source)
		rename(&out.Works[i].Same)
	}
	if f.Short != nil {
		short := *f.Short
		short.Matches = slices.Clone(short.Matches)
		for i := range short.Matches {
			rename(&short.Matches[i].Source)
		}
		out.Short = &short
	}
	return &out
}
