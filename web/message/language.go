package message

import (
	"net/http"
	"strings"

	"concordat/report"
	"concordat/report/language"
)

// Language is a language of the pages.
type Language language.Code

// English is the language of the API, and the default for unknown languages.
const English = Language(language.English)

// Cookie is the name of the cookie that stores the visitor's language.
const Cookie = "language"

// Languages returns every language, English first.
func Languages() []Language {
	var out []Language
	for _, c := range language.All() {
		out = append(out, Language(c))
	}
	return out
}

// LanguageOf returns the language that the visitor chose or, by default, the browser's preferred language.
func LanguageOf(r *http.Request) Language {
	if c, err := r.Cookie(Cookie); err == nil {
		return LanguageNamed(c.Value)
	}
	for _, one := range strings.Split(r.Header.Get("Accept-Language"), ",") {
		tag, _, _ := strings.Cut(one, ";")
		if c, ok := language.Parse(strings.TrimSpace(tag)); ok && strings.TrimSpace(tag) != "" {
			return Language(c)
		}
	}
	return English
}

// LanguageNamed returns the language with the given tag, or English if there is none.
func LanguageNamed(tag string) Language {
	if c, ok := language.Parse(tag); ok {
		return Language(c)
	}
	return English
}

// Report returns the language as a report.Language.
func (l Language) Report() report.Language { return report.Language(l) }

// Name returns the language's own name for itself.
func (l Language) Name() string { return language.Code(l).Name() }

// Say returns a message. An unknown key is shown unchanged; a test finds pages with unknown keys.
func (l Language) Say(key string, args ...any) string { return language.Code(l).Say(key, args...) }

// Action describes an audit entry's action. An action without a description, for example one from another version, is returned unchanged.
func (l Language) Action(action string) string {
	if words, ok := language.Code(l).Lookup("audit.did." + action); ok {
		return words
	}
	return action
}

// Fact returns the display name of a field in an audit entry. A field without a display name is returned unchanged.
func (l Language) Fact(key string) string {
	if words, ok := language.Code(l).Lookup("audit.fact." + key); ok {
		return words
	}
	return key
}
