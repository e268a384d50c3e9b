package report

import "testing"

// TestNamed: a year in parentheses is a citation behind a name, whatever space stands before the name; nothing before it, or
// a bracket, is none.
func TestNamed(t *testing.T) {
	for before, want := range map[string]bool{
		"": false, " ": false, "(": false, "as (": false, "as（": false, "Smith": true, "as Smith ": true, "as smith": false,
		"(Smith": true, "（Smith": true,
		"and\u00a0Smith": true, "by the\u3000Smith": true, "the\u2003smith": false, "as\nSmith et al.": true,
		"as Smith\u00a0et al": true, "In 1999": false,
		"见王明": true, "The 3": false, "Émile": true, "as\u00a0émile": false, "\xffSmith": false,
	} {
		if got := named(before); got != want {
			t.Errorf("%q: %v, want %v", before, got, want)
		}
	}
}
