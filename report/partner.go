package report

import (
	"slices"
	"strings"
	"time"

	"concordat"
)

// PartnerSource describes a partner's document that is a source of passages, as stated by the partner. The document's identity is the
// partner's pseudonym for this site.
type PartnerSource struct {
	concordat.Ref
	Title   string          `json:"title,omitempty"`
	Author  string          `json:"author,omitempty"`
	Contact string          `json:"contact,omitempty"` // contact at the partner
	Date    time.Time       `json:"date,omitzero"`     // date of the document
	Level   concordat.Show  `json:"level"`             // granted level of disclosure
	Job     string          `json:"job,omitempty"`     // hexadecimal job of the query; empty if the source was found in a mirror
	Epoch   concordat.Epoch `json:"epoch"`
	// Outline is the form in which the partner disclosed the document around its matches; it is empty if the passages contain only the
	// matched sentences.
	Outline string `json:"outline,omitempty"`
	Matches int    `json:"matches"` // number of matching sentences of the submission
}

// Disclosure is one request to disclose passages of a partner's document, with its outcome.
type Disclosure struct {
	Source concordat.Ref  `json:"source"`
	Level  concordat.Show `json:"level"` // ShowOverlap or ShowPassage
	State  string         `json:"state"` // concordat.DisclosureGranted or another state
	Words  string         `json:"words,omitempty"`
	Reason string         `json:"reason,omitempty"` // reason given with the request
	// Contact is the contact for the partner that was given with the request.
	Contact string    `json:"contact,omitempty"`
	Asked   time.Time `json:"asked"`
	Changed time.Time `json:"changed"` // last change of State
	Until   time.Time `json:"until,omitzero"`
	// Passages are the requested passages: spans of the submission and of the source.
	Passages []concordat.SpanPair `json:"passages"`
	// Lead means that the passages are places of a PartnerLead.
	Lead bool `json:"lead,omitempty"`
}

// Partner returns what a partner disclosed about document r; ok is false for a document of this site.
func (r *Report) Partner(ref concordat.Ref) (p PartnerSource, ok bool) {
	for _, p := range r.Partners {
		if p.Ref == ref {
			return p, true
		}
	}
	return PartnerSource{}, false
}

// blank replaces the withheld words of a partner's passage.
const blank = "▁▁▁"

// SharedWords returns the submission's words that also occur in a partner's passage, with blanks for the words between them, or "" if the
// partner disclosed none.
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

// partner returns sentences on what this site and a partner's library learned from each other.
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
		say("Not sent: %s, which this partner has already seen in another form.", l.Plural(c.Withheld, "sentence", "sentences"))
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
		say("Not asked about leads: %s at the end of the text, because the text is too long.", l.Plural(c.LeadsUnasked, "sentence", "sentences"))
	}
	if c.Standing {
		say("It will report later documents that match.")
	}
	return out
}

// leadsAt describes the outcome of asking for leads, in English, for translation.
var leadsAt = map[string]string{
	concordat.LeadsAsked:    "Leads were looked for there, using meaning codes.",
	concordat.LeadsNone:     "Leads were not looked for there: every sentence had matched something.",
	concordat.LeadsWithheld: "Leads were not looked for there: this partner has already seen the remaining sentences in another form.",
	concordat.LeadsHere:     "Leads were not looked for there: this site does not send meaning codes to partners.",
	concordat.LeadsClosed:   "Leads were not looked for there: the library does not answer such questions.",
	concordat.LeadsVersion:  "Leads were not looked for there: its version does not support the question, so nothing was sent.",
	concordat.LeadsTable:    "Leads were not looked for there: it has no meaning index, uses another table, or runs a version that expects codes without the federation's key.",
	concordat.LeadsRefused:  "Leads were not looked for there: it refused.",
	concordat.LeadsFailed:   "Leads were not looked for there: it did not answer.",
	concordat.LeadsMirror:   "Leads were not looked for there: a mirror contains no meaning codes.",
}

// exposed describes what a partner learned about a submission, or returns "" if it learned nothing.
func (l Language) exposed(e concordat.Exposed) string {
	var out []string
	if e.Sentences > 0 {
		out = append(out, l.Say("%s as keyed fingerprints", l.Plural(e.Sentences, "sentence", "sentences")))
	}
	if e.Cells > 0 {
		out = append(out, l.Say("%s as meaning codes, which are not keyed", l.Plural(e.Cells, "sentence", "sentences")))
	}
	if e.Passages > 0 {
		out = append(out, l.Say("the wording of %s (%s)", l.Plural(e.Passages, "passage", "passages"), l.Plural(e.Letters, "letter", "letters")))
	}
	return strings.Join(out, l.Say(", "))
}

// shown describes what this site learned about a partner's library.
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
		out = append(out, l.Say("the order of %s, as one byte for each", l.Plural(s.Words, "word", "words")))
	}
	if s.Overlaps > 0 {
		out = append(out, l.Say("the words in common with %s", l.Plural(s.Overlaps, "passage", "passages")))
	}
	if s.Passages > 0 {
		out = append(out, l.Say("%s in full", l.Plural(s.Passages, "passage", "passages")))
	}
	return strings.Join(out, l.Say(", "))
}

// few returns n with its noun, or "few" for 2, which partners report for every number below three.
func (l Language) few(n int, one, many string) string {
	if n == 2 {
		return l.Say("few") + " " + l.Say(many)
	}
	return l.Plural(n, one[len("1 "):], many)
}

// Disclosure describes the state of a request to disclose passages.
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

// hidden reports whether a partner withholds some of its matches.
func (r *Report) hidden() bool {
	return slices.ContainsFunc(r.Consulted, func(c concordat.Consulted) bool {
		return c.Shown.Exists && (c.Level == concordat.ShowExists || c.Level == concordat.ShowCounts)
	})
}

// SourceWords describes the contact for a partner's source and the known part of it, or returns "" for a source of this site.
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
		out = append(out, l.Say("known only from matched sentences"))
	}
	return strings.Join(out, l.Say("; "))
}
