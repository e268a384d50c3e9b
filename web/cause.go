package web

import (
	"fmt"
	"strings"

	"concordat/site"
)

// causes are the codes with which a task's cause begins and for which there are words and advice in
// every language: those of package extract, and those of the queue.
var causes = map[string]bool{"no_text_layer": true, "empty": true, "encrypted": true, "damaged": true, "unsupported": true, "limit": true,
	"timeout": true, "crashed": true, "binary": true, "encoding": true, "archive": true, "unreadable": true, "given up": true}

// ours reports whether a task with this cause failed by a fault of the site.
func ours(cause string) bool {
	code, _, _ := strings.Cut(cause, ": ")
	return !strings.HasPrefix(cause, "cancelled by ") && (!causes[code] || code == "given up" || code == "crashed")
}

// cause says in words why a task ended as it did, and what can be done about it. A cause is
// CODE, then a colon and what was found, then advice in parentheses; the two can be absent.
func (l language) cause(cause string) string {
	if cause == "" {
		return ""
	}
	var n, replaced, unchanged, failed int
	if _, err := fmt.Sscanf(cause, site.AddedCause, &n, &replaced, &unchanged, &failed); err == nil {
		return l.say("cause.added", n, replaced, unchanged, failed)
	}
	if _, err := fmt.Sscanf(cause, "split into %d checks", &n); err == nil {
		return l.say("cause.split", n)
	}
	if who, ok := strings.CutPrefix(cause, "cancelled by "); ok {
		return l.say("cause.cancelled", who)
	}
	rest, advice := cutAdvice(cause)
	code, detail, _ := strings.Cut(rest, ": ")
	if !causes[code] {
		return cause
	}
	words := l.say("cause." + code)
	if detail != "" {
		words += l.say("colon") + detail
	}
	words += l.say("stop")
	if code == "limit" && advice != "" { // it names the limit
		return words + l.say("cause.limit.how", advice)
	}
	return words + l.say("cause."+code+".how")
}

// cutAdvice parts a text from what stands in parentheses at its end, which may hold others.
func cutAdvice(s string) (rest, advice string) {
	if !strings.HasSuffix(s, ")") {
		return s, ""
	}
	depth := 0
	for i := len(s) - 1; i >= 0; i-- {
		switch s[i] {
		case ')':
			depth++
		case '(':
			depth--
		}
		if depth == 0 {
			return strings.TrimSuffix(s[:i], " "), s[i+1 : len(s)-1]
		}
	}
	return s, ""
}
