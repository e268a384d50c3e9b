package profile

import (
	"unicode"

	"concordat/meaning"
	"concordat/segment"
)

// languageBytes is the size of the part of a text used to detect its language.
const languageBytes = 4 << 10

// LanguageOf returns the language code of a text, judging by its script and stop words, or "" if unknown.
func LanguageOf(text string) string {
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
