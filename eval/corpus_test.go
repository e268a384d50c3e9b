package eval_test

import (
	"context"
	"encoding/csv"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"

	"concordat"
	"concordat/eval"
	"concordat/internal/corpora"
	"concordat/minhash"
	"concordat/profile"
	"concordat/segment"
)

func bench(t *testing.T, docs []eval.Doc) *eval.Bench {
	t.Helper()
	if testing.Short() {
		t.Skip("evaluation on whole corpora is not short")
	}
	b, err := eval.NewBench(t.Context(), t.TempDir(), profile.Natural)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := b.Add(t.Context(), docs); err != nil {
		t.Fatal(err)
	}
	return b
}

// TestHistories: real reuse between two Chinese histories; sources named by two matched sentences,
// and by the product's evidence.
func TestHistories(t *testing.T) {
	var library, later []eval.Doc
	for _, d := range corpora.Tar(t, "zh-histories/zh-histories.tar.zst", ".txt") {
		if strings.HasPrefix(d.Name, "史记/") {
			library = append(library, eval.Doc{ID: d.Name, Text: d.Text})
		} else {
			later = append(later, eval.Doc{ID: d.Name, Text: d.Text})
		}
	}
	strong, all := map[string]bool{}, map[string]bool{}
	for _, d := range corpora.Tar(t, "zh-histories/zh-histories.tar.zst", "shared-shingles.tsv") {
		for i, line := range strings.Split(strings.TrimSpace(d.Text), "\n") {
			f := strings.Split(line, "\t")
			if i == 0 {
				continue
			}
			share, _ := strconv.ParseFloat(f[5], 64)
			all[f[0]+" "+f[1]] = true
			if share >= 0.1 {
				strong[f[0]+" "+f[1]] = true
			}
		}
	}
	b := bench(t, library)
	for _, probe := range []concordat.Probe{concordat.ProbeExact, concordat.ProbeOne} {
		found := map[string]bool{}
		for _, d := range later {
			hits, err := b.Fingerprints(t.Context(), d, probe)
			if err != nil {
				t.Fatal(err)
			}
			for _, h := range hits {
				found[d.ID+" "+string(h.Source)] = true
			}
		}
		s, a := count(strong, found), count(all, found)
		t.Logf("fingerprints, probe %v, two sentences: %d of %d strong pairs, %d of %d listed, %d outside", probe, s, len(strong), a, len(all), len(found)-a)
		if probe == concordat.ProbeOne && (s < 61 || a < 83 || len(found)-a > 2) {
			t.Errorf("want 61 of 61, at least 83 of 110, at most 2 outside")
		}
	}
	found := map[string]bool{}
	for _, d := range later {
		r, err := b.Report(t.Context(), d)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range r.Sources {
			if s.Characters >= 60 {
				found[d.ID+" "+string(s.Document)] = true
			}
		}
	}
	t.Logf("evidence of at least 60 characters: %d of %d strong pairs, %d of %d listed, %d outside", count(strong, found), len(strong), count(all, found), len(all), len(found)-count(all, found))
	if count(strong, found) < 61 || count(all, found) < 100 {
		t.Errorf("want 61 of 61 and at least 100 of 110")
	}
}

func count(want, found map[string]bool) int {
	n := 0
	for k := range want {
		if found[k] {
			n++
		}
	}
	return n
}

// TestLaws: dated versions of one law, among 1,729 laws. The partner's share of the checked
// characters, by fingerprints and by the product's report.
func TestLaws(t *testing.T) {
	texts := map[string]string{}
	var docs []eval.Doc
	for _, d := range corpora.Tar(t, "zh-laws/zh-laws.tar.zst", ".md") {
		docs = append(docs, eval.Doc{ID: d.Name, Text: d.Text})
		texts[d.Name] = d.Text
	}
	b := bench(t, docs)
	var pairs [][2]string
	for _, d := range corpora.Tar(t, "zh-laws/zh-laws.tar.zst", "revision-pairs.tsv") {
		for _, line := range strings.Split(strings.TrimSpace(d.Text), "\n") {
			if f := strings.Split(line, "\t"); len(f) == 2 {
				pairs = append(pairs, [2]string{f[0], f[1]})
			}
		}
	}
	covered, first, evidence, checked := 0, 0, 0, 0
	for i, p := range pairs {
		d := eval.Doc{ID: p[1], Text: texts[p[1]]}
		share, rank, err := partnerShare(t.Context(), b, d, concordat.DocumentID(p[0]))
		if err != nil {
			t.Fatal(err)
		}
		if share >= 0.3 {
			covered++
		}
		if rank == 0 {
			first++
		}
		if i%6 != 0 && os.Getenv("CONCORDAT_LONG") == "" {
			continue // laws are like one another: a check compares 200 of them word by word
		}
		checked++
		r, err := b.Report(t.Context(), d)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range r.Sources {
			if string(s.Document) == p[0] && s.Share >= 0.3 {
				evidence++
			}
		}
	}
	t.Logf("fingerprints: partner covers >= 0.3 in %d of %d, first in %d; evidence: >= 0.3 in %d of %d", covered, len(pairs), first, evidence, checked)
	if covered < 49 {
		t.Errorf("want at least 49 of 58")
	}
}

// partnerShare returns the share of the checked characters that lie in sentences matched by the
// partner, and the rank of the partner by matched sentences.
func partnerShare(ctx context.Context, b *eval.Bench, d eval.Doc, partner concordat.DocumentID) (float64, int, error) {
	p, err := b.Profiler.Profile(concordat.Document{Text: d.Text}, nil)
	if err != nil {
		return 0, 0, err
	}
	q := &concordat.Query{Scheme: p.Scheme, MaxDistance: profile.MaxGate, MaxHashes: b.Profiler.MaxHashes(), Probe: concordat.ProbeOne, Exclude: []concordat.Ref{{Site: "bench", Library: "library", Document: concordat.DocumentID(d.ID)}}}
	for _, s := range p.Asked {
		q.Fingerprints = append(q.Fingerprints, s.Fingerprint)
	}
	a, err := b.Index.Match(ctx, q)
	if err != nil {
		return 0, 0, err
	}
	matched := map[concordat.DocumentID]map[int]bool{}
	for _, m := range a.Matches {
		if b.Profiler.Nearness(p.Asked[m.Sentence], m) > 0 {
			if matched[m.Source.Document] == nil {
				matched[m.Source.Document] = map[int]bool{}
			}
			matched[m.Source.Document][m.Sentence] = true
		}
	}
	hit := make([]bool, len(d.Text))
	total := make([]bool, len(d.Text))
	for i, s := range p.Asked {
		for at := s.Span.Start; at < s.Span.End; at++ {
			total[at] = true
			hit[at] = hit[at] || matched[partner][i]
		}
	}
	n, h := 0, 0
	for i := range total {
		if total[i] {
			n++
		}
		if hit[i] {
			h++
		}
	}
	rank := 0
	for _, m := range matched {
		if len(m) > len(matched[partner]) {
			rank++
		}
	}
	return float64(h) / float64(max(n, 1)), rank, nil
}

// TestShortAnswers: Clough and Stevenson's answers to three tasks, copied or not.
func TestShortAnswers(t *testing.T) {
	files := map[string]string{}
	for _, d := range corpora.Tar(t, "clough-stevenson/clough-stevenson-ace.tar.gz", "") {
		files[d.Name[strings.LastIndexByte(d.Name, '/')+1:]] = strings.ToValidUTF8(d.Text, "\ufffd")
	}
	rows, err := csv.NewReader(strings.NewReader(files["file_information.csv"])).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var library []eval.Doc
	for _, r := range rows[1:] {
		if r[2] == "orig" {
			library = append(library, eval.Doc{ID: r[0], Text: files[r[0]]})
		}
	}
	b := bench(t, library)
	type answer struct {
		share  float64
		copied bool
	}
	for _, by := range []string{"fingerprints", "evidence"} {
		var answers []answer
		sums := map[string][]float64{}
		for _, r := range rows[1:] {
			if r[2] == "orig" {
				continue
			}
			d := eval.Doc{ID: r[0], Text: files[r[0]]}
			share := 0.0
			if by == "fingerprints" {
				share, _, err = partnerShare(t.Context(), b, d, concordat.DocumentID("orig_task"+r[1]+".txt"))
			} else {
				rep, e := b.Report(t.Context(), d)
				share, err = rep.Scores.Covered, e
			}
			if err != nil {
				t.Fatal(err)
			}
			if share < 0.1 && r[2] != "non" || share >= 0.1 && r[2] == "non" {
				t.Logf("%s: %s is %s and has %.2f", by, r[0], r[2], share)
			}
			answers = append(answers, answer{share, r[2] != "non"})
			sums[r[2]] = append(sums[r[2]], share)
		}
		sort.Slice(answers, func(i, j int) bool { return answers[i].share < answers[j].share })
		best, at := 0.0, 0.0
		for _, cut := range answers {
			right := 0
			for _, a := range answers {
				if (a.share >= cut.share) == a.copied {
					right++
				}
			}
			if acc := float64(right) / float64(len(answers)); acc > best {
				best, at = acc, cut.share
			}
		}
		right := 0
		auc, pairs := 0.0, 0.0
		for _, a := range answers {
			if (a.share >= 0.1) == a.copied {
				right++
			}
			for _, b := range answers {
				if a.copied && !b.copied {
					pairs++
					if a.share > b.share {
						auc++
					} else if a.share == b.share {
						auc += 0.5
					}
				}
			}
		}
		var means []string
		for _, c := range []string{"non", "heavy", "light", "cut"} {
			m := 0.0
			for _, v := range sums[c] {
				m += v / float64(len(sums[c]))
			}
			means = append(means, fmt.Sprintf("%s %.2f (max %.2f)", c, m, slices.Max(sums[c])))
		}
		t.Logf("%s: accuracy %.3f at 0.10, best %.3f at %.2f, AUC %.3f; %s", by, float64(right)/float64(len(answers)), best, at, auc/pairs, strings.Join(means, ", "))
		if by == "evidence" && best < 0.96 {
			t.Errorf("%s: accuracy %.3f, want at least 0.96", by, best)
		}
	}
}

// TestSubstitution: sentences of which a fifth of the words is replaced by random words of the same
// corpus, looked up among all sentences.
func TestSubstitution(t *testing.T) {
	const seed = 20
	for _, c := range []struct {
		name  string
		docs  []corpora.Doc
		floor int
	}{{"english", corpora.Reviews(t, 1500), 100}, {"chinese", corpora.Histories(t, 300), 40}} {
		t.Run(c.name, func(t *testing.T) { substitution(t, c.docs, seed, c.floor) })
	}
}

// substitution asks for blocks of at least 40 folded characters, which is all that are indexed but
// tails, and of at least 100. The floor stands on the length that is a usual sentence of the
// language: about 150 letters of English, about 50 Chinese characters.
func substitution(t *testing.T, docs []corpora.Doc, seed uint64, floor int) {
	var library []eval.Doc
	for _, d := range docs {
		library = append(library, eval.Doc{ID: d.Name, Text: d.Text})
	}
	b := bench(t, library)
	rng := rand.New(rand.NewPCG(seed, 1))
	var vocabulary []string
	var texts []*segment.Text
	for _, d := range library {
		s, err := segment.Split(d.Text)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, s)
		for _, w := range s.Words {
			vocabulary = append(vocabulary, d.Text[w.Start:w.End])
		}
	}
	for _, least := range []int{100, 40} {
		exact, one := recall(t, rng, b, texts, vocabulary, least)
		t.Logf("seed %d: a fifth of the words replaced, blocks of %d characters or more among %d: recall exact %.3f, one-hash probes %.3f", seed, least, b.Index.Stats().Sentences, exact, one)
		if least == floor && (exact < 0.55 || one < 0.93) {
			t.Errorf("want at least 0.55 and 0.93")
		}
	}
}

// recall returns the share of 2,000 edited blocks whose original is among the candidates.
func recall(t *testing.T, rng *rand.Rand, b *eval.Bench, texts []*segment.Text, vocabulary []string, least int) (exact, one float64) {
	const queries = 2000
	found := map[concordat.Probe]int{}
	for range queries {
		var s *segment.Text
		var block segment.Block
		for block.Chars < least {
			i := rng.IntN(len(texts))
			s = texts[i]
			if indexed, _, _ := s.Blocks(segment.Natural); len(indexed) > 0 {
				block = indexed[rng.IntN(len(indexed))]
			}
		}
		edited := substitute(rng, s, block, vocabulary)
		e, err := segment.Split(edited)
		if err != nil {
			t.Fatal(err)
		}
		features, _ := e.Features(segment.Block{First: 0, Last: len(e.Words)}, nil)
		original, _ := s.Features(block, nil)
		fp, want := sketch(t, features), sketch(t, original)
		for _, probe := range []concordat.Probe{concordat.ProbeExact, concordat.ProbeOne} {
			a, err := b.Index.Match(t.Context(), &concordat.Query{Scheme: b.Profiler.Scheme(), Fingerprints: []concordat.Fingerprint{fp}, MaxDistance: 100, Probe: probe})
			if err != nil {
				t.Fatal(err)
			}
			if slices.ContainsFunc(a.Matches, func(m concordat.Match) bool { return m.Distance == fp.Distance(want) }) {
				found[probe]++
			}
		}
	}
	return float64(found[concordat.ProbeExact]) / queries, float64(found[concordat.ProbeOne]) / queries
}

// substitute returns the block's text with each word replaced by a random one with chance 0.2.
func substitute(rng *rand.Rand, s *segment.Text, b segment.Block, vocabulary []string) string {
	var out strings.Builder
	at := b.Span.Start
	for _, w := range s.Words[b.First:b.Last] {
		out.WriteString(s.Source[at:w.Start])
		if rng.IntN(5) == 0 {
			out.WriteString(vocabulary[rng.IntN(len(vocabulary))])
		} else {
			out.WriteString(s.Source[w.Start:w.End])
		}
		at = int(w.End)
	}
	out.WriteString(s.Source[at:b.Span.End])
	return out.String()
}

func sketch(t *testing.T, features []uint64) concordat.Fingerprint {
	t.Helper()
	m, err := minhash.New(4, nil)
	if err != nil {
		t.Fatal(err)
	}
	return m.Sketch(features)
}
