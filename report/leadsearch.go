package report

import (
	"slices"
	"strings"
)

// LeadSearch records where and how the check looked for leads.
type LeadSearch struct {
	Documents int `json:"documents"` // number of documents in the compared libraries
	Compared  int `json:"compared"`  // documents whose sentences were compared by meaning
	// Index means that documents that share few words with the text could be found too.
	Index bool `json:"index"`
	// Vectors means that an encoder's vectors found documents too.
	Vectors    bool   `json:"vectors,omitempty"`
	NotIndexed int    `json:"not_indexed"` // documents of the site not yet indexed by meaning
	By         string `json:"by"`          // the comparer, as table@ and its digest, or the model of an encoder
	Language   string `json:"language"`    // language code of the text; empty if unknown
}

// byTable reports whether the comparison used the embedded table.
func (s *LeadSearch) byTable() bool { return strings.HasPrefix(s.By, "table@") }

// found counts reworded passages in tests, and how many of them had leads.
type found struct{ found, of int }

// leadRecall counts the passages for which leads were found in tests, with the index of meaning and 86 sources
// (doc/evaluation/meaning.md, What is found).
type leadRecall struct{ english, chinese, translated found }

var (
	tableRecall   = leadRecall{found{14, 25}, found{11, 12}, found{15, 21}}
	encoderRecall = leadRecall{found{23, 25}, found{11, 12}, found{18, 21}}
)

// measuredModels lists the names of the model with measured leads.
var measuredModels = []string{"multilingual-e5-small", "e5-query"}

// LeadsSought returns sentences on how the check looked for leads, in how many documents, and how many leads such a search finds in tests
// for the language of the text. It returns "" if the check did not look for leads or the search was not recorded.
func LeadsSought(r *Report) string {
	s, l := r.LeadSearch, r.Language
	if s == nil || r.Leads == nil {
		return ""
	}
	var out []string
	compared, all := Thousands(l, s.Compared), Thousands(l, max(s.Documents, s.Compared))
	switch { // two documents of a batch are compared with each other regardless of any index
	case s.Compared == 0 && s.Documents == 0:
	case s.Index && s.Vectors:
		out = append(out, l.Say("%s of %s documents were compared by meaning: those that share the most words with the text, and those whose sentences are nearest to it according to the encoder and the embedded table.", compared, all))
	case s.Index:
		out = append(out, l.Say("%s of %s documents were compared by meaning: those that share the most words with the text, and those whose sentences are nearest to it according to the embedded table.", compared, all))
		if s.NotIndexed > 0 {
			out = append(out,
				l.Say("%s of this site's documents are not indexed by meaning yet and were found by shared words alone.", Thousands(l, s.NotIndexed)))
		}
	default:
		out = append(out, l.Say("Only the %s of %s documents that share the most words with the text were compared by meaning: the meaning index is off, so documents that have few words in common with the text, or are in another language, were not examined.", compared, all))
	}
	recall, measured := tableRecall, true
	if s.byTable() {
		out = append(out, l.Say("The sentences were compared with the embedded table, which finds less than an encoder."))
	} else {
		out = append(out, l.Say("The sentences were compared with the encoder %s.", s.By))
		recall, measured = encoderRecall, slices.Contains(measuredModels, s.By)
	}
	return l.Join(append(out, recallWords(r, recall, measured)))
}

// recallWords returns a sentence on how many leads a search finds in tests for the language of the text.
func recallWords(r *Report, recall leadRecall, measured bool) string {
	s, l := r.LeadSearch, r.Language
	own := found{}
	switch s.Language {
	case "en":
		own = recall.english
	case "zh":
		own = recall.chinese
	case "":
		return l.Say("The language of this text is not known, so it is not known how much is found in it.")
	default:
		return l.Say("Leads were not measured in this language (%s), so it is not known how much is found in it.", l.languageName(s.Language))
	}
	switch {
	case !measured:
		return l.Say("This encoder was not measured, so it is not known how much it finds.")
	case !s.Index:
		return l.Say("How much is found without the index was not measured.")
	}
	return l.Say("In tests among 86 sources, %d of %d passages that a language model had rewritten in this language (%s) were found, and %d of %d translations.",
		own.found, own.of, l.languageName(s.Language), recall.translated.found, recall.translated.of)
}
