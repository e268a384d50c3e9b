package report_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"concordat"
	"concordat/report"
)

// TestFindingsOfEveryVersionOpen: findings stored by an earlier version can be read and yield the same report as before.
func TestFindingsOfEveryVersionOpen(t *testing.T) {
	file := filepath.Join("testdata", "compat", "findings-1.json")
	f := load(t, "english")
	f.Signatures = []report.Signature{{Site: "oslo", Over: "answer", Key: "ab12", Value: []byte("signed")}}
	if _, err := os.Stat(file); *rewrite && errors.Is(err, os.ErrNotExist) { // the file is written once and never changed
		b, err := json.MarshalIndent(f, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	old, err := decodeFindings(b)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(report.Build(f, strict(f)), report.Build(old, strict(old))); d != "" {
		t.Errorf("the report of kept findings differs:\n%s", d)
	}
}

func TestFindingsRefused(t *testing.T) {
	for name, s := range map[string]string{
		"no JSON":         `{`,
		"another version": `{"version":2}`,
		"a span outside":  `{"version":1,"submission":{"text":"abc"},"passages":[{"span":{"start":0,"end":4}}]}`,
		"half a rune":     `{"version":1,"submission":{"text":"é"},"passages":[{"span":{"start":0,"end":1}}]}`,
	} {
		if _, err := decodeFindings([]byte(s)); !errors.Is(err, concordat.ErrInvalid) {
			t.Errorf("%s: error %v, want ErrInvalid", name, err)
		}
	}
}

func TestRulesValidate(t *testing.T) {
	good := report.Rules{MinCharacters: 20, MinSourceShare: 0.01, ExcludeKinds: []concordat.Kind{concordat.KindSummary},
		ExcludeSources: []concordat.Ref{{Site: "a"}, {Site: "a", Library: "l"}}, CommonAbove: -1}
	if err := good.Validate(); err != nil {
		t.Error(err)
	}
	bad := report.Rules{MinCharacters: -1, MinSourceShare: 2, CountWording: []report.CountedWording{{Span: concordat.Span{Start: 3,
		End: 3}}}, ExcludeKinds: []concordat.Kind{"stolen"},
		ExcludeSources: []concordat.Ref{{Library: "l"}}, ExcludePassages: []report.ExcludedPassage{{Span: concordat.Span{Start: 3, End: 3}}}}
	err := bad.Validate()
	var joined interface{ Unwrap() []error }
	if !errors.As(err, &joined) || len(joined.Unwrap()) != 6 {
		t.Errorf("faults %v, want all six", err)
	}
}

// decodeFindings reads JSON that json.Marshal made from Findings, in this version or an older one, and refuses anything else with
// ErrInvalid, naming both versions.
func decodeFindings(b []byte) (*report.Findings, error) {
	var f report.Findings
	if err := json.Unmarshal(b, &f); err != nil {
		return nil, fmt.Errorf("read findings: %w: %w", concordat.ErrInvalid, err)
	}
	if err := f.Validate(); err != nil {
		return nil, fmt.Errorf("read findings: %w", err)
	}
	return &f, nil
}
