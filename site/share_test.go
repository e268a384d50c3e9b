package site_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"concordat"
	"concordat/internal/corpora"
	"concordat/internal/indextest"
	"concordat/internal/sitetest"
	"concordat/internal/suite"
	"concordat/report"
	"concordat/site"
	"concordat/site/batch"
)

// twoTexts is a pair of texts that share some wording.
type twoTexts struct{ name, a, b, template string }

// madePair returns two texts. The first takes blocks and sentences from the second, unchanged or with words changed, with or without a
// form that both fill in, and with or without a list of references.
func madePair(seed uint64) twoTexts {
	r := rand.New(rand.NewPCG(seed, 11))
	paragraphs := func(seed uint64, n int) []string {
		return strings.Split(strings.TrimSpace(sitetest.Prose(seed, 4*n)), "\n\n")
	}
	theirs := paragraphs(1000+seed, 3+r.IntN(8))
	own := paragraphs(5000+seed, 1+r.IntN(8))
	for _, p := range theirs {
		switch r.IntN(5) {
		case 0, 1:
			own = append(own, p)
		case 2:
			own = append(own, altered(p))
		case 3:
			own = append(own, strings.SplitAfter(p, ". ")[0]+sitetest.Prose(9000+seed, 2))
		}
	}
	r.Shuffle(len(own), func(i, j int) { own[i], own[j] = own[j], own[i] })
	out := twoTexts{name: fmt.Sprintf("made %d", seed)}
	if r.IntN(2) == 0 {
		questions := paragraphs(77, 3)
		ask := func(ps []string) []string {
			var form []string
			for i, p := range ps {
				if i < len(questions) {
					form = append(form, questions[i])
				}
				form = append(form, p)
			}
			return form
		}
		own, theirs = ask(own), ask(theirs)
		if r.IntN(2) == 0 {
			out.template = strings.Join(questions, "\n\n")
		}
	}
	out.a, out.b = strings.Join(own, "\n\n"), strings.Join(theirs, "\n\n")
	if r.IntN(3) == 0 {
		var list strings.Builder
		list.WriteString("\n\nReferences\n\n")
		for i := range 12 {
			fmt.Fprintf(&list, "[%d] Harcourt, J. and Moll, P. (%d). Mules of the abbey, volume %d. Journal of Fields, %d(2), %d-%d.\n", i+1, 1960+i, i, i, i*7, i*7+9)
		}
		out.a, out.b = out.a+list.String(), out.b+list.String()
	}
	return out
}

// altered returns a text with every ninth word replaced. An estimate does not include text that is reworded from end to end, because it
// may have no fingerprint in common.
func altered(text string) string {
	words := strings.Fields(text)
	for i := 8; i < len(words); i += 9 {
		words[i] = fmt.Sprintf("another%d", i)
	}
	return strings.Join(words, " ")
}

// realPairs returns pairs of a chapter and a later historian's chapter taken from it, and pairs from PAN 2013.
func realPairs(t *testing.T, n int) (out []twoTexts) {
	if os.Getenv("CONCORDAT_CORPORA") == "" {
		t.Log("CONCORDAT_CORPORA names no folder: only made texts are compared")
		return nil
	}
	r := rand.New(rand.NewPCG(3, 4))
	take := func(lines []string, pair func(fields []string) twoTexts) {
		r.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
		for _, l := range lines[:min(n, len(lines))] {
			if p := pair(strings.Fields(l)); p.a != "" && p.b != "" {
				out = append(out, p)
			}
		}
	}
	texts := map[string]string{}
	for _, path := range []string{"zh-histories/zh-histories.tar.zst", "pan13-train/pan13-train.tar.zst"} {
		for _, d := range corpora.Tar(t, path, "") {
			texts[d.Name] = d.Text
		}
	}
	take(strings.Split(strings.TrimSpace(texts["shared-shingles.tsv"]), "\n")[1:], func(f []string) twoTexts {
		return twoTexts{name: f[0], a: texts[f[0]], b: texts[f[1]]}
	})
	for _, kind := range []string{"02-no-obfuscation", "03-random-obfuscation", "04-translation-obfuscation"} {
		take(strings.Split(strings.TrimSpace(texts[kind+"/pairs"]), "\n"), func(f []string) twoTexts {
			return twoTexts{name: kind + " " + f[0], a: texts["susp/"+f[0]], b: texts["src/"+f[1]]}
		})
	}
	return out
}

// TestOneShare: a pair has one share. A check, a batch and a screening agree on it, and it lies within the bounds of the estimate from a
// partner's answer or a mirror. If these name no source, there is no estimate. The test allows this for one in five pairs that have a
// share under 0.2 and are reworded from end to end, and for no pair with a larger share.
func TestOneShare(t *testing.T) {
	var pairs []twoTexts
	made, real := suite.Rounds(12, 40), suite.Rounds(2, 12)
	if testing.Short() {
		made, real = 4, 0
	}
	for seed := range uint64(made) {
		pairs = append(pairs, madePair(seed))
	}
	if real > 0 {
		pairs = append(pairs, realPairs(t, real)...)
	}
	shared, wide, small, unnamed := 0, 0.0, 0, 0
	for _, x := range pairs {
		want := x.central(t)
		if want > 0.05 {
			shared++
		}
		if got := x.inBatch(t); math.Abs(got-want) > 0.02 {
			t.Errorf("%s: a check says %.3f, a batch %.3f", x.name, want, got)
		}
		estimates := map[string]*report.RankedSource{"mirror": x.mirrored(t)}
		for _, form := range []string{concordat.OutlineWords, concordat.OutlineFingerprints, ""} {
			estimates["partner, outline "+form] = x.atPartner(t, form)
		}
		for way, s := range estimates {
			if want > 0.1 && want < 0.2 {
				small++
			}
			switch {
			case s == nil && want >= 0.2:
				t.Errorf("%s: a check says %.3f, by %s there is no source", x.name, want, way)
			case s == nil:
				if want > 0.1 {
					unnamed++
				}
			case s.Estimate == nil:
				t.Errorf("%s: by %s the share is no estimate", x.name, way)
			case want < s.Estimate.Low || want > s.Estimate.High || s.Share < s.Estimate.Low || s.Share > s.Estimate.High:
				t.Errorf("%s: a check says %.3f, by %s it is %.3f, within %.3f and %.3f", x.name, want, way, s.Share, s.Estimate.Low,
					s.Estimate.High)
			default:
				wide += s.Estimate.High - s.Estimate.Low
			}
		}
	}
	t.Logf("of %d answers about a share of 0.1 to 0.2, %d name no source", small, unnamed)
	if 5*unnamed > small {
		t.Errorf("%d of %d answers about a share of 0.1 to 0.2 name no source, at most a fifth may", unnamed, small)
	}
	t.Logf("%d pairs, %d share more than a twentieth; bounds are %.3f apart", len(pairs), shared, wide/4/float64(len(pairs)))
	if shared < len(pairs)/2 {
		t.Errorf("%d of %d pairs share anything: the test shows little", shared, len(pairs))
	}
}

// best returns the source that counts, if there is one.
func best(f *report.Findings) *report.RankedSource {
	for _, s := range report.Build(f, report.Rules{}).Sources {
		if s.Excluded == "" {
			return &s
		}
	}
	return nil
}

func (x *twoTexts) options() (o site.CheckOptions) {
	if x.template != "" {
		o.Templates = []report.Template{{Name: "form", Text: x.template}}
	}
	return o
}

// central returns the share from a check at the site that has the other text, and compares a screening with it.
func (x *twoTexts) central(t *testing.T) float64 {
	t.Helper()
	p := sitetest.NewSite(t, "a")
	p.Add(t, "a", site.Incoming{ID: "b", Title: "b", Text: x.b})
	want := 0.0
	if s := best(p.Found(t, x.a, x.options())); s != nil {
		if want = s.Share; s.Estimate != nil {
			t.Errorf("%s: a share that was measured is an estimate", x.name)
		}
	}
	p.Add(t, "a", site.Incoming{ID: "a", Title: "a", Text: x.a})
	o := x.options()
	o.Exclude = []concordat.Ref{{Site: "here", Library: "a", Document: "a"}}
	shares, err := p.Shares(t.Context(), site.Submission{ID: "a", Text: x.a}, o, report.Rules{})
	sitetest.Must(t, err)
	if got := shares[concordat.Ref{Site: "here", Library: "a", Document: "b"}]; math.Abs(got-want) > 0.02 {
		t.Errorf("%s: a check says %.3f, a screening %.3f", x.name, want, got)
	}
	return want
}

func (x *twoTexts) inBatch(t *testing.T) float64 {
	t.Helper()
	b := sitetest.NewBatch(t, sitetest.NewSite(t), map[string]string{"a.txt": x.a, "b.txt": x.b}, []string{"a.txt", "b.txt"},
		batch.Job{Threshold: 0.001})
	b.BatchOptions.Options = func(context.Context, batch.Job) (site.CheckOptions, func(), error) { return x.options(), nil, nil }
	for _, p := range b.Run(t).Pairs {
		return p.ShareA
	}
	return 0
}

func (x *twoTexts) atPartner(t *testing.T, form string) *report.RankedSource {
	t.Helper()
	a, b := sitetest.NewMember(t, "asker", "l"), sitetest.NewMember(t, "owner", "l")
	b.Add(t, "l", site.Incoming{ID: "b", Title: "b", Text: x.b})
	rule := openRule
	rule.Outline = form
	b.ShareAll(t, "asker", rule, "l")
	o := x.options()
	o.Forward, o.Partners = site.ForwardAll, []site.PartnerLibraries{b.SeenBy("asker", "l")}
	s := best(a.Found(t, x.a, o))
	got, err := sitetest.NewMember(t, "asker", "l").PartnerMatches(t.Context(), site.Submission{ID: "sub", Text: x.a}, o, report.Rules{})
	sitetest.Must(t, err)
	switch {
	case s == nil && len(got.Documents) == 0:
	case s == nil || len(got.Documents) != 1:
		t.Errorf("%s: a check of a partner finds %v, a screening %d documents", x.name, s, len(got.Documents))
	case math.Abs(got.Documents[0].Share-s.Share) > 0.02 || math.Abs(got.Documents[0].Estimate.High-s.Estimate.High) > 0.02:
		t.Errorf("%s: a check of a partner says %.3f, a screening %.3f", x.name, s.Share, got.Documents[0].Share)
	}
	return s
}

func (x *twoTexts) mirrored(t *testing.T) *report.RankedSource {
	t.Helper()
	north := sitetest.NewPartner(t, "north")
	north.Put(t, "lib", "b", x.b)
	m := sitetest.MirrorOf(north, &indextest.Oracle{Site: "here", Scheme: north.Profiler.Scheme()})
	p := sitetest.NewHere(t, "")
	_, err := p.SyncMirror(t.Context(), north, m, nil)
	sitetest.Must(t, err)
	o := x.options()
	o.Mirrors = []site.MirroredLibrary{m}
	return best(p.Found(t, x.a, o))
}
