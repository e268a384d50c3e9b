package eval_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"concordat"
	"concordat/internal/cputime"
	"concordat/lab/eval"
	"concordat/report"
	"concordat/site"
	"concordat/store"
)

// words generates sentences of invented words.
type words struct{ rnd *rand.Rand }

func (w words) sentence() string {
	const syllables = "baceDifoguKalemiNopuraseTivozuxe"
	var out []string
	for range 14 + w.rnd.IntN(6) {
		var b strings.Builder
		for range 2 + w.rnd.IntN(3) {
			k := 2 * w.rnd.IntN(len(syllables)/2)
			b.WriteString(strings.ToLower(syllables[k : k+2]))
		}
		out = append(out, b.String())
	}
	return strings.ToUpper(out[0][:1]) + strings.Join(out, " ")[1:] + "."
}

func (w words) text(sentences int) string {
	var out []string
	for range sentences {
		out = append(out, w.sentence())
	}
	return strings.Join(out, "\n\n")
}

// TestFederate: over the real protocol, the sites together find what a single site with everything finds, and each alone finds less.
func TestFederate(t *testing.T) {
	w := words{rand.New(rand.NewPCG(7, 7))}
	o := eval.FederateOptions{Dir: t.TempDir(), Truth: map[[2]string]bool{}, Outline: concordat.OutlineWords}
	for i := range 12 {
		text := w.text(10)
		d := eval.Doc{ID: fmt.Sprint("d", i), Text: text}
		o.Documents = append(o.Documents, d)
		half := strings.Split(text, "\n\n")
		s := eval.Doc{ID: fmt.Sprint("s", i), Text: w.text(4) + "\n\n" + strings.Join(half[:6], "\n\n")}
		o.Submissions = append(o.Submissions, s)
		o.Truth[[2]string{s.ID, d.ID}] = true
	}
	rows, err := eval.Federate(t.Context(), o, t.Logf)
	if err != nil {
		t.Fatal(err)
	}
	by := map[string]eval.FederateRow{}
	for _, r := range rows {
		by[r.Measure+" "+r.Way] = r
	}
	for _, measure := range []string{"sentences", "evidence"} {
		alone, together, central := by[measure+" alone"], by[measure+" federated"], by[measure+" central"]
		if central.True != 12 || together.True != 12 || together.Found != central.Found || alone.True == 0 || alone.True == 12 ||
			together.Bytes == 0 || alone.Bytes != 0 {
			t.Errorf("%s: alone %+v, federated %+v, central %+v", measure, alone, together, central)
		}
	}
}

// BenchmarkFederatedCheck measures a check of 200 sentences at a site of 20,000 sentences: alone, with three partners
// of 100,000 sentences each over loopback and one round trip, and with outlines and edges. The metric cpu-ns/op covers
// the process, and thus all sites together.
func BenchmarkFederatedCheck(b *testing.B) {
	ctx := b.Context()
	w := words{rand.New(rand.NewPCG(1, 2))}
	f, err := eval.NewFedSites(ctx, b.TempDir(), 4, make([]byte, 32))
	if err != nil {
		b.Fatal(err)
	}
	defer func() {
		if err := f.Close(); err != nil {
			b.Error(err)
		}
	}()
	var copied []string // copied from the partners
	for i, s := range f.Sites {
		n := 500
		if i == 0 {
			n = 100
		}
		var docs []eval.Doc
		for k := range n {
			d := eval.Doc{ID: fmt.Sprintf("%d-%d", i, k), Text: w.text(200)}
			if i > 0 && k == 0 {
				copied = append(copied, strings.Join(strings.Split(d.Text, "\n\n")[:10], "\n\n"))
			}
			docs = append(docs, d)
		}
		if err := s.Add(ctx, slices.Values(docs)); err != nil {
			b.Fatal(err)
		}
	}
	own := w.text(170)
	sub := site.Submission{ID: "s", Text: own + "\n\n" + strings.Join(copied, "\n\n")}
	for _, way := range []struct{ name, forward, outline string }{{"alone", site.ForwardNone, ""}, {"three", site.ForwardAll, ""},
		{"outlines", site.ForwardAll, concordat.OutlineWords}} {
		rule := store.ShareRule{Level: concordat.ShowMetadata, Outline: way.outline,
			Limits: store.Limits{Sentences: -1, Burst: -1, Disclosures: -1, Documents: -1, Characters: -1, Opened: -1}}
		if err := f.Share(ctx, rule); err != nil {
			b.Fatal(err)
		}
		o := site.CheckOptions{Forward: way.forward, Partners: f.Partners(0)}
		var last *report.Findings
		b.Run("way="+way.name, func(b *testing.B) {
			start, sent := cputime.Used(), f.Bytes()
			for b.Loop() {
				if last, err = f.Sites[0].Check(ctx, sub, o); err != nil {
					b.Fatal(err)
				}
			}
			cputime.Report(b, start, b.N, "op")
			b.ReportMetric(float64(f.Bytes()-sent)/float64(b.N), "bytes/op")
		})
		if last == nil {
			continue // -bench selects another one
		}
		for _, c := range last.Consulted {
			if c.Err != "" || c.Answered < c.Asked {
				b.Fatalf("%+v", c)
			}
		}
		if way.forward == site.ForwardAll && len(last.Partners) != 3 {
			b.Fatalf("%d sources at partners, want 3", len(last.Partners))
		}
	}
}
