package report

import (
	"slices"
	"strings"
	"time"

	"concordat"
)

// PartnerSource describes a partner's document that is a source of passages, in the partner's words. Its document's identity is the
// partner's pseudonym for this site.
type PartnerSource struct {
	concordat.Ref
	Title   string          `json:"title,omitempty"`
	Author  string          `json:"author,omitempty"`
	Contact string          `json:"contact,omitempty"` // the contact
	Date    time.Time       `json:"date,omitzero"`     // of the document
	Level   concordat.Show  `json:"level"`             // of disclosure, as granted
	Job     string          `json:"job,omitempty"`     // job of the ask, hexadecimal; empty if the source was found in a mirror
	Epoch   concordat.Epoch `json:"epoch"`
	// Outline is the form in which the partner showed the document around its matches; it is empty if the
	// passages are the matched sentences themselves.
	Outline string `json:"outline,omitempty"`
	Matches int    `json:"matches"` // number of sentences of the submission that it matches
}

// Disclosure is one request to open passages of a partner's document, with its outcome.
type Disclosure struct {
	Source concordat.Ref  `json:"source"`
	Level  concordat.Show `json:"level"` // ShowOverlap or ShowPassage
	State  string         `json:"state"` // see concordat.DisclosureGranted and the other states
	Words  string         `json:"words,omitempty"`
	Reason string         `json:"reason,omitempty"` // as given with the request
	// Contact is the contact for the partner, as given with the request.
	Contact string    `json:"contact,omitempty"`
	Asked   time.Time `json:"asked"`
	Changed time.Time `json:"changed"` // of State
	Until   time.Time `json:"until,omitzero"`
	// Passages are the passages asked for: spans of the submission and of the source.
	Passages []concordat.SpanPair `json:"passages"`
	// Lead says that the passages are places of a PartnerLead.
	Lead bool `json:"lead,omitempty"`
}

// Partner returns what a partner disclosed about its document r; ok is false for a document of this site.
func (r *Report) Partner(ref concordat.Ref) (p PartnerSource, ok bool) {
	for _, p := range r.Partners {
		if p.Ref == ref {
			return p, true
		}
	}
	return PartnerSource{}, false
}

// blank replaces words of a partner's passage that are not shown.
const blank = "▁▁▁"

// SharedWords returns the words of the submission that a partner's passage also has, with a blank for the words between them, or "" if
// the partner disclosed none.
func SharedWords(text string, p concordat.Passage) string {
	var b strings.Builder
	end := p.Span.Start
	for _, s := range p.Shared {
		s = clip(text, s)
		if s.Len() == 0 || s.Start < end {
			continue
		}
		if strings.TrimSpace(text[end:s.Start]) != "" {
			b.WriteString(blank + " ")
		}
		b.WriteString(strings.TrimSpace(s.In(text)) + " ")
		end = s.End
	}
	if b.Len() > 0 && end < p.Span.End && strings.TrimSpace(text[end:p.Span.End]) != "" {
		b.WriteString(blank)
	}
	return strings.TrimSpace(b.String())
}

// partner returns sentences about what was exchanged between this site and a partner's library, in both directions.
func (l Language) partner(c concordat.Consulted) []string {
	if c.Level == "" {
		return nil
	}
	var out []string
	say := func(format string, args ...any) { out = append(out, l.Say(format, args...)) }
	if !c.Mirror.IsZero() {
		say("From a mirror of %s; nothing was asked or shown there.", c.Mirror.UTC().Format(time.DateOnly))
	}
	if c.Withheld > 0 {
		say("Not sent: %s, which this partner was shown in another form before.", l.Plural(c.Withheld, "sentence", "sentences"))
	}
	switch {
	case c.Unready > 0 && !c.Mirror.IsZero():
		say("Not measured: %s of its documents are not in the mirror.", l.Percent(c.Unready))
	case c.Unready > 0:
		say("Not measured: %s of its documents have no fingerprints of this key period.", l.Percent(c.Unready))
	}
	if x := l.exposed(c.Exposed); x != "" {
		say("They learned: %s.", x)
	}
	if c.Answered > 0 || c.Shown.Exists {
		say("Known here: %s.", l.shown(c))
	}
	if words := leadsAt[c.Leads]; words != "" {
		say(words)
	}
	if c.LeadsMissing > 0 {
		say("Not searched for leads: %s, which did not answer.", l.Plural(c.LeadsMissing, "part of its index", "parts of its index"))
	}
	if c.LeadsUnasked > 0 {
		say("Not asked about leads: %s at the end of the text, which is too long for that.", l.Plural(c.LeadsUnasked, "sentence", "sentences"))
	}
	if c.Standing {
		say("It will report later documents that match.")
	}
	return out
}

// leadsAt describes the outcome of the question for leads, in English, for translation.
var leadsAt = map[string]string{
	concordat.LeadsAsked:    "Leads were looked for there, by codes of meaning.",
	concordat.LeadsNone:     "Leads were not looked for there: every sentence had matched something.",
	concordat.LeadsWithheld: "Leads were not looked for there: this partner was shown the remaining sentences in another form before.",
	concordat.LeadsHere:     "Leads were not looked for there: this site does not send codes of meaning to partners.",
	concordat.LeadsClosed:   "Leads were not looked for there: the library is not open for it.",
	concordat.LeadsVersion:  "Leads were not looked for there: its version does not know the question. Nothing was sent for it.",
	concordat.LeadsTable:    "Leads were not looked for there: it has no index of meaning, another table, or a version that takes codes without the federation's key.",
	concordat.LeadsRefused:  "Leads were not looked for there: it refused.",
	concordat.LeadsFailed:   "Leads were not looked for there: it did not answer.",
	concordat.LeadsMirror:   "Leads were not looked for there: a mirror holds no codes of meaning.",
}

// exposed returns a description of what became known of a submission at a partner, or "" if nothing did.
func (l Language) exposed(e concordat.Exposed) string {
	var out []string
	if e.Sentences > 0 {
		out = append(out, l.Say("%s as keyed fingerprints", l.Plural(e.Sentences, "sentence", "sentences")))
	}
	if e.Cells > 0 {
		out = append(out, l.Say("%s as codes of meaning, which have no key", l.Plural(e.Cells, "sentence", "sentences")))
	}
	if e.Passages > 0 {
		out = append(out, l.Say("the wording of %s (%s)", l.Plural(e.Passages, "passage", "passages"), l.Plural(e.Letters, "letter", "letters")))
	}
	return strings.Join(out, l.Say(", "))
}

// shown returns a description of what became known here of a partner's library.
func (l Language) shown(c concordat.Consulted) string {
	s := c.Shown
	if !s.Exists {
		return l.Say("that nothing matches, as far as it may disclose")
	}
	var out []string
	switch c.Level {
	case concordat.ShowNothing, concordat.ShowExists:
		return l.Say("that something matches, and no more")
	case concordat.ShowCounts:
		return l.Say("that %s with %s of those asked, and no more", l.few(s.Documents, "1 document matches", "documents match"),
			l.few(s.Sentences, "1 sentence", "sentences"))
	default:
		out = append(out, l.Say("the titles of %s", l.Plural(s.Documents, "document that matches", "documents that match")))
	}
	if s.Outlines > 0 {
		out = append(out, l.Say("outlines of %s (%s)", l.Plural(s.Outlines, "document", "documents"), l.Plural(s.Units, "sentence", "sentences")))
	}
	if s.Words > 0 {
		out = append(out, l.Say("the order of %s, as a byte each", l.Plural(s.Words, "word", "words")))
	}
	if s.Overlaps > 0 {
		out = append(out, l.Say("the words in common with %s", l.Plural(s.Overlaps, "passage", "passages")))
	}
	if s.Passages > 0 {
		out = append(out, l.Say("%s in full", l.Plural(s.Passages, "passage", "passages")))
	}
	return strings.Join(out, l.Say(", "))
}

// few returns a number in words, with every number below three given as two.
func (l Language) few(n int, one, many string) string {
	if n == 2 {
		return l.Say("few") + " " + l.Say(many)
	}
	return l.Plural(n, one[len("1 "):], many)
}

// Disclosure returns a description of the state of a request to disclose passages.
func (l Language) Disclosure(d Disclosure) string {
	what := "The words in common with %s of %s: %s"
	if d.Level == concordat.ShowPassage {
		what = "The full wording of %s of %s: %s"
	}
	day := d.Changed.UTC().Format(time.DateOnly)
	state := d.State
	switch d.State {
	case concordat.DisclosureGranted:
		state = l.Say("shown on %s", day)
	case concordat.DisclosurePending:
		state = l.Say("requested on %s, not decided yet", d.Asked.UTC().Format(time.DateOnly))
	case concordat.DisclosureRefused:
		state = l.Say("refused on %s", day)
	case concordat.DisclosureExpired:
		state = l.Say("no longer open since %s", day)
	case concordat.DisclosureWithdrawn:
		state = l.Say("withdrawn on %s", day)
	}
	if d.Words != "" {
		state += " (" + d.Words + ")"
	}
	return l.Say(what, l.Plural(len(d.Passages), "passage", "passages"), d.Source, state) + l.Say(".")
}

// hidden reports whether a partner holds matches that it does not show.
func (r *Report) hidden() bool {
	return slices.ContainsFunc(r.Consulted, func(c concordat.Consulted) bool {
		return c.Shown.Exists && (c.Level == concordat.ShowExists || c.Level == concordat.ShowCounts)
	})
}

// SourceWords returns the contact for a partner's source and the known part of the source, in words, or "" for a source of this site.
func (r *Report) SourceWords(ref concordat.Ref) string {
	p, ok := r.Partner(ref)
	if !ok {
		return ""
	}
	l := r.Language
	var out []string
	if p.Author != "" {
		out = append(out, l.Say("by %s", p.Author))
	}
	if !p.Date.IsZero() {
		out = append(out, l.Say("of %s", p.Date.UTC().Format(time.DateOnly)))
	}
	if p.Contact != "" {
		out = append(out, l.Say("contact %s", p.Contact))
	}
	if p.Outline == "" {
		out = append(out, l.Say("known by matched sentences only"))
	}
	return strings.Join(out, l.Say("; "))
}
