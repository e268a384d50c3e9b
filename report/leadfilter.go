package report

import (
	"slices"
	"strconv"
	"strings"
)

// LeadFilter selects leads. The zero value selects all of them.
type LeadFilter struct {
	Kind      LeadKind  // empty for any kind
	Languages string    // languages of submission and source, as returned by LanguagePair; empty for any
	Least     float64   // minimum stated likelihood, for leads that have one; 0 for any
	State     LeadState // empty for any state
}

// Has reports whether f selects a lead that is in the given state.
func (f LeadFilter) Has(l Lead, state LeadState) bool {
	likely := l.Likely()
	return (f.Kind == "" || f.Kind == l.Kind) && (f.Languages == "" || f.Languages == LanguagePair(l.Languages)) &&
		(f.Least <= 0 || likely != nil && *likely >= f.Least) && (f.State == "" || f.State == state)
}

// ShowsLead reports whether r.LeadFilter selects a lead.
func (r *Report) ShowsLead(l RuledLead) bool { return r.LeadFilter.Has(l.Lead, l.State) }

// LeadsShown returns a sentence about the filter if it omits any leads, or "" if it omits none.
func (r *Report) LeadsShown() string {
	if r.LeadFilter == (LeadFilter{}) {
		return ""
	}
	shown := 0
	for _, l := range r.Leads {
		if r.ShowsLead(l) {
			shown++
		}
	}
	l := r.Language
	return l.Say("%s of %s leads are shown. Filter: %s.", Thousands(l, shown), Thousands(l, len(r.Leads)),
		strings.Join(l.LeadFilterWords(r.LeadFilter), l.Say(", ")))
}

// LeadFilterWords describes a filter, one part per condition. It returns nil if the filter selects everything.
func (l Language) LeadFilterWords(f LeadFilter) (out []string) {
	if f.State != "" {
		out = append(out, l.Say("leads.state."+string(f.State)))
	}
	if f.Kind != "" {
		out = append(out, l.Say("leads.kind."+string(f.Kind)))
	}
	if f.Languages != "" {
		out = append(out, l.PairWords(f.Languages))
	}
	if f.Least > 0 {
		out = append(out, l.Say("leads.likely", strconv.FormatFloat(f.Least, 'f', -1, 64)))
	}
	return out
}

// LeadKinds returns the kinds of leads.
func LeadKinds() []LeadKind { return []LeadKind{LeadRewording, LeadTranslation, LeadSummary} }

// LeadStates returns the states of leads.
func LeadStates() []LeadState { return []LeadState{LeadOpen, LeadCounted, LeadSetAside} }

// LikelihoodSteps returns the minimum likelihoods offered for filtering, ascending.
func LikelihoodSteps() []float64 { return []float64{2, 5, 10, MostLikely} }

// unknownLanguage represents an unknown language in a LanguagePair.
const unknownLanguage = "und" // RFC 5646

// LanguagePair joins two language codes, for example "en-zh"; "und" represents an unknown language.
func LanguagePair(codes [2]string) string {
	for i, c := range codes {
		if c == "" {
			codes[i] = unknownLanguage
		}
	}
	return codes[0] + "-" + codes[1]
}

// PairWords returns the names of the languages in a LanguagePair, or one name if they are the same.
func (l Language) PairWords(pair string) string {
	names := strings.SplitN(pair, "-", 2)
	for i, c := range names {
		if names[i] = l.languageName(c); c == unknownLanguage {
			names[i] = l.Say("another language")
		}
	}
	if names = slices.Compact(names); len(names) == 1 {
		return names[0]
	}
	return l.Say("%s, from %s", names[0], names[1])
}
