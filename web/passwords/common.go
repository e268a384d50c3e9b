package passwords

import (
	"concordat/people"
	_ "embed"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// commonPasswords are the passwords of ten or more characters in the list of @zxcvbn-ts/language-common 4.1.3 (MIT, LICENSE), one per
// line, except those that simple recognises. They are the most common in leaked lists.
//
//go:embed common.txt
var commonPasswords string

var isCommon = sync.OnceValue(func() map[string]bool {
	all := map[string]bool{}
	for line := range strings.Lines(commonPasswords) {
		all[strings.TrimSpace(line)] = true
	}
	return all
})

// common reports whether a password is among the first that an attacker tries. These are the listed passwords, in upper or lower case and
// possibly surrounded by punctuation, and simple ones.
func common(password string) bool {
	p := strings.ToLower(password)
	bare := strings.TrimFunc(p, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	return isCommon()[p] || isCommon()[bare] || simple(p)
}

// simple reports whether a text has at most three different characters, repeats a part of itself, or counts up or down.
func simple(s string) bool {
	rs := []rune(s)
	if len(rs) == 0 {
		return true
	}
	if distinct := slices.Sorted(slices.Values(rs)); len(slices.Compact(distinct)) <= 3 {
		return true
	}
	for n := 1; n <= len(rs)/2; n++ {
		if repeats(rs, n) {
			return true
		}
	}
	return counts(rs, 1) || counts(rs, -1)
}

// repeats reports whether rs consists of repetitions of its first n characters; the last repetition can be incomplete.
func repeats(rs []rune, n int) bool {
	for i := n; i < len(rs); i++ {
		if rs[i] != rs[i-n] {
			return false
		}
	}
	return true
}

// counts reports whether each character is the previous one plus step; 0 follows 9.
func counts(rs []rune, step rune) bool {
	for i := 1; i < len(rs); i++ {
		a, b := rs[i-1], rs[i]
		round := step == 1 && a == '9' && b == '0' || step == -1 && a == '0' && b == '9'
		if b != a+step && !round {
			return false
		}
	}
	return true
}

// leastBeside is the minimum number of characters of a password in addition to the account name.
const leastBeside = 6

// ownName reports whether a password is little more than one of the names, forwards or backwards.
func ownName(password string, names ...string) bool {
	p := strings.ToLower(password)
	for _, name := range names {
		n := []rune(strings.ToLower(strings.TrimPrefix(strings.TrimSpace(name), people.PublicMark)))
		if len(n) < 3 {
			continue
		}
		back := slices.Clone(n)
		slices.Reverse(back)
		for _, one := range []string{string(n), string(back)} {
			if rest := strings.ReplaceAll(p, one, ""); len(rest) < len(p) && len([]rune(rest)) < leastBeside {
				return true
			}
		}
	}
	return false
}

const (
	leastSecret = 10 // characters of a password
	MaxBytes    = 1024
)

// Fault returns the message key for the fault of a new password, or "" if there is none. names are the names of its account.
func Fault(password, again string, names ...string) string {
	switch n := len([]rune(password)); {
	case n < leastSecret || len(password) > MaxBytes:
		return "first.short"
	case common(password):
		return "first.common"
	case ownName(password, names...):
		return "first.own"
	case password != again:
		return "first.differ"
	}
	return ""
}
