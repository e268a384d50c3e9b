package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// causesVersion is the first schema version in which causes are structured data. In earlier versions, task.cause and batch.cause
// contained English text.
const causesVersion = 115

// cause has the JSON form of store.Cause.
type cause struct {
	Code    string `json:"code,omitempty"`
	Numbers []int  `json:"numbers,omitempty"`
	Who     string `json:"who,omitempty"`
	Detail  string `json:"detail,omitempty"`
	Advice  string `json:"advice,omitempty"`
}

// causeCodes lists the codes that could begin an English cause, before a colon.
var causeCodes = []string{"no_text_layer", "empty", "encrypted", "damaged", "unsupported", "limit", "timeout", "crashed", "binary",
	"encoding", "archive", "unreadable", "fault"}

// memberCausesVersion is the first schema version in which batch_member.reason is structured data. In earlier versions, it contained
// English text.
const memberCausesVersion = 116

// migrateCauses converts English causes of tasks and batches to structured data.
func migrateCauses(ctx context.Context, c Conn) error {
	for _, table := range []string{"task", "batch"} {
		if err := migrateColumn(ctx, c, table, "cause"); err != nil {
			return err
		}
	}
	return nil
}

// migrateMemberCauses converts the English reasons why members of batches could not be read to structured data.
func migrateMemberCauses(ctx context.Context, c Conn) error {
	return migrateColumn(ctx, c, "batch_member", "reason")
}

// migrateColumn converts the English texts in a column to structured data. It converts equal texts at once, because a column has far
// fewer distinct texts than rows.
func migrateColumn(ctx context.Context, c Conn, table, column string) error {
	texts, err := Collect(ctx, c, func(s Scanner) (text string, err error) { return text, s.Scan(&text) },
		`SELECT DISTINCT `+column+` FROM `+table+` WHERE `+column+` <> ''`)
	if err != nil {
		return err
	}
	for _, text := range texts {
		b, err := json.Marshal(readCause(text))
		if err != nil {
			return err
		}
		if _, err := c.Exec(ctx, `UPDATE `+table+` SET `+column+` = ? WHERE `+column+` = ?`, string(b), text); err != nil {
			return err
		}
	}
	return nil
}

// readCause parses an English cause. A text in any other form becomes the detail in full.
func readCause(s string) cause {
	for _, f := range []struct {
		code, form string
		numbers    int
	}{
		{"added", "added: %d new, %d replaced, %d unchanged, %d not readable", 4},
		{"split", "split into %d checks", 1},
		{"unread", "%d of %d documents could not be read", 2},
		{"given up", "given up: stopped without a word %d times", 1},
	} {
		n := make([]int, f.numbers)
		into := make([]any, f.numbers)
		for i := range n {
			into[i] = &n[i]
		}
		if _, err := fmt.Sscanf(s, f.form, into...); err == nil && fmt.Sprintf(f.form, values(n)...) == s {
			return cause{Code: f.code, Numbers: n}
		}
	}
	if s == "deleted" {
		return cause{Code: s}
	}
	if who, ok := strings.CutPrefix(s, "cancelled by "); ok {
		return cause{Code: "cancelled", Who: who}
	}
	rest, advice := cutAdvice(s)
	if code, detail, _ := strings.Cut(rest, ": "); slices.Contains(causeCodes, code) {
		return cause{Code: code, Detail: detail, Advice: advice}
	}
	return cause{Detail: s}
}

func values(n []int) (out []any) {
	for _, x := range n {
		out = append(out, x)
	}
	return out
}

// cutAdvice splits off the parentheses at the end of a text; they can contain nested parentheses.
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
