package report

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// TestGates: every text that an expression matches also passes its gate.
func TestGates(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	pieces := []string{" ", "\t", "x", "for", "end", "import", "return", "(", ")", "):", ";", "{", "}", "=", ":=", "<-", "//",
		"/*", "*", "--", "%", `"""`, "#!", "@a", "$)", "],", ".", "word", "From", "§", "§§ ", "5", "12", "Art.", "article ",
		"Section ", "s. ", "s", "no. ", "No ", "Clause", "стать", "статья ", "(ст. ", "пункта ", "第", "五", "条", "ſ. ", "2004",
		"rt", "-", "\u00a0"}
	matched := 0
	for range 200_000 {
		var b strings.Builder
		for range 1 + r.IntN(5) {
			b.WriteString(pieces[r.IntN(len(pieces))])
		}
		s := b.String()
		if l := strings.TrimSpace(s); l != "" && codeLine.MatchString(s) {
			matched++
			if !likeCode(l) {
				t.Fatalf("%q is code", s)
			}
		}
		if lawNumber.MatchString(s) {
			matched++
			if !mayNumberLaw(s) {
				t.Fatalf("%q numbers a provision", s)
			}
		}
	}
	if matched < 20_000 {
		t.Errorf("%d matches say little", matched)
	}
}
