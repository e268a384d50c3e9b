package concordat_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"concordat"
)

func TestEscapeName(t *testing.T) {
	for _, c := range []struct{ raw, want string }{
		{"essay.txt", "essay.txt"},
		{"期末论文.docx", "期末论文.docx"},
		{"b\xe4r.txt", `b\xE4r.txt`},
		{"a\tb\nc", `a\x09b\x0Ac`},
		{"a\u0081b", `a\xC2\x81b`},
		{`b\xE4r.txt`, `b\x5CxE4r.txt`},
		{`C:\xerox\a.txt`, `C:\xerox\a.txt`},
		{"\x00", `\x00`},
	} {
		if got := concordat.EscapeName(c.raw); got != c.want {
			t.Errorf("EscapeName(%q) = %q, want %q", c.raw, got, c.want)
		}
		if got := concordat.UnescapeName(c.want); got != c.raw {
			t.Errorf("UnescapeName(%q) = %q, want %q", c.want, got, c.raw)
		}
	}
}

func FuzzEscapeName(f *testing.F) {
	for _, s := range []string{"", "a.txt", "\xff\xfe", `\x5C\x5`, "a\u009f\\xE4", `\x`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		name := concordat.EscapeName(raw)
		if !utf8.ValidString(name) || strings.ContainsAny(name, "\x00\n\t") {
			t.Fatalf("EscapeName(%q) = %q cannot be shown", raw, name)
		}
		if got := concordat.UnescapeName(name); got != raw {
			t.Fatalf("EscapeName(%q) = %q, which stands for %q", raw, name, got)
		}
	})
}

func TestShortName(t *testing.T) {
	for _, n := range []int{concordat.LongestName - 1, concordat.LongestName} {
		if s := strings.Repeat("a", n); concordat.ShortName(s) != s {
			t.Errorf("a name of %d bytes is shortened", n)
		}
	}
	a, b := strings.Repeat("ä", 300)+"1.txt"+strings.Repeat("ö", 300), strings.Repeat("ä", 300)+"2.txt"+strings.Repeat("ö", 300)
	x, y := concordat.ShortName(a), concordat.ShortName(b)
	if x == y {
		t.Errorf("two names became one: %q", x)
	}
	for _, s := range []string{x, y} {
		if len(s) > concordat.LongestName || !utf8.ValidString(s) || !strings.HasPrefix(s, "ä") || !strings.HasSuffix(s, "ö") {
			t.Errorf("ShortName gives %d bytes: %q", len(s), s)
		}
	}
}
