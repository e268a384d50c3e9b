package extract

import (
	"strings"
	"testing"
)

// TestEQFields reads the text that EQ fields display from their code, without readings.
func TestEQFields(t *testing.T) {
	for code, want := range map[string]string{
		`EQ \* jc2 \* "Font:MS Mincho" \* hps10 \o\ad(\s\up 9(はばあ),港)`: "港|はばあ",
		`eq \o(\s\up 9(gang),港)\o(\s\up 9(kou),口)`:                     "港|gang 口|kou",
		`EQ \o\ac(○,印)`:                         "印|",
		`EQ \f(one,two) and \r(3)`:              "one two and 3|",
		`EQ \f(a;b)`:                            "a b|",
		`EQ a\,b\(c\)`:                          "a,b(c)|",
		`PAGE`:                                  "",
		`EQUATION x`:                            "",
		`EQ \o(\s\up 9(`:                        "",
		`EQ ` + strings.Repeat(`\o(`, 10) + "x": "x|",
	} {
		var got []string
		for _, p := range eqPieces(code) {
			got = append(got, strings.TrimSpace(p.text)+"|"+p.reading)
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%.40s: got %q, want %q", code, s, want)
		}
	}
}

func FuzzEQField(f *testing.F) {
	for _, s := range []string{`EQ \o\ad(\s\up 9(gang),港)`, `EQ \o\ac(○,印)`, `EQ \f(a;b) \r(3,x)`, `eq \* jc2 \* "F" x`, `EQ \`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		n := 0
		for _, p := range eqPieces(s) {
			n += len(p.text) + len(p.reading)
		}
		if n > 2*len(s) {
			t.Errorf("%d bytes of %q", n, s)
		}
	})
}
