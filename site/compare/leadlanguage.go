package compare

import (
	"slices"
	"unicode"

	"concordat"
	"concordat/meaning"
	"concordat/segment"
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

// languageBytes is the size of the part of a text used to detect its language.
const languageBytes = 4 << 10

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
	_, measured := measuredLanguages[languageOf(text)]
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

// languageOf returns the language code of a text, judging by its script and stop words, or "" if unknown.
func languageOf(text string) string {
	if meaning.Wide(text) {
		return eastAsian(text)
	}
	for end := range text {
		if end > languageBytes {
			text = text[:end]
			break
		}
	}
	var t segment.Text
	if err := t.Split(text); err != nil {
		return ""
	}
	language := t.Language()
	for i, code := range segment.Languages() {
		if language == 1<<i {
			return code
		}
	}
	return ""
}

// kanaOf is the threshold for Japanese. A text in Chinese characters is Japanese if at least one in kanaOf letters is kana. Half of the
// letters in Japanese prose are kana; in a Chinese text with Japanese quotations, far fewer are.
const kanaOf = 10

// eastAsian classifies a text as Chinese, Japanese or Korean by its letters.
func eastAsian(text string) string {
	han, kana, hangul := 0, 0, 0
	for _, r := range text {
		switch {
		case unicode.Is(unicode.Han, r):
			han++
		case unicode.In(r, unicode.Hiragana, unicode.Katakana):
			kana++
		case unicode.Is(unicode.Hangul, r):
			hangul++
		}
	}
	switch {
	case hangul > han+kana:
		return "ko"
	case kanaOf*kana > han+kana+hangul:
		return "ja"
	}
	return "zh"
}
