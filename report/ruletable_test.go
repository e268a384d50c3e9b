package report

import (
	"encoding/json"
	"strings"
	"testing"

	"concordat"
)

// TestRuleTable: every rule for a whole report has a name, a flag, a label for pages, an explanation, a line in reports and a place in
// their schema, and its value can be set and overridden.
func TestRuleTable(t *testing.T) {
	table := RuleTable()
	if len(table) < 11 {
		t.Fatalf("%d rules", len(table))
	}
	var schema struct {
		Properties struct {
			Rules struct {
				Properties map[string]struct{ Type string }
			}
		}
	}
	if err := json.Unmarshal(Schema, &schema); err != nil {
		t.Fatal(err)
	}
	said := map[string]bool{}
	for _, w := range ruleWords {
		said[w.rule] = true
	}
	flags := map[string]bool{}
	for _, r := range table {
		if r.Name == "" || r.Doc == "" || !strings.HasSuffix(r.Doc, ".") || flags[r.Flag] || !said[r.Name] {
			t.Errorf("%+v lacks a name, a sentence, a flag of its own or a line in reports", r)
		}
		flags[r.Flag] = true
		for _, key := range []string{r.Label, r.NeverLabel} {
			if strings.HasPrefix(key, "rules.") && English.Say(key) == key {
				t.Errorf("%s has no words", key)
			}
		}
		var rules Rules
		want := "array"
		switch p := r.Of(&rules).(type) {
		case *bool:
			*p, want = true, "boolean"
		case *int:
			*p, want = int(r.Most), "integer"
		case *float64:
			*p, want = r.Most, "number"
		case *[]string:
			*p = []string{"x"}
			if r.Words != nil {
				*p = r.Words[:1]
			}
		case *[]concordat.Kind:
			*p = []concordat.Kind{concordat.Kind(r.Words[0])}
		default:
			t.Fatalf("%s is a %T", r.Name, p)
		}
		if got := schema.Properties.Rules.Properties[r.Name].Type; got != want {
			t.Errorf("schema.json: %s has the type %q, want %q", r.Name, got, want)
		}
		got := Rules{}.Over(rules)
		if before, _ := json.Marshal(rules); string(before) != string(must(json.Marshal(got))) || got.Validate() != nil {
			t.Errorf("%s over nothing: %+v, want %+v", r.Name, got, rules)
		}
	}
}

func must(b []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return b
}

// TestRuleFaults: values outside the limits and words missing from the table are refused.
func TestRuleFaults(t *testing.T) {
	for _, rules := range []Rules{{MinCharacters: -1}, {MinCharacters: 1_000_001}, {MinSourceShare: 1.01}, {CommonAbove: -2},
		{ExcludeKinds: []concordat.Kind{"stolen"}}} {
		if err := rules.Validate(); err == nil {
			t.Errorf("%+v is taken", rules)
		}
	}
	for _, rules := range []Rules{{MinCharacters: 1_000_000}, {MinSourceShare: 1}, {CommonAbove: -1}} {
		if err := rules.Validate(); err != nil {
			t.Errorf("%+v: %v", rules, err)
		}
	}
}
