package store

import (
	"encoding/json"
	"fmt"
	"time"

	"concordat"
)

// Cause explains why a task or batch ended as it did, or why a document of a batch could not be read. The zero value means no cause.
type Cause struct {
	// Code is one of the codes below, or a code from package extract; if it is empty, only Detail is set.
	Code CauseCode `json:"code,omitempty"`
	// Numbers are the code's arguments, in the order documented with it.
	Numbers []int  `json:"numbers,omitempty"`
	Who     string `json:"who,omitempty"`    // account that cancelled, for CauseCancelled
	Detail  string `json:"detail,omitempty"` // for example, what was found in the file
	Advice  string `json:"advice,omitempty"` // suggested action
}

// CauseCode identifies a reason. Codes are stored, so they must never change.
type CauseCode string

// Codes of causes written by the queues, with their Numbers.
const (
	CauseAdded     CauseCode = "added"     // Numbers: new, replaced, unchanged and unreadable texts
	CauseSplit     CauseCode = "split"     // Numbers: checks created from an archive
	CauseUnread    CauseCode = "unread"    // Numbers: unreadable documents and all documents of a batch
	CauseCancelled CauseCode = "cancelled" // no Numbers
	CauseGivenUp   CauseCode = "given up"  // Numbers: attempts that ended without a result
	CauseDeleted   CauseCode = "deleted"   // no Numbers
	// CauseQuota has the kind of the quota as its Detail. Its Numbers are the amount requested, the amount left, the limit, and the time
	// in Unix seconds when the amount will fit, or 0 for never.
	CauseQuota CauseCode = "quota"
)

// Codes of package extract, and the code of panics, with which other code compares. Such causes have a Detail and an Advice.
const (
	CauseEmpty   CauseCode = "empty"
	CauseLimit   CauseCode = "limit" // the advice states the limit
	CauseCrashed CauseCode = "crashed"
	CauseFault   CauseCode = "fault"
)

// Number returns Numbers[i], or 0 if it does not exist.
func (c Cause) Number(i int) int {
	if i < len(c.Numbers) {
		return c.Numbers[i]
	}
	return 0
}

// IsZero reports whether there is no cause.
func (c Cause) IsZero() bool {
	return c.Code == "" && c.Who == "" && c.Detail == "" && c.Advice == "" && len(c.Numbers) == 0
}

// String returns the cause in English, for the API, the log and the command line. It must never be parsed.
func (c Cause) String() string {
	switch c.Code {
	case CauseAdded:
		return fmt.Sprintf("added: %d new, %d replaced, %d unchanged, %d not readable", c.Number(0), c.Number(1), c.Number(2), c.Number(3))
	case CauseSplit:
		return fmt.Sprintf("split into %d checks", c.Number(0))
	case CauseUnread:
		return fmt.Sprintf("%d of %d documents could not be read", c.Number(0), c.Number(1))
	case CauseCancelled:
		return "cancelled by " + c.Who
	case CauseGivenUp:
		return fmt.Sprintf("given up: stopped without a word %d times", c.Number(0))
	case CauseQuota:
		again := "never"
		if at := c.Number(3); at > 0 {
			again = "at " + time.Unix(int64(at), 0).UTC().Format(QuotaTime)
		}
		return fmt.Sprintf("quota for %s exceeded: %d requested, but only %d of %d left; enough available again: %s", c.Detail, c.Number(0), c.Number(1), c.Number(2), again)
	}
	s := string(c.Code)
	if s != "" && c.Detail != "" {
		s += ": "
	}
	s += c.Detail
	if c.Advice != "" {
		s += " (" + c.Advice + ")"
	}
	return s
}

// UnmarshalJSON parses a cause. It accepts a JSON string as a cause with only a Detail, since jobs queued by an earlier version contain
// strings.
func (c *Cause) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		*c = Cause{}
		return json.Unmarshal(b, &c.Detail)
	}
	type plain Cause
	return json.Unmarshal(b, (*plain)(c))
}

// column returns the cause in the form stored in its column: JSON, or empty for no cause.
func (c Cause) column() (string, error) {
	if c.IsZero() {
		return "", nil
	}
	c.Who, c.Detail, c.Advice = cleanText(c.Who), cleanText(c.Detail), cleanText(c.Advice)
	b, err := json.Marshal(c)
	return string(b), err
}

// causeOf parses the column of a cause.
func causeOf(column string) (c Cause, err error) {
	if column == "" {
		return c, nil
	}
	if err := json.Unmarshal([]byte(column), &c); err != nil {
		return c, fmt.Errorf("%w: cannot decode the stored cause: %v", concordat.ErrCorrupt, err)
	}
	return c, nil
}
