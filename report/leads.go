package report

import (
	"cmp"
	"encoding/json"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"concordat"
	"concordat/report/language"
)

// LeadKind classifies how a lead relates to its source.
type LeadKind string

// The kinds of leads.
const (
	LeadRewording LeadKind = "rewording" // the same content in other words
	LeadSummary   LeadKind = "summary"   // a much longer passage, in other words
	// LeadTranslation is the same content in another language, whatever its length.
	LeadTranslation LeadKind = "translation"
)

// Lead is a passage that seems to restate a passage of a source in other words. It is a reason to read both, but neither evidence nor
// part of any share. It never overlaps evidence.
type Lead struct {
	Span   concordat.Span `json:"span"` // in the submission's text
	Source concordat.Ref  `json:"source"`
	Title  string         `json:"title"`
	// SourceSpan is in bytes of the source's text; SourcePoints is the same span in code points.
	SourceSpan   concordat.Span `json:"source_span"`
	SourcePoints concordat.Span `json:"source_points,omitzero"`
	Kind         LeadKind       `json:"kind"`
	Languages    [2]string      `json:"languages"` // language codes of the submission and the source; empty if unknown
	// Likelihood says how many times more often two places stand out this strongly in a reworded passage than elsewhere
	// (meaning.Lead.Likelihood); 0 if not measured.
	Likelihood float64    `json:"likelihood,omitempty"`
	Encoder    string     `json:"encoder"` // the comparer, as table@ and its digest
	Pairs      []LeadPair `json:"pairs"`   // corresponding sentences, ordered by place in the submission
	Text       string     `json:"text,omitempty"`
}

// LeadPair is a sentence of the submission and the most similar one in the source.
type LeadPair struct {
	Span         concordat.Span `json:"span"`
	SourceSpan   concordat.Span `json:"source_span"`
	SourcePoints concordat.Span `json:"source_points,omitzero"`
	Similarity   float64        `json:"similarity"` // 0 to 1
	Text         string         `json:"text,omitempty"`
}

// LeadRuling is a decision to count or reject a lead, with the reason.
type LeadRuling struct {
	// Span is the lead's place in the submission's text, in bytes; Source is its place in the source's text, in code points. Together
	// they identify the lead, whatever the source is called.
	Span    concordat.Span `json:"span"`
	Source  concordat.Span `json:"source_span" doc:"Span in the source, in code points"`
	Comment string         `json:"comment" minLength:"1" maxLength:"10000"`
	By      string         `json:"by,omitempty" doc:"Account that decided; the site sets it for new decisions"`
	At      time.Time      `json:"at,omitzero" required:"false" doc:"When it was decided; the site sets it for new decisions"`
}

// Of reports whether the ruling is about l. Evidence found after the ruling can take some of a lead's pairs, so the place in the source
// must be equal but the place in the submission need only overlap.
func (d LeadRuling) Of(l Lead) bool { return d.Source == l.SourcePoints && d.Span.Overlaps(l.Span) }

// RuledLead is a lead with its status under the rules.
type RuledLead struct {
	Lead
	Number string // L1, L2 and so on; the same under all rules
	State  LeadState
	Ruling LeadRuling // zero if the lead is open
	Own    *OwnWork   // proposal that the source is the author's own earlier work, or nil
}

// LeadState is the state of the decision about a lead.
type LeadState string

// The states of a lead.
const (
	LeadOpen     LeadState = "open"
	LeadCounted  LeadState = "counted"   // its share is stated separately from evidence
	LeadSetAside LeadState = "set_aside" // rejected as a lead
)

// CountLeads counts leads by state.
func CountLeads(states iter.Seq[LeadState]) concordat.LeadCount {
	var n concordat.LeadCount
	for s := range states {
		n.All++
		switch s {
		case LeadOpen:
			n.Open++
		case LeadCounted:
			n.Counted++
		}
	}
	return n
}

// LeadCount returns the number of leads of a report by state, or nil if leads were not requested.
func (r *Report) LeadCount() *concordat.LeadCount {
	if r.Leads == nil {
		return nil
	}
	n := CountLeads(func(yield func(LeadState) bool) {
		for _, l := range r.Leads {
			if !yield(l.State) {
				return
			}
		}
	})
	return &n
}

// leads returns the leads outside the evidence that can be placed in the text, ordered by place, or nil if leads were not requested.
func (b *builder) leads(evidence []concordat.Evidence) []RuledLead {
	if b.f.Leads == nil {
		return nil
	}
	excluded := func(l Lead) bool { return b.sources.has(l.Source) || b.own.has(l.Source) }
	all := slices.DeleteFunc(slices.Clone(b.f.Leads), func(l Lead) bool { return clip(b.text, l.Span) != l.Span || l.Span.Len() == 0 })
	slices.SortStableFunc(all, func(x, y Lead) int {
		return cmp.Or(bySpan(x.Span, y.Span), compareRefs(b.copies.first(x.Source), b.copies.first(y.Source)), bySpan(x.SourceSpan, y.SourceSpan),
			cmp.Compare(boolInt(excluded(x)), boolInt(excluded(y))), compareRefs(x.Source, y.Source)) // prefer a copy that is not excluded
	})
	all = firstCopies(b.copies, all, func(l Lead) (concordat.Ref, any) { return l.Source, [2]concordat.Span{l.Span, l.SourceSpan} })
	out := []RuledLead{}
	for i, l := range all {
		if excluded(l) {
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
		out = append(out, b.ruled(l, "L"+strconv.Itoa(i+1)))
	}
	return out
}

// ruled returns a lead together with the decision about it. If two people decide at the same time, rejection wins.
func (b *builder) ruled(l Lead, number string) RuledLead {
	out := RuledLead{Lead: l, Number: number, State: LeadOpen, Own: b.ownWork(l.Source)}
	isOf := func(d LeadRuling) bool { return d.Of(l) }
	if i := slices.IndexFunc(b.r.SetAsideLeads, isOf); i >= 0 {
		out.State, out.Ruling = LeadSetAside, b.r.SetAsideLeads[i]
	} else if i := slices.IndexFunc(b.r.CountLeads, isOf); i >= 0 {
		out.State, out.Ruling = LeadCounted, b.r.CountLeads[i]
	}
	return out
}

// leadShare returns the share of the text in counted leads, outside the covered text.
func (b *builder) leadShare(leads []RuledLead, covered spans) float64 {
	var counted []concordat.Span
	for _, l := range leads {
		if l.State != LeadCounted {
			continue
		}
		for _, p := range l.Pairs {
			counted = append(counted, p.Span)
		}
	}
	return b.part(union(counted).and(b.checked).without(covered))
}

// withoutWording removes the sources' wording from leads, and everything that people wrote about the leads.
func withoutWording(ls []RuledLead) []RuledLead {
	ls = slices.Clone(ls)
	for i := range ls {
		ls[i].hide()
		ls[i].Ruling = LeadRuling{}
	}
	return ls
}

// unsigned removes names and comments from rulings.
func unsigned(ds []LeadRuling) []LeadRuling {
	ds = slices.Clone(ds)
	for i := range ds {
		ds[i].Comment, ds[i].By = "", ""
	}
	return ds
}

func (l *Lead) hide() {
	l.Text, l.Pairs = "", slices.Clone(l.Pairs)
	for k := range l.Pairs {
		l.Pairs[k].Text = ""
	}
}

// LeadMeaning explains what a lead is, in English, for translation.
const LeadMeaning = "A lead is a reason to read two places side by side: they seem to say the same thing in other words. It is not evidence and not part of the share of evidence."

// NoLeads states that the search for leads found none, in English, for translation.
const NoLeads = "No passage seems to say in other words what a compared document says. Most rewordings of single sentences, most summaries and many translations are not found."

// LeadsFound returns a sentence with the number of leads and the share of the text that counted ones cover, or "" if leads were not
// requested.
func (r *Report) LeadsFound() string {
	if r.Leads == nil {
		return ""
	}
	l := r.Language
	found := l.Say("Leads to reworded passages: %s. They are not part of any share.", Thousands(l, len(r.Leads)))
	if counted := r.CountedLeads(); counted != "" {
		return l.Join([]string{found, counted})
	}
	return found
}

// CountedLeads returns a sentence on how many leads are counted, who counted them and what share of the text they cover, or "" if none
// are.
func (r *Report) CountedLeads() string {
	n, by := 0, []string{}
	for _, d := range r.Leads {
		if d.State != LeadCounted {
			continue
		}
		n++
		if who := r.Names.Person(d.Ruling.By); who != "" && !slices.Contains(by, who) {
			by = append(by, who)
		}
	}
	l := r.Language
	switch {
	case n == 0:
		return ""
	case len(by) == 0: // the reader is not allowed to see who decided
		return l.Say("Counted by a person: %s, %s of the text, in addition to the share of evidence.", l.Plural(n, "lead", "leads"), l.Percent(r.Scores.Leads))
	}
	slices.Sort(by)
	return l.Say("Counted by %s: %s, %s of the text, in addition to the share of evidence.", strings.Join(by, ", "), l.Plural(n, "lead", "leads"),
		l.Percent(r.Scores.Leads))
}

// LeadWords describes how a lead relates to its source, with both languages if they differ.
func (r *Report) LeadWords(l Lead) string {
	in := r.Language
	switch l.Kind {
	case LeadSummary:
		return in.Say("summarises the source")
	case LeadTranslation:
		return in.Say("says the same thing in other words (%s, from %s)", in.languageName(l.Languages[0]), in.languageName(l.Languages[1]))
	}
	return in.Say("says the same thing in other words")
}

// languageNames maps the supported language codes to English names.
var languageNames = map[string]string{
	"ar": "Arabic", "bg": "Bulgarian", "ca": "Catalan", "cs": "Czech", "da": "Danish", "de": "German", "el": "Greek",
	"en": "English", "es": "Spanish", "eu": "Basque", "fa": "Persian", "fi": "Finnish", "fr": "French", "ga": "Irish",
	"gl": "Galician", "hi": "Hindi", "hr": "Croatian", "hu": "Hungarian", "hy": "Armenian", "id": "Indonesian", "it": "Italian",
	"ja": "Japanese", "ko": "Korean",
	"nl": "Dutch", "no": "Norwegian", "pl": "Polish", "pt": "Portuguese", "ro": "Romanian", "ru": "Russian", "sv": "Swedish",
	"tr": "Turkish", "zh": "Chinese",
}

// languageName returns the name of a language, given its code, or the code itself if it is not in languageNames.
func (l Language) languageName(code string) string { return l.Say(cmp.Or(languageNames[code], code)) }

// RulingWords describes the decision about a lead, with its author, time and reason, or returns "" if the lead is open.
func (r *Report) RulingWords(l RuledLead) string {
	in, what := r.Language, ""
	switch l.State {
	case LeadCounted:
		what = in.Say("Counted by a person")
		if l.Ruling.By != "" {
			what = in.Say("Counted by %s", r.Names.Person(l.Ruling.By))
		}
	case LeadSetAside:
		what = in.Say("Not a lead")
		if l.Ruling.By != "" {
			what = in.Say("Marked as not a lead by %s", r.Names.Person(l.Ruling.By))
		}
	default:
		return ""
	}
	if !l.Ruling.At.IsZero() {
		what = in.Say("%s, %s", what, l.Ruling.At.UTC().Format(in.TimeLayout()))
	}
	if l.Ruling.Comment != "" {
		what = in.Say("%s: %s", what, l.Ruling.Comment)
	}
	return what
}

type (
	jsonLead struct {
		Number     string         `json:"number"`
		Span       concordat.Span `json:"span"`
		Source     jsonLeadSource `json:"source"`
		SourceSpan concordat.Span `json:"source_span"`
		Kind       LeadKind       `json:"kind"`
		Languages  [2]string      `json:"languages"`
		Likelihood *float64       `json:"likelihood"` // null if not measured
		Encoder    string         `json:"encoder"`
		Pairs      []jsonLeadPair `json:"pairs"`
		Text       string         `json:"text,omitempty"`
		State      LeadState      `json:"state"`
		Comment    string         `json:"comment,omitempty"`
		By         string         `json:"by,omitempty"`
		At         *time.Time     `json:"at,omitempty"`
		Own        *jsonOwnWork   `json:"own_work,omitempty"`
	}
	// jsonLeadFilter records which leads are written, and how many there are in all.
	jsonLeadFilter struct {
		State      LeadState `json:"state,omitempty"`
		Kind       LeadKind  `json:"kind,omitempty"`
		Languages  string    `json:"languages,omitempty"`
		Likelihood float64   `json:"likelihood,omitempty"`
		Total      int       `json:"total"`
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

// LeadsJSON returns the leads selected by f in the form that WriteJSON uses, regardless of r.LeadFilter.
func (r *Report) LeadsJSON(f LeadFilter) ([]json.RawMessage, error) {
	var out []json.RawMessage
	for _, x := range newWriting(r).leads(f) {
		b, err := json.Marshal(x)
		if err != nil {
			return nil, err
		}
		out = append(out, b)
	}
	return out, nil
}

func (w writing) leads(f LeadFilter) []jsonLead {
	if w.r.Leads == nil {
		return nil
	}
	out := []jsonLead{}
	for _, l := range w.r.Leads {
		if !f.Has(l.Lead, l.State) {
			continue
		}
		x := jsonLead{Number: l.Number, Span: w.count.Points(l.Span),
			Source:     jsonLeadSource{l.Source.Site, l.Source.Library, l.Source.Document, l.Title},
			SourceSpan: l.SourcePoints, Kind: l.Kind, Languages: l.Languages, Encoder: l.Encoder,
			Likelihood: l.Likely(), Pairs: []jsonLeadPair{}, Text: l.Text,
			State: l.State, Comment: l.Ruling.Comment, By: l.Ruling.By, At: moment(l.Ruling.At), Own: l.Own.json()}
		for _, p := range l.Pairs {
			x.Pairs = append(x.Pairs, jsonLeadPair{w.count.Points(p.Span), p.SourcePoints, round(p.Similarity)})
		}
		out = append(out, x)
	}
	return out
}

// leadFilter returns nil if no lead is omitted.
func (w writing) leadFilter() *jsonLeadFilter {
	f := w.r.LeadFilter
	if f == (LeadFilter{}) {
		return nil
	}
	return &jsonLeadFilter{f.State, f.Kind, f.Languages, f.Least, len(w.r.Leads)}
}

// Likely returns the likelihood of a lead rounded to two digits, as stated in reports, or nil if it was not measured.
func (l Lead) Likely() *float64 {
	if l.Likelihood <= 0 {
		return nil
	}
	unit := math.Pow(10, math.Floor(math.Log10(l.Likelihood))-1)
	x := math.Round(math.Round(l.Likelihood/unit)*unit*1e6) / 1e6
	return &x
}

// MostLikely is the maximum stated likelihood; the measured texts do not support a higher one.
const MostLikely = 20

// LikelihoodWords states the likelihood of a lead, or returns "" if it was not measured. [LikelihoodMeaning] explains the wording.
func (r *Report) LikelihoodWords(l Lead) string {
	x := l.Likely()
	switch {
	case x == nil:
		return ""
	case *x >= MostLikely:
		return r.Language.Say("Likely: %d to 1 or more", MostLikely)
	}
	return r.Language.Say("Likely: %s to 1", language.Code(r.Language).Decimal(strconv.FormatFloat(*x, 'f', -1, 64)))
}

// LikelihoodMeaning explains the likelihoods of a report's leads, or returns "" if none was measured.
func LikelihoodMeaning(r *Report) string {
	if !slices.ContainsFunc(r.Leads, func(l RuledLead) bool { return l.Likelihood > 0 }) {
		return ""
	}
	return r.Language.Say("“Likely: 14 to 1” means that pairs that stand out to this degree were 14 times as frequent in reworded passages as in other text.")
}

func moment(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// OpenLeads returns a sentence on how many leads await a decision, or "" if none do.
func (r *Report) OpenLeads() string {
	n := 0
	for _, d := range r.Leads {
		if d.State == LeadOpen {
			n++
		}
	}
	if n == 0 {
		return ""
	}
	l := r.Language
	return l.Say("Not decided: %s to passages that seem to say the same thing in other words. They count towards no share.", l.Plural(n, "lead", "leads"))
}
