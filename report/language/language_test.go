package language

import (
	"bytes"
	"encoding/json"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// pairs returns the keys and texts of a file in order, including duplicates.
func pairs(t *testing.T, c Code) (keys, texts []string) {
	t.Helper()
	b, err := files.ReadFile(string(c) + ".json")
	if err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(bytes.NewReader(b))
	var all []string
	for {
		token, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatalf("%s: %v", c, err)
		}
		if s, ok := token.(string); ok {
			all = append(all, s)
		}
	}
	for i := 0; i+1 < len(all); i += 2 {
		keys, texts = append(keys, all[i]), append(texts, all[i+1])
	}
	return keys, texts
}

var (
	verbs = regexp.MustCompile(`%(?:\[[0-9]+\])?[-+0-9.]*[a-zA-Z%]|\{[a-z0-9]+\}`)
	index = regexp.MustCompile(`\[[0-9]+\]`)
)

// arguments returns the formatting verbs of a text, sorted, so that the order of the arguments does not matter.
func arguments(text string) []string {
	return slices.Sorted(slices.Values(verbs.FindAllString(index.ReplaceAllString(text, ""), -1)))
}

// TestComplete: every file has every key exactly once, and its text uses the same arguments as the English one.
func TestComplete(t *testing.T) {
	every := map[string]bool{} // plural keys that some files have and not every language needs
	for _, c := range All() {
		for k := range c.Table() {
			every[k] = every[k] || c.Say(keySingular) == "no" || strings.Contains(k, ".")
		}
	}
	for _, c := range All() {
		keys, texts := pairs(t, c)
		seen := map[string]bool{}
		for i, k := range keys {
			if seen[k] {
				t.Errorf("%s.json has %q twice", c, k)
			}
			seen[k] = true
			english := English.Say(k)
			if strings.HasPrefix(k, "flag.") {
				english = ""
			}
			if texts[i] == "" && k != keyJoin {
				t.Errorf("%s.json: %q is empty", c, k)
			}
			if got, want := arguments(texts[i]), arguments(english); !slices.Equal(got, want) {
				t.Errorf("%s.json: %q takes %v, its English %v", c, k, got, want)
			}
		}
		for k, must := range every {
			_, inEnglish := English.Lookup(k)
			if must && !seen[k] && (c != English || inEnglish) {
				t.Errorf("%s.json lacks %q", c, k)
			}
		}
		if s := c.Say(keySingular); s != "yes" && s != "no" {
			t.Errorf("%s.json: %s is %q, want yes or no", c, keySingular, s)
		}
		if at, err := time.Parse(c.TimeLayout(), time.Date(2026, 2, 3, 16, 5, 0, 0, time.UTC).Format(c.TimeLayout())); err != nil ||
			at.Minute() != 5 {
			t.Errorf("%s.json: %s does not give back a time: %v %v", c, keyTime, at, err)
		}
	}
}

// TestParse: the first part of a tag determines the language.
func TestParse(t *testing.T) {
	for tag, want := range map[string]Code{"": English, "en-GB": English, "ZH": "zh-Hans", "zh_CN": "zh-Hans", "zh-Hant": "zh-Hans"} {
		if got, ok := Parse(tag); !ok || got != want {
			t.Errorf("%q: %q, want %q", tag, got, want)
		}
	}
	for _, tag := range []string{"tlh", "z", "-", "*"} {
		if got, ok := Parse(tag); ok {
			t.Errorf("%q is taken for %q", tag, got)
		}
	}
	if all := All(); all[0] != English || !slices.Contains(Short(), "zh") {
		t.Errorf("languages %v, short %v", all, Short())
	}
}

// TestSay: a text missing in a language is given in English, and a text without any translation is given unchanged.
func TestSay(t *testing.T) {
	for _, c := range []struct {
		in   Code
		key  string
		args []any
		want string
	}{
		{"", "login.name", nil, "Account"}, {"zh-Hans", "login.name", nil, "账号"}, {"none", "login.name", nil, "Account"},
		{"zh-Hans", "no such text, %d", []any{3}, "no such text, 3"}, {"zh-Hans", "verdict: %s", []any{"x"}, "结论：x"},
	} {
		if got := c.in.Say(c.key, c.args...); got != c.want {
			t.Errorf("%q in %q: %q, want %q", c.key, c.in, got, c.want)
		}
	}
	nouns := []string{English.Noun(1, "place", "places"), English.Noun(2, "place", "places"), Code("zh-Hans").Noun(1, "place", "places")}
	if want := []string{"place", "places", "处"}; !slices.Equal(nouns, want) {
		t.Errorf("nouns %q, want %q", nouns, want)
	}
}
