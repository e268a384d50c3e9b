package web

import (
	"errors"

	"concordat"
	"concordat/people"
	"concordat/site/batch"
)

// plain is an error that is said in words of every language, to whoever can do something about it.
type plain struct {
	kind error  // concordat.ErrInvalid or concordat.ErrRefused
	key  string // of a message
	args []any
}

// Error says it in English, as programs read it.
func (e *plain) Error() string { return english.say(e.key, e.args...) }
func (e *plain) Unwrap() error { return e.kind }

// wrong refuses input for a reason that people are told.
func wrong(key string, args ...any) error { return &plain{concordat.ErrInvalid, key, args} }

// barred refuses what the site does not allow whoever asks, for a reason that people are told.
func barred(key string, args ...any) error { return &plain{concordat.ErrRefused, key, args} }

// reason says what is wrong as far as words are known in the language; else in English, and then in is english.
func (l language) reason(err error) (words string, in language) {
	var p *plain
	var m *batch.ManifestError
	var broken *people.RuleError
	switch {
	case errors.As(err, &p):
		return l.say(p.key, p.args...), l
	case errors.As(err, &broken):
		return l.rule(broken.Rule), l
	case errors.As(err, &m) && m.Line > 0:
		return l.say("wrong.manifest.line", m.Line, l.say("wrong.manifest."+m.Code, m.Detail)), l
	case errors.As(err, &m):
		return l.say("wrong.manifest."+m.Code, m.Detail), l
	}
	return err.Error(), english
}

// rule says a rule of accounts and tokens.
func (l language) rule(r people.Rule) string {
	if r == people.RuleTitle {
		return l.say("wrong.title", people.MaxTitle)
	}
	return l.say(map[people.Rule]string{people.RuleName: "first.name", people.RuleOwn: "wrong.own", people.RuleToken: "wrong.token"}[r])
}
