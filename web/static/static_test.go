package static

import (
	"bytes"
	"strings"
	"testing"
)

// TestCompact: scripts and styles are served without indentation and comments, and their lines keep their numbers.
func TestCompact(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, content, want string }{
		{"a.js", "// Why.\n\tlet a = 1; // one\n\t\t// and\n  b(\"//x\");\n", "\nlet a = 1; // one\n\nb(\"//x\");\n"},
		{"a.css", "/* Why,\n   and how */\na {\n\tb: c; /* d */\n}\n", "\n\na {\nb: c; \n}\n"},
		{"d3.js", "// notice\n\tx", "// notice\n\tx"},
		{"a.svg", " <svg/>", " <svg/>"},
	} {
		if got := string(compact(c.name, []byte(c.content))); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
	files, err := New(nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, a := range files {
		b, err := embedded.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, ".js") && bytes.Count(a.content, []byte("\n")) != bytes.Count(b, []byte("\n")) {
			t.Errorf("%s has another number of lines than its source", name)
		}
		if name != "d3.js" && strings.HasSuffix(name, "s") && bytes.Contains(a.content, []byte("\n\t")) {
			t.Errorf("%s is served with indentation", name)
		}
	}
}
