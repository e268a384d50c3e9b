package pdf

import (
	"strings"
	"testing"
)

// seen typesets a text as one line and returns its letters from left to right.
func seen(t *testing.T, s string) string {
	t.Helper()
	fs, err := faces()
	if err != nil {
		t.Fatal(err)
	}
	d := &doc{faces: fs}
	ps := d.pieces([]run{{s, textStyle{size: 10, wording: true}}})
	line := lines(ps, 10_000)[0]
	var b strings.Builder
	for _, i := range order(line) {
		text := line[i].text
		if line[i].level%2 == 1 {
			text = mirrored(text)
		}
		b.WriteString(text)
	}
	return b.String()
}

// TestOrder checks the visual order from left to right against the rules of UAX #9.
func TestOrder(t *testing.T) {
	for s, want := range map[string]string{
		"plain text":             "plain text",
		"שלום":                   "םולש",
		"שלום עולם":              "םלוע םולש",
		"a שלום עולם b":          "a םלוע םולש b",
		"שלום abc def עולם":      "םלוע abc def םולש",
		"שלום 123 עולם":          "םלוע 123 םולש",
		"abc שלום 123, 45":       "abc 45 ,123 םולש",
		"(שלום) abc":             "abc (םולש)",
		"שלום 3.14, 2026-7 עולם": "םלוע 2026-7 ,3.14 םולש",
		"שלום.":                  ".םולש",
		"«שלום»":                 "«םולש»",
		"The word שלום!":         "The word םולש!",
		"שלום \u202e hidden":     "[U+202E] hidden םולש",
		"12 שלום":                "םולש 12",
		"שָׁלוֹם":                "םוֹלשָׁ",
	} {
		if got := seen(t, s); got != want {
			t.Errorf("%q is seen as %q, want %q", s, got, want)
		}
	}
}

// TestArabicForms: letters take the shapes of their positions; lam and alef form a ligature.
func TestArabicForms(t *testing.T) {
	for s, want := range map[string]string{
		"ب":        "\ufe8f",
		"بب":       "\ufe90\ufe91",
		"ببب":      "\ufe90\ufe92\ufe91",
		"باب":      "\ufe8f\ufe8e\ufe91", // alef joins only to the preceding letter
		"لا":       "\ufefb",
		"بلا":      "\ufefc\ufe91",
		"ء ب":      "\ufe8f \ufe80",
		"گچ":       "\ufb7b\ufb94",
		"بـ":       "\u0640\ufe91",
		"ب\u200dب": "\ufe8f[U+200D]\ufe8f", // a control character joins nothing and is shown
	} {
		if got := seen(t, s); got != want {
			t.Errorf("%q is seen as %+q, want %+q", s, got, want)
		}
	}
}

// TestSignWithinNumber: a separator belongs to the number around it with any digits, but a sign only between European digits (Unicode
// Standard Annex 9, rule W4).
func TestSignWithinNumber(t *testing.T) {
	for _, c := range []struct {
		mark, digit string
		want        bool
	}{
		{".", "3", true}, {",", "٣", true}, {"/", "٣", true}, {"-", "3", true}, {"+", "3", true}, {"-", "٣", false}, {"+", "٣", false},
		{";", "3", false},
	} {
		if got := within(c.mark, c.digit); got != c.want {
			t.Errorf("%q before %q is within the number: %v, want %v", c.mark, c.digit, got, c.want)
		}
	}
}
