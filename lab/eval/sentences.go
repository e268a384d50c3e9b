package eval

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"concordat"
	"concordat/align"
	"concordat/minhash"
	"concordat/segment"
)

// pairFiles are the corpora of labelled sentence pairs and the fields of their rows.
var pairFiles = []struct {
	name, path    string
	a, b, label   int
	positive      string
	headed        bool
	sameLanguage  string
	leastAccuracy float64
}{
	{"msrp", "msrp/msr_paraphrase_train.txt.gz", 3, 4, 0, "1", true, "en", 0.70},
	{"arpa-armenian", "arpa-armenian/train.tsv.gz", 0, 1, 2, "1", true, "hy", 0.70},
	{"lcqmc", "zh-sentence-pairs/lcqmc.tsv.gz", 0, 1, 2, "1", false, "zh", 0.6},
	{"bq-corpus", "zh-sentence-pairs/bq-corpus.tsv.gz", 0, 1, 2, "1", false, "zh", 0.6},
	{"oppo", "zh-sentence-pairs/oppo.tsv.gz", 0, 1, 2, "1", false, "zh", 0.6},
	{"paws-x-zh", "zh-sentence-pairs/paws-x-zh.tsv.gz", 0, 1, 2, "1", false, "zh", 0.5},
}

// sentencePairs measures how the resemblance of features, which fingerprints estimate, and passages are distributed over pairs of
// sentences with the same meaning and pairs with different meanings. The labels are about meaning, which no comparison of words can
// determine.
func sentencePairs(r *run) error {
	b, err := r.bench(nil)
	if err != nil {
		return err
	}
	for _, file := range pairFiles {
		var alike []labelled
		passages, n := map[bool]int{}, map[bool]int{}
		row := 0
		err := r.corpora.rows(file.path, func(f []string) bool {
			row++
			if row == 1 && file.headed || len(f) <= max(file.a, file.b, file.label) || r.short && row%8 != 0 {
				return true
			}
			same := f[file.label] == file.positive
			v, e := b.Profiler.Resemblance(f[file.a], f[file.b])
			if err = e; err != nil {
				return false
			}
			alike = append(alike, labelled{v, same})
			n[same]++
			if len(align.Pair(align.Prepare(f[file.a]), align.Prepare(f[file.b]), align.Options{})) > 0 {
				passages[same]++
			}
			return true
		})
		if err != nil {
			return err
		}
		_, best := accuracies(alike, 0)
		for _, same := range []bool{true, false} {
			label := "other meaning"
			if same {
				label = "same meaning"
			}
			r.figure(file.name, label+": pairs", float64(n[same]))
			low, mid, high := quartiles(alike, same)
			r.figure(file.name, label+": resemblance, lower quartile", low)
			r.figure(file.name, label+": resemblance, median", mid)
			r.figure(file.name, label+": resemblance, upper quartile", high)
			r.figure(file.name, label+": share with a passage", float64(passages[same])/float64(max(n[same], 1)))
		}
		r.figure(file.name, "AUC of resemblance", auc(alike))
		r.figure(file.name, "F1 of resemblance, best", bestF1(alike))
		r.figure(file.name, "accuracy of resemblance, best", best).least(file.leastAccuracy, file.leastAccuracy-0.03)
	}
	return nil
}

// quartiles returns the quartiles of the values with a label.
func quartiles(xs []labelled, positive bool) (low, mid, high float64) {
	var vs []float64
	for _, x := range xs {
		if x.positive == positive {
			vs = append(vs, x.value)
		}
	}
	if len(vs) == 0 {
		return 0, 0, 0
	}
	slices.Sort(vs)
	return vs[len(vs)/4], vs[len(vs)/2], vs[len(vs)*3/4]
}

// bestF1 returns the highest F1 of any rule "values of at least a cut are positive".
func bestF1(xs []labelled) float64 {
	sorted := slices.Clone(xs)
	slices.SortFunc(sorted, func(a, b labelled) int {
		switch {
		case a.value > b.value:
			return -1
		case a.value < b.value:
			return 1
		}
		return 0
	})
	positives := 0
	for _, x := range sorted {
		if x.positive {
			positives++
		}
	}
	best, right := 0.0, 0
	for i, x := range sorted {
		if x.positive {
			right++
		}
		if i+1 == len(sorted) || sorted[i+1].value < x.value {
			best = max(best, 2*float64(right)/float64(i+1+positives))
		}
	}
	return best
}

// verses looks for every verse of one edition among the verses of another, by fingerprint.
func verses(r *run) error {
	editions := map[string][]Doc{}
	err := r.corpora.files("verse-retranslations/verse-retranslations.tar.zst", func(name, text string) error {
		for _, line := range strings.Split(text, "\n") {
			f := strings.Split(line, "\t")
			if len(f) == 3 {
				editions[strings.TrimSuffix(name, ".tsv")] = append(editions[strings.TrimSuffix(name, ".tsv")], Doc{f[0] + " " + f[1], f[2]})
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	pairs := [][2]string{{"en/OEB", "en/Twenty"}, {"en/BSB", "en/Noyes"}, {"sv/SweKarlXII", "sv/SweKarlXII1873"},
		{"de/GerAlbrecht", "de/GerTafel"}, {"fr/FreSynodale1921", "fr/FreOltramare1874"},
		{"cs/CzeBKR", "cs/CzeCSP"}, {"sl/SloChraska", "sl/SloStritar"}, {"no/Norsk", "no/NorSMB"}, {"zh/ChiUn", "zh/ChiSB"},
		{"zh/ChiUn", "zh/ChiUnL"}}
	for _, p := range pairs {
		if r.short && p[0] != "en/OEB" && p[0] != "sv/SweKarlXII" {
			continue
		}
		library, asking := editions[p[0]], editions[p[1]]
		if r.short {
			library, asking = library[:min(len(library), 2500)], asking[:min(len(asking), 2500)]
		}
		if err := versesOf(r, p[0]+" "+p[1], library, asking); err != nil {
			return err
		}
	}
	r.find("en/OEB en/Twenty", "recall of verses").least(0.95, 0.93)
	r.find("sv/SweKarlXII sv/SweKarlXII1873", "recall of verses").least(0.96, 0.94)
	return nil
}

func versesOf(r *run, of string, library, asking []Doc) error {
	b, err := r.bench(library)
	if err != nil {
		return err
	}
	held := map[string]bool{}
	for _, d := range library {
		held[d.ID] = true
	}
	asked, right, hits, nearest := 0, 0, 0, 0
	for _, d := range asking {
		if !held[d.ID] {
			continue
		}
		p, err := b.Profiler.Profile(concordat.Document{Text: d.Text}, nil)
		if err != nil {
			return err
		}
		if len(p.Questions()) == 0 {
			continue
		}
		asked++
		q := b.query(p, concordat.ProbeOne, "")
		for _, s := range p.Questions() {
			q.Fingerprints = append(q.Fingerprints, s.Fingerprint)
		}
		a, err := b.Index.Match(r.ctx, q)
		if err != nil {
			return err
		}
		found := map[concordat.DocumentID]bool{}
		best, at := 0.0, concordat.DocumentID("")
		for _, m := range a.Matches {
			if near := b.Profiler.Nearness(p.Questions()[m.Sentence], m); near > 0 {
				found[m.Source.Document] = true
				if near > best || near == best && m.Source.Document == concordat.DocumentID(d.ID) {
					best, at = near, m.Source.Document
				}
			}
		}
		if at == concordat.DocumentID(d.ID) {
			nearest++
		}
		hits += len(found)
		if found[concordat.DocumentID(d.ID)] {
			right++
		}
	}
	r.figure(of, "verses asked", float64(asked))
	r.figure(of, "recall of verses", float64(right)/float64(max(asked, 1)))
	r.figure(of, "the same verse is the nearest match", float64(nearest)/float64(max(asked, 1)))
	r.figure(of, "precision of matches", float64(right)/float64(max(hits, 1)))
	return nil
}

// substitutionRecall looks up sentences with a fifth of the words replaced by random words from the same corpus.
func substitutionRecall(r *run) error {
	english, err := r.corpora.reviews(r.pick(1500, 500))
	if err != nil {
		return err
	}
	chinese, err := r.corpora.modern(r.pick(300, 60))
	if err != nil {
		return err
	}
	// The bounds apply to the usual sentence length in the language: about 150 letters of English, about 50 Chinese characters.
	for _, c := range []struct {
		name  string
		docs  []Doc
		floor int
	}{{"bulk-en-reviews", english, 100}, {"bulk-zh-histories-modern", chinese, 40}} {
		if err := substituted(r, c.name, c.docs, c.floor); err != nil {
			return err
		}
	}
	return nil
}

func substituted(r *run, of string, docs []Doc, floor int) error {
	const seed = 20
	b, err := r.bench(docs)
	if err != nil {
		return err
	}
	rng := rand.New(rand.NewPCG(seed, 1))
	var vocabulary []string
	var texts []*segment.Text
	for _, d := range docs {
		s, err := segment.Split(d.Text)
		if err != nil {
			return err
		}
		texts = append(texts, s)
		for _, w := range s.Words {
			vocabulary = append(vocabulary, d.Text[w.Start:w.End])
		}
	}
	for _, least := range []int{100, 40} {
		exact, one, err := b.substitutions(r, rng, texts, vocabulary, least)
		if err != nil {
			return err
		}
		x := r.figure(fmt.Sprintf("%s, blocks of %d characters or more", of, least), "recall, exact bands", exact)
		y := r.figure(fmt.Sprintf("%s, blocks of %d characters or more", of, least), "recall, one-hash probes", one)
		if least == floor {
			x.least(0.54, 0.50)
			y.least(0.93, 0.91)
		}
	}
	return nil
}

// substitutions returns the proportion of edited blocks whose original is among the candidates.
func (b *Bench) substitutions(r *run, rng *rand.Rand, texts []*segment.Text, vocabulary []string,
	least int) (exact, one float64, err error) {
	queries := r.pick(2000, 500)
	sketcher, err := minhash.New(4, nil)
	if err != nil {
		return 0, 0, err
	}
	found := map[concordat.Probe]int{}
	for range queries {
		var s *segment.Text
		var block segment.Block
		for block.Chars < least {
			s = texts[rng.IntN(len(texts))]
			if indexed, _, _ := s.Blocks(segment.Natural); len(indexed) > 0 {
				block = indexed[rng.IntN(len(indexed))]
			}
		}
		e, err := segment.Split(substitute(rng, s, block, vocabulary))
		if err != nil {
			return 0, 0, err
		}
		original, _ := s.Features(block, nil)
		features, _ := e.Features(segment.Block{Last: len(e.Words)}, nil)
		want, fp := sketcher.Sketch(original), sketcher.Sketch(features)
		for _, probe := range []concordat.Probe{concordat.ProbeExact, concordat.ProbeOne} {
			a, err := b.Index.Match(r.ctx, &concordat.Query{Scheme: b.Profiler.Scheme(), Fingerprints: []concordat.Fingerprint{fp},
				MaxDistance: concordat.Bits, Probe: probe})
			if err != nil {
				return 0, 0, err
			}
			if slices.ContainsFunc(a.Matches, func(m concordat.Match) bool { return m.Distance == fp.Distance(want) }) {
				found[probe]++
			}
		}
	}
	return float64(found[concordat.ProbeExact]) / float64(queries), float64(found[concordat.ProbeOne]) / float64(queries), nil
}

// substitute returns the block's text with each word replaced by a random one with probability 0.2.
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
