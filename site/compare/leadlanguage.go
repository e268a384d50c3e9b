package compare

import (
	"slices"
	"unicode"

	"concordat"
	"concordat/profile"
)

// Codes of flags about the language of a text compared by meaning.
const (
	FlagLeadLanguage = "lead_language" // leads were not measured in this language
	FlagLeadScript   = "lead_script"   // the embedded table does not cover this script
)

// measuredLanguages maps the languages of texts with measured leads to the other languages of their sources (doc/evaluation/meaning.md).
var measuredLanguages = map[string][]string{"en": {"de", "es"}, "zh": nil}

// measuredBetween reports whether leads were measured between two languages, given their codes.
func measuredBetween(a, b string) bool {
	of, ok := measuredLanguages[a]
	_, also := measuredLanguages[b]
	return ok && (also || slices.Contains(of, b)) || also && slices.Contains(measuredLanguages[b], a)
}

// languageFlags returns flags for a text in which leads cannot be found, or in whose language they were not measured.
func languageFlags(text string) []concordat.Flag {
	letters, read := 0, 0
	for _, r := range text {
		if !unicode.IsLetter(r) {
			continue
		}
		letters++
		if unicode.In(r, unicode.Latin, unicode.Han) {
			read++
		}
	}
	_, measured := measuredLanguages[profile.LanguageOf(text)]
	switch {
	case letters == 0:
		return nil
	case 2*read < letters:
		return []concordat.Flag{{Code: FlagLeadScript, Detail: "The embedded table knows only Latin letters and Chinese characters. " +
			"Most of this text is in another script, so the absence of leads means nothing."}}
	case !measured:
		return []concordat.Flag{{Code: FlagLeadLanguage, Detail: "Leads were measured on English and Chinese texts. This text is in another " +
			"or an unknown language, so it is not known how many reworded passages are found in it or how often a lead is wrong."}}
	}
	return nil
}
