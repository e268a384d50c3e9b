package checks

import "testing"

// TestCasePath: the address of a list contains exactly the active filters.
func TestCasePath(t *testing.T) {
	t.Parallel()
	for want, f := range map[string]caseFilter{
		"/checks": {View: "all"}, "/checks?view=failed": {View: "failed"}, "/checks?q=a+b": {View: "all", Query: "a b"},
		"/checks?mine=yes&view=new":       {View: "new", Mine: true},
		"/checks?in=b&least=5&sort=share": {View: "all", In: "b", Least: 5, Order: "share"},
	} {
		if got := f.Path(0); got != want {
			t.Errorf("%+v: %q, want %q", f, got, want)
		}
	}
	if got := (caseFilter{View: "all"}).Path(7); got != "/checks?from=7" {
		t.Errorf("got %q", got)
	}
}
