package report

import (
	"slices"
	"strings"
)

// LeadFilter chooses leads. The zero value chooses all.
type LeadFilter struct {
	Kind      LeadKind  // empty: of any
	Languages string    // codes of the submission and of the source, as LanguagePair writes them; empty: any
	Least     float64   // likelihood as it is said, of those for which it was measured; 0: any
	State     LeadState // empty: any
}

// Has reports whether a lead in a state is chosen.
func (f LeadFilter) Has(l Lead, state LeadState) bool {
	likely := l.Likely()
	return (f.Kind == "" || f.Kind == l.Kind) && (f.Languages == "" || f.Languages == LanguagePair(l.Languages)) &&
		(f.Least <= 0 || likely != nil && *likely >= f.Least) && (f.State == "" || f.State == state)
}

// LeadKinds returns the kinds of leads.
func LeadKinds() []LeadKind { return []LeadKind{LeadRewording, LeadTranslation, LeadSummary} }

// LeadStates returns the states of leads.
func LeadStates() []LeadState { return []LeadState{LeadOpen, LeadCounted, LeadSetAside} }

// LikelihoodSteps returns the likelihoods from which leads may be chosen, ascending.
func LikelihoodSteps() []float64 { return []float64{2, 5, 10, MostLikely} }

// unknownLanguage stands for a language that is not known in a LanguagePair.
const unknownLanguage = "und" // RFC 5646

// LanguagePair writes two codes of languages as one, "en-zh"; "und" stands for a language that is not known.
func LanguagePair(codes [2]string) string {
	for i, c := range codes {
		if c == "" {
			codes[i] = unknownLanguage
		}
	}
	return codes[0] + "-" + codes[1]
}

// PairWords says the languages of a LanguagePair: one name if both are the same.
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
