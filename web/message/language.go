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

// Cookie is the name of the cookie that contains the language that a visitor chose.
const Cookie = "language"

// Languages returns every language, English first.
func Languages() []Language {
	var out []Language
	for _, c := range language.All() {
		out = append(out, Language(c))
	}
	return out
}

// LanguageOf returns the language that the visitor chose, or the first that the browser asks for.
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

// LanguageNamed returns the language with that tag, or English if there is none.
func LanguageNamed(tag string) Language {
	if c, ok := language.Parse(tag); ok {
		return Language(c)
	}
	return English
}

// Report returns the language for reports.
func (l Language) Report() report.Language { return report.Language(l) }

// Name returns the name of the language in that language.
func (l Language) Name() string { return language.Code(l).Name() }

// Say returns a message. An unknown key is shown as it is; a test finds pages with unknown keys.
func (l Language) Say(key string, args ...any) string { return language.Code(l).Say(key, args...) }

// Action says in words what an audit entry records. An action without words, for example one of another version, is shown as it is.
func (l Language) Action(action string) string {
	if words, ok := language.Code(l).Lookup("audit.did." + action); ok {
		return words
	}
	return action
}

// Fact returns the name of a field in the detail of an audit entry. A field without words is shown by its name in the audit.
func (l Language) Fact(key string) string {
	if words, ok := language.Code(l).Lookup("audit.fact." + key); ok {
		return words
	}
	return key
}
