package report

import (
	"cmp"
	"slices"

	"concordat"
)

// LeadKind says how a lead relates to its source.
type LeadKind string

// The kinds of leads.
const (
	LeadRewording LeadKind = "rewording" // the same in other words
	LeadSummary   LeadKind = "summary"   // a much longer passage in other words
	// LeadTranslation is the same in another language, however long.
	LeadTranslation LeadKind = "translation"
)

// Lead is a passage that seems to say in other words what a passage of a source says. It is a reason to read both, no
// evidence, and part of no share. It never covers what evidence covers.
type Lead struct {
	Span   concordat.Span `json:"span"` // of the submission's text
	Source concordat.Ref  `json:"source"`
	Title  string         `json:"title"`
	// SourceSpan is in bytes of the source's text, SourcePoints the same in code points.
	SourceSpan   concordat.Span `json:"source_span"`
	SourcePoints concordat.Span `json:"source_points,omitzero"`
	Kind         LeadKind       `json:"kind"`
	Languages    [2]string      `json:"languages"` // of the submission and of the source: codes, empty: unknown
	Encoder      string         `json:"encoder"`   // what compared: table@ and its digest
	Pairs        []LeadPair     `json:"pairs"`     // sentences that belong together, by place in the submission
	Text         string         `json:"text,omitempty"`
}

// LeadPair is a sentence of the submission and the one of the source that is nearest to it.
type LeadPair struct {
	Span         concordat.Span `json:"span"`
	SourceSpan   concordat.Span `json:"source_span"`
	SourcePoints concordat.Span `json:"source_points,omitzero"`
	Similarity   float64        `json:"similarity"` // 0 to 1
	Text         string         `json:"text,omitempty"`
}

// leads returns the leads that can be placed in the text outside the evidence, by place; nil: nobody asked for them.
func (b *builder) leads(evidence []concordat.Evidence) []Lead {
	if b.f.Leads == nil {
		return nil
	}
	out := []Lead{}
	for _, l := range b.f.Leads {
		if clip(b.text, l.Span) != l.Span || l.Span.Len() == 0 || b.sources.has(l.Source) || b.own.has(l.Source) {
			continue
		}
		l.Pairs = slices.DeleteFunc(slices.Clone(l.Pairs), func(p LeadPair) bool {
			return clip(b.text, p.Span) != p.Span ||
				slices.ContainsFunc(evidence, func(e concordat.Evidence) bool { return e.Span.Overlaps(p.Span) })
		})
		if len(l.Pairs) == 0 {
			continue
		}
		l.Span = concordat.Span{Start: l.Pairs[0].Span.Start, End: l.Pairs[len(l.Pairs)-1].Span.End}
		out = append(out, l)
	}
	slices.SortStableFunc(out, func(x, y Lead) int {
		return cmp.Or(bySpan(x.Span, y.Span), compareRefs(x.Source, y.Source))
	})
	return out
}

// withoutText returns leads without wording of their sources.
func withoutText(ls []Lead) []Lead {
	ls = slices.Clone(ls)
	for i := range ls {
		ls[i].hide()
	}
	return ls
}

func (l *Lead) hide() {
	l.Text, l.Pairs = "", slices.Clone(l.Pairs)
	for k := range l.Pairs {
		l.Pairs[k].Text = ""
	}
}

// LeadMeaning says what a lead is, in English, to be translated.
const LeadMeaning = "A lead is a reason to read two places side by side: they seem to say the same in other words. It is no evidence and no part of any share."

// NoLeads says that leads were looked for and that there is none, in English, to be translated.
const NoLeads = "No passage seems to say in other words what a document of this site says. Most rewording of a single sentence, summaries and translations are not found."

// LeadsFound says how many leads there are; empty: nobody asked for them.
func (r *Report) LeadsFound() string {
	if r.Leads == nil {
		return ""
	}
	return r.Language.Say("Leads to passages in other words: %s. They are no part of the shares.", Thousands(len(r.Leads)))
}

// LeadWords says of a lead how it relates to its source.
func (r *Report) LeadWords(l Lead) string {
	switch l.Kind {
	case LeadSummary:
		return r.Language.Say("says in brief what the source says")
	case LeadTranslation:
		return r.Language.Say("says what the source says in another language")
	}
	return r.Language.Say("says the same in other words")
}

type (
	jsonLead struct {
		Span       concordat.Span `json:"span"`
		Source     jsonLeadSource `json:"source"`
		SourceSpan concordat.Span `json:"source_span"`
		Kind       LeadKind       `json:"kind"`
		Languages  [2]string      `json:"languages"`
		Encoder    string         `json:"encoder"`
		Pairs      []jsonLeadPair `json:"pairs"`
		Text       string         `json:"text,omitempty"`
	}
	jsonLeadSource struct {
		Site     concordat.SiteID     `json:"site"`
		Library  concordat.LibraryID  `json:"library"`
		Document concordat.DocumentID `json:"document"`
		Title    string               `json:"title"`
	}
	jsonLeadPair struct {
		Span       concordat.Span `json:"span"`
		SourceSpan concordat.Span `json:"source_span"`
		Similarity float64        `json:"similarity"`
	}
)

func (r *Report) jsonLeads(count *Counter) []jsonLead {
	if r.Leads == nil {
		return nil
	}
	out := []jsonLead{}
	for _, l := range r.Leads {
		x := jsonLead{Span: count.Points(l.Span), Source: jsonLeadSource{l.Source.Site, l.Source.Library, l.Source.Document, l.Title},
			SourceSpan: l.SourcePoints, Kind: l.Kind, Languages: l.Languages, Encoder: l.Encoder,
			Pairs: []jsonLeadPair{}, Text: l.Text}
		for _, p := range l.Pairs {
			x.Pairs = append(x.Pairs, jsonLeadPair{count.Points(p.Span), p.SourcePoints, round(p.Similarity)})
		}
		out = append(out, x)
	}
	return out
}
