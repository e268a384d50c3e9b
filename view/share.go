package view

import (
	"time"

	"concordat"
	"concordat/store"
)

// ShareRule states what a partner may ask of a library and what the partner is shown.
type ShareRule struct {
	Level          concordat.Show `json:"level" enum:"nothing,exists,counts,metadata,overlap,passage" doc:"The most that is shown to the partner"`
	Outline        string         `json:"outline,omitempty" enum:"words,fingerprints,none" doc:"Form in which matching documents are shown for alignment; absent: words"`
	NoEdges        bool           `json:"no_edges,omitempty" doc:"Word order is not compared; passages begin and end with whole sentences"`
	Purposes       []string       `json:"purposes,omitempty" maxItems:"100" doc:"Purposes for which the library may be asked; none: any"`
	Closeness      int            `json:"closeness,omitempty" minimum:"0" maximum:"100" doc:"Largest distance of a match in bits; 0: the scheme's"`
	Matches        int            `json:"matches,omitempty" minimum:"0" doc:"Sentences that must match before a document is named; 0: 2"`
	Sentences      int            `json:"sentences,omitempty" minimum:"-1" doc:"Maximum sentences asked per day; 0: 20,000, -1: no limit, as for all limits below"`
	Burst          int            `json:"burst,omitempty" minimum:"-1" doc:"Maximum sentences asked per hour; 0: 10,000"`
	Disclosures    int            `json:"disclosures,omitempty" minimum:"-1" doc:"Maximum matching sentences shown per day; 0: 500"`
	Documents      int            `json:"documents,omitempty" minimum:"-1" doc:"Maximum documents named per day; 0: 50"`
	Characters     int            `json:"characters,omitempty" minimum:"-1" doc:"Maximum characters of text shown per day; 0: 20,000"`
	Opened         int            `json:"opened,omitempty" minimum:"-1" doc:"Maximum sentences opened per document and year; 0: 25"`
	Units          int            `json:"units,omitempty" minimum:"-1" doc:"Maximum sentences around matches shown in outlines, per document and year; 0: 100"`
	Leads          bool           `json:"leads,omitempty" doc:"The partner may search by meaning codes for documents that may say the same thing; requires level metadata or above"`
	LeadCells      int            `json:"lead_cells,omitempty" minimum:"-1" doc:"Maximum meaning codes asked per day; 0: 10,000"`
	LeadSentences  int            `json:"lead_sentences,omitempty" minimum:"-1" doc:"Maximum sentences named per day as possibly saying the same thing; 0: 100"`
	LeadDocuments  int            `json:"lead_documents,omitempty" minimum:"-1" doc:"Maximum documents named per day as possibly saying the same thing; 0: 20"`
	Embargo        time.Time      `json:"embargo,omitzero" doc:"No questions are answered before this date"`
	Expires        time.Time      `json:"expires,omitzero" doc:"No questions are answered from this date on"`
	Ship           bool           `json:"ship,omitempty" doc:"The partner may keep a mirror of the fingerprints"`
	Standing       bool           `json:"standing,omitempty" doc:"The partner is notified of later documents that match its checks"`
	ExcludeAuthors bool           `json:"exclude_authors,omitempty" doc:"Documents by authors named in the question are left out"`
	ApprovalDays   int            `json:"approval_days,omitempty" minimum:"0" maximum:"3650" doc:"Days that a request for a passage can wait, and that a granted passage can be read; 0: 14"`
	Contact        string         `json:"contact,omitempty" maxLength:"1000" doc:"Contact for the partner's people"`
}

// Rule converts the rule to the store's form.
func (b ShareRule) Rule() store.ShareRule {
	r := store.ShareRule{Level: b.Level, Outline: b.Outline, NoEdges: b.NoEdges, Purposes: b.Purposes, Closeness: b.Closeness,
		Matches: b.Matches,
		Limits: store.Limits{Sentences: b.Sentences, Burst: b.Burst, Disclosures: b.Disclosures, Documents: b.Documents,
			Characters: b.Characters, Opened: b.Opened, Units: b.Units,
			LeadCells: b.LeadCells, LeadSentences: b.LeadSentences, LeadDocuments: b.LeadDocuments},
		Leads:   b.Leads,
		Embargo: b.Embargo, Expires: b.Expires, Ship: b.Ship, Standing: b.Standing, ExcludeAuthors: b.ExcludeAuthors,
		Approval: time.Duration(b.ApprovalDays) * 24 * time.Hour, Contact: b.Contact}
	switch b.Outline {
	case "":
		r.Outline = store.DefaultShareRule().Outline
	case "none":
		r.Outline = ""
	}
	return r
}

// OfShareRule returns a rule including defaults.
func OfShareRule(r store.ShareRule) ShareRule {
	outline := r.Outline
	if outline == "" {
		outline = "none"
	}
	r = r.Filled()
	l := r.Limits
	return ShareRule{r.Level, outline, r.NoEdges, r.Purposes, r.Closeness, r.Matches, l.Sentences, l.Burst, l.Disclosures, l.Documents,
		l.Characters, l.Opened, l.Units, r.Leads, l.LeadCells, l.LeadSentences, l.LeadDocuments,
		r.Embargo, r.Expires, r.Ship, r.Standing, r.ExcludeAuthors, int(r.Approval / (24 * time.Hour)), r.Contact}
}

// Share is a library shared with a partner.
type Share struct {
	Library concordat.LibraryID `json:"library"`
	Partner concordat.SiteID    `json:"partner"`
	Version int                 `json:"version" doc:"Version of the rule, from 1"`
	Changed time.Time           `json:"changed"`
	Rule    ShareRule           `json:"rule"`
}

// OfShare returns a share with its rule including defaults.
func OfShare(x store.Share) Share {
	return Share{x.Library, x.Partner, x.Version, x.Changed, OfShareRule(x.Rule)}
}

// Grant is the access to one library that an invitation grants.
type Grant struct {
	Library concordat.LibraryID `json:"library"`
	Rule    ShareRule           `json:"rule"`
}

// OfGrants returns the grants of an invitation, never nil.
func OfGrants(gs []store.Grant) []Grant {
	out := []Grant{}
	for _, g := range gs {
		out = append(out, Grant{g.Library, OfShareRule(g.Rule)})
	}
	return out
}
