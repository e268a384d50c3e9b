package message

import (
	"errors"

	"concordat"
	"concordat/people"
	"concordat/site/batch"
)

// Error is an error with a message in every language, for the person who can act on it.
type Error struct {
	kind error  // concordat.ErrInvalid, errAbsent, errConflict or concordat.ErrRefused
	key  string // message key
	args []any
}

// Error returns the message in English, for programs.
func (e *Error) Error() string { return English.Say(e.key, e.args...) }
func (e *Error) Unwrap() error { return e.kind }

// Invalid returns an error that rejects input, with a reason for people.
func Invalid(key string, args ...any) error { return &Error{concordat.ErrInvalid, key, args} }

// errAbsent combines two kinds of error: the named object does not exist, and the form that names it is wrong.
var errAbsent = errors.Join(concordat.ErrNotFound, concordat.ErrInvalid)

// Absent returns an error that rejects a reference to a missing object, with a reason for people. The error wraps concordat.ErrNotFound,
// for programs, and concordat.ErrInvalid, which makes a page show the form again.
func Absent(key string, args ...any) error { return &Error{errAbsent, key, args} }

// errConflict combines two kinds of error: the request contradicts the current state, and the form is wrong.
var errConflict = errors.Join(concordat.ErrChanged, concordat.ErrInvalid)

// Conflict returns an error that rejects input contradicting the current state, with a reason for people. The error wraps
// concordat.ErrChanged and concordat.ErrInvalid.
func Conflict(key string, args ...any) error { return &Error{errConflict, key, args} }

// Refused returns an error for a request that the visitor may not make, with a reason for people.
func Refused(key string, args ...any) error { return &Error{concordat.ErrRefused, key, args} }

// Reason explains an error in language l if a translation exists, and otherwise in English. in is the language of the explanation.
func (l Language) Reason(err error) (words string, in Language) {
	var p *Error
	var m *batch.ManifestError
	var broken *people.RuleError
	switch {
	case errors.As(err, &p):
		return l.Say(p.key, p.args...), l
	case errors.As(err, &broken):
		return l.Rule(broken.Rule), l
	case errors.As(err, &m) && m.Line > 0:
		return l.Say("wrong.manifest.line", m.Line, l.Say("wrong.manifest."+m.Code, m.Detail)), l
	case errors.As(err, &m):
		return l.Say("wrong.manifest."+m.Code, m.Detail), l
	}
	return err.Error(), English
}

// Rule describes a rule for accounts and tokens.
func (l Language) Rule(r people.Rule) string {
	if r == people.RuleTitle {
		return l.Say("wrong.title", people.MaxTitle)
	}
	return l.Say(map[people.Rule]string{people.RuleName: "first.name", people.RuleOwn: "wrong.own", people.RuleToken: "wrong.token",
		people.RuleOrigins: "wrong.origins"}[r])
}

// Other returns the language of an error's explanation if it differs from l, and otherwise "".
func (l Language) Other(err error) string {
	if _, in := l.Reason(err); in != l {
		return string(in)
	}
	return ""
}
