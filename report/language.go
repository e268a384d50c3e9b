package report

import (
	"fmt"
	"strings"

	"concordat"
	"concordat/report/language"
)

// Language is the language of a report's own text: headings, kinds, sentences and legends. Text from documents, sites and people remains
// unchanged, as do the codes in the JSON form. The zero value is English.
type Language language.Code

// English is the language of the texts in the source code.
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

// Tag returns the BCP 47 tag of l, for use in HTML.
func (l Language) Tag() string { return language.Code(l).Tag() }

// Say translates an English text of the program into language l, formatted with args as by fmt.Sprintf.
func (l Language) Say(english string, args ...any) string {
	return language.Code(l).Say(english, args...)
}

// Plural returns n with the noun for it, given the English singular and plural.
func (l Language) Plural(n int, one, many string) string {
	return Thousands(l, n) + " " + language.Code(l).Noun(n, one, many)
}

// Join joins sentences with the language's separator.
func (l Language) Join(sentences []string) string { return language.Code(l).Join(sentences) }

// TimeLayout returns the layout for a date and time in UTC, for use with time.Time.Format.
func (l Language) TimeLayout() string { return language.Code(l).TimeLayout() }
