package report

import (
	"fmt"
	"strings"

	"concordat"
	"concordat/report/language"
)

// Language is the language of a report's own words: headings, kinds, sentences and legends. Text from documents, sites and people stays
// unchanged, and so do the codes of the JSON form. The zero value is English.
type Language language.Code

// English is the language of the texts in the code.
const English = Language(language.English)

// ParseLanguage returns the language of a tag, for example en, zh, zh-CN or zh-Hans, or
// concordat.ErrInvalid. The empty tag is English.
func ParseLanguage(tag string) (Language, error) {
	c, ok := language.Parse(tag)
	if !ok {
		return "", fmt.Errorf("language %q: %w: want %s", tag, concordat.ErrInvalid, strings.Join(language.Short(), " or "))
	}
	return Language(c), nil
}

// Tag returns the BCP 47 tag of l, as required by HTML.
func (l Language) Tag() string { return language.Code(l).Tag() }

// Say returns an English text of the program in language l, with its verbs replaced by args as in fmt.Sprintf.
func (l Language) Say(english string, args ...any) string {
	return language.Code(l).Say(english, args...)
}

// Plural returns the words for n of a thing, given the English words for one and for many.
func (l Language) Plural(n int, one, many string) string {
	return Thousands(n) + " " + language.Code(l).Noun(n, one, many)
}

// Join returns sentences joined as the language requires.
func (l Language) Join(sentences []string) string { return language.Code(l).Join(sentences) }

// TimeLayout returns the layout of a date with its time in UTC, as time.Time.Format takes it.
func (l Language) TimeLayout() string { return language.Code(l).TimeLayout() }
