package eval

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// Table holds values of one kind, ordered by what was measured.
type Table struct {
	Title   string   `json:"title"`
	Columns []string `json:"columns"`
	Rows    [][]any  `json:"rows"` // strings, whole numbers, and float64; nil means not measured
}

// Write writes the table in columns, with one decimal for non-integers.
func (t Table) Write(w io.Writer) error {
	width := make([]int, len(t.Columns))
	lines := [][]string{t.Columns}
	for _, row := range t.Rows {
		var line []string
		for _, v := range row {
			switch v := v.(type) {
			case nil:
				line = append(line, "-")
			case float64:
				line = append(line, strconv.FormatFloat(v, 'f', 1, 64))
			default:
				line = append(line, fmt.Sprint(v))
			}
		}
		lines = append(lines, line)
	}
	for _, line := range lines {
		for i, cell := range line {
			width[i] = max(width[i], len(cell))
		}
	}
	for n, line := range lines {
		for i, cell := range line {
			pad := strings.Repeat(" ", width[i]-len(cell))
			if number := n == 0 || t.Rows[n-1][i] == nil || !isString(t.Rows[n-1][i]); number && !t.text(i) {
				cell, pad = pad+cell, ""
			}
			if i == 0 {
				cell = "  " + cell
			}
			if i == len(line)-1 {
				pad = "\n"
			} else {
				pad += "  "
			}
			if _, err := io.WriteString(w, cell+pad); err != nil {
				return err
			}
		}
	}
	return nil
}

// text reports whether column i contains strings.
func (t Table) text(i int) bool { return len(t.Rows) > 0 && isString(t.Rows[0][i]) }

func isString(v any) bool {
	_, ok := v.(string)
	return ok
}

// drop removes columns.
func (t *Table) drop(names ...string) {
	for _, name := range names {
		i := slices.Index(t.Columns, name)
		t.Columns = slices.Delete(t.Columns, i, i+1)
		for n := range t.Rows {
			t.Rows[n] = slices.Delete(t.Rows[n], i, i+1)
		}
	}
}
