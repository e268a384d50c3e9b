package program

import (
	"fmt"
	"strings"

	"concordat/site/batch"
)

// wordingState describes whether wording shared by several documents counts.
func wordingState(l batch.WordingLine) string {
	switch {
	case l.Decide:
		return "to be decided"
	case l.Counted:
		return "counts"
	case l.Why != "":
		return "does not count: " + l.Why
	}
	return "does not count: " + string(l.Kind)
}

// pageNames is the maximum number of documents named in a row of wording on the page.
const pageNames = 12

// firstNames returns the names that a row shows; wording.csv lists all documents.
func firstNames(names []string) string {
	if n := len(names) - pageNames; n > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:pageNames], ", "), n)
	}
	return strings.Join(names, ", ")
}
