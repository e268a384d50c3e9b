package report_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"concordat"
	"concordat/report"
)

// TestPrepared: findings prepared once yield the same reports as Build, whatever rules were applied before.
func TestPrepared(t *testing.T) {
	for _, name := range []string{"english", "chinese", "arabic"} {
		f := load(t, name)
		ref := f.Passages[0].Source
		all := []report.Rules{{}, strict(f), {ExcludeSources: []concordat.Ref{ref}}, {OwnWork: []concordat.Ref{ref}, MinCharacters: 20},
			{ExcludeTemplate: []string{f.Passages[0].Span.In(f.Submission.Text)}}, {ExcludeKinds: []concordat.Kind{concordat.KindNear}}, {}}
		p := report.Prepare(f)
		for i, r := range all {
			got, err := json.Marshal(p.Build(r))
			if err != nil {
				t.Fatal(err)
			}
			want, err := json.Marshal(report.Build(load(t, name), r))
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(string(want), string(got)); d != "" {
				t.Errorf("%s, rules %d:\n%s", name, i, d)
			}
		}
	}
}
