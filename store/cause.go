package store

import (
	"fmt"
	"strings"
)

// Cause says why a task ended as it did. String writes the form in which a task keeps it, and ReadCause is its only reader.
type Cause struct {
	// Code is one of the codes below, one of package extract, or empty if there is none: then Detail is all.
	Code string
	// Numbers are those of CauseAdded (new, replaced, unchanged and unreadable texts) and CauseSplit (checks).
	Numbers []int
	Who     string // of CauseCancelled
	Detail  string // what was found; may be empty
	Advice  string // what can be done; may be empty
}

// The codes of causes that the queue writes.
const (
	CauseAdded     = "added"
	CauseSplit     = "split"
	CauseCancelled = "cancelled"
	CauseGivenUp   = "given up"
)

// Forms of causes, which rows of all versions have.
const (
	addedForm     = "added: %d new, %d replaced, %d unchanged, %d not readable"
	splitForm     = "split into %d checks"
	cancelledForm = "cancelled by "
)

// String returns the form that ReadCause reads.
func (c Cause) String() string {
	switch {
	case c.Code == CauseAdded && len(c.Numbers) == 4:
		return fmt.Sprintf(addedForm, c.Numbers[0], c.Numbers[1], c.Numbers[2], c.Numbers[3])
	case c.Code == CauseSplit && len(c.Numbers) == 1:
		return fmt.Sprintf(splitForm, c.Numbers[0])
	case c.Code == CauseCancelled:
		return cancelledForm + c.Who
	}
	s := c.Code
	if s != "" && c.Detail != "" {
		s += ": "
	}
	s += c.Detail
	if c.Advice != "" {
		s += " (" + c.Advice + ")"
	}
	return s
}

// ReadCause reads the cause of a task. What it does not know becomes Code, up to a colon and a space, Detail, and Advice, which is in
// parentheses at the end.
func ReadCause(s string) Cause {
	var n [4]int
	if _, err := fmt.Sscanf(s, addedForm, &n[0], &n[1], &n[2], &n[3]); err == nil {
		return Cause{Code: CauseAdded, Numbers: n[:]}
	}
	if _, err := fmt.Sscanf(s, splitForm, &n[0]); err == nil {
		return Cause{Code: CauseSplit, Numbers: n[:1]}
	}
	if who, ok := strings.CutPrefix(s, cancelledForm); ok {
		return Cause{Code: CauseCancelled, Who: who}
	}
	rest, advice := cutAdvice(s)
	code, detail, _ := strings.Cut(rest, ": ")
	return Cause{Code: code, Detail: detail, Advice: advice}
}

// cutAdvice cuts a text before what is in parentheses at its end, which may hold others.
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
