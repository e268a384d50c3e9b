package pages_test

import (
	"strings"
	"testing"

	"concordat/web/pages"
)

// TestNames shows how file names are changed.
func TestNames(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{`C:\Users\a\thesis.docx`: "thesis.docx", "../../etc/passwd": "passwd", "..": "", "": "",
		"a\x00b\n.txt": "ab.txt", "论文.pdf": "论文.pdf", strings.Repeat("长", 200) + ".pdf": strings.Repeat("长", 116) + ".pdf"} {
		if got := pages.CleanName(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}
