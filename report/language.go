package report

import (
	"fmt"
	"strings"

	"concordat"
)

// Language is the language of a report's own words: headings, kinds, sentences and legends. What
// comes from documents, sites and people stays as it is, and so do the codes of the JSON form. The
// zero value is English.
type Language string

// The languages.
const (
	English Language = "en"
	Chinese Language = "zh" // simplified
)

// ParseLanguage returns the language of a tag such as en, zh, zh-CN or zh-Hans, or
// concordat.ErrInvalid. The empty tag is English.
func ParseLanguage(tag string) (Language, error) {
	base, _, _ := strings.Cut(strings.ToLower(strings.ReplaceAll(tag, "_", "-")), "-")
	switch base {
	case "", "en":
		return English, nil
	case "zh":
		return Chinese, nil
	}
	return "", fmt.Errorf("language %q: %w: want en or zh", tag, concordat.ErrInvalid)
}

// Tag returns the BCP 47 tag of l, as HTML wants it.
func (l Language) Tag() string {
	if l == Chinese {
		return "zh-Hans"
	}
	return "en"
}

// Say returns an English text of the program in language l, its verbs filled with args as by
// fmt.Sprintf. The English is the key of the table of messages, whose translations may take the
// arguments in another order. What the table lacks stays English.
func (l Language) Say(english string, args ...any) string {
	if t, ok := messages[l][english]; ok {
		english = t
	}
	if len(args) == 0 {
		return english
	}
	return fmt.Sprintf(english, args...)
}

// Plural says n of a thing: one and many are English, and the translation is that of many.
func (l Language) Plural(n int, one, many string) string {
	if t, ok := messages[l][many]; ok {
		return Thousands(n) + " " + t
	}
	return Plural(n, one, many)
}

// join puts sentences behind one another.
func (l Language) join(sentences []string) string {
	if l == Chinese {
		return strings.Join(sentences, "")
	}
	return strings.Join(sentences, " ")
}

// Messages returns a copy of the table of language l, English text to translation; nil for English,
// which needs none.
func Messages(l Language) map[string]string {
	if messages[l] == nil {
		return nil
	}
	out := make(map[string]string, len(messages[l]))
	for k, v := range messages[l] {
		out[k] = v
	}
	return out
}

// messages holds the translations of each language by the English text.
var messages = map[Language]map[string]string{Chinese: chinese}
