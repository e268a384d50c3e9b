package eval

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"concordat"
	"concordat/meaning"
	"concordat/profile"
	"concordat/report"
	"concordat/site/compare"
)

// severalSources is the kind of documents written by a language model from several sources.
const severalSources = "20"

// sourcesFound measures how well a document's sources were found.
type sourcesFound struct {
	sources          int     // number of the document's sources
	named            int     // number of these with evidence or a lead
	in10, in100, dcg float64 // recall among the first 10 and 100, and nDCG among the first 10
}

// manySources ranks a library's documents by how likely each is a source of a document that a language model wrote from several. The
// library contains the second archive's sources and other texts.
func (r *run) manySources() error {
	texts, cases, _, err := r.corpora.markedPassagesOf(llmArchiveMany)
	if err != nil {
		return err
	}
	sources := map[string]map[string]bool{} // by document
	for _, c := range cases {
		if c.kind == severalSources {
			if sources[c.susp] == nil {
				sources[c.susp] = map[string]bool{}
			}
			sources[c.susp][c.source] = true
		}
	}
	library, asking := reworded(texts)
	asking = slices.DeleteFunc(asking, func(d Doc) bool { return sources[d.ID] == nil })
	asking = asking[:r.pick(len(asking), min(4, len(asking)))]
	others, err := r.otherTexts()
	if err != nil {
		return err
	}
	library = append(library, withoutTexts(others, library)...)
	b, err := r.leadsBench(library)
	if err != nil {
		return err
	}
	var all []sourcesFound
	t := Table{Title: "sources of documents written from several",
		Columns: []string{"document", "sources", "named", "in 10", "in 100", "nDCG@10"}}
	for _, d := range asking {
		ranked, named, err := r.rankedSources(b, d)
		if err != nil {
			return err
		}
		f := judgeSources(ranked, sources[d.ID])
		for source := range sources[d.ID] {
			f.named += one(named[source])
		}
		all = append(all, f)
		t.Rows = append(t.Rows, []any{d.ID, f.sources, f.named, f.in10, f.in100, f.dcg})
	}
	r.tables = append(r.tables, t)
	const of = "documents written from several sources"
	total, named, whole := 0, 0, 0
	for _, f := range all {
		total, named, whole = total+f.sources, named+f.named, whole+one(f.named == f.sources)
	}
	r.figure(of, "documents in the library", float64(len(library)))
	r.count(of, "sources with evidence or a lead", named, total)
	r.count(of, "documents all of whose sources have one", whole, len(all))
	for _, x := range []struct {
		name string
		of   func(sourcesFound) float64
	}{{"recall of sources among the first 10", func(f sourcesFound) float64 { return f.in10 }},
		{"recall of sources among the first 100", func(f sourcesFound) float64 { return f.in100 }},
		{"nDCG among the first 10", func(f sourcesFound) float64 { return f.dcg }}} {
		values := make([]float64, len(all))
		for i, f := range all {
			values[i] = x.of(f)
		}
		mean, low, high := resampled(values)
		r.figure(of, x.name, mean)
		r.figure(of, x.name+", 95 % interval from", low)
		r.figure(of, x.name+", to", high)
	}
	return nil
}

// rankedSources ranks the library's documents by how likely they are to be sources of d. First come the ones with evidence or a lead, by
// how much of d these cover; then come the ones nominated by the index of meaning, the best of either script first. named holds the
// former.
func (r *run) rankedSources(b *Bench, d Doc) (ranked []string, named map[string]bool, err error) {
	rep, err := r.leadsOf(b, d, observing{texts: "sources"})
	if err != nil {
		return nil, nil, err
	}
	covers := map[string]int{}
	for _, e := range rep.Evidence {
		for _, s := range e.Sources {
			covers[string(s.Ref.Document)] += e.Span.Len()
		}
	}
	for _, l := range rep.Leads {
		covers[string(l.Source.Document)] += l.Span.Len()
	}
	named = map[string]bool{}
	for id := range covers {
		ranked, named[id] = append(ranked, id), true
	}
	slices.SortFunc(ranked, func(x, y string) int { return cmp.Or(cmp.Compare(covers[y], covers[x]), strings.Compare(x, y)) })
	near, err := r.nominated(b, d)
	if err != nil {
		return nil, nil, err
	}
	for _, id := range near {
		if !slices.Contains(ranked, id) {
			ranked = append(ranked, id)
		}
	}
	return ranked, named, nil
}

// nominated returns the documents nearest to d by meaning: the best in either script, the second best, and so on.
func (r *run) nominated(b *Bench, d Doc) ([]string, error) {
	cells, err := meaning.DefaultCells()
	if err != nil {
		return nil, err
	}
	table, err := meaning.Default()
	if err != nil {
		return nil, err
	}
	text := table.Read(d.Text, profile.LanguageOf(d.Text)).Without(report.References(d.Text))
	m := &compare.Comparer{Index: b.Index, Profiler: b.Profiler, Workers: 1}
	q := &concordat.Query{Libraries: []concordat.LibraryID{"library"}}
	near, _, err := m.ByMeaning(r.ctx, text, cells, q, compare.ForEncoder)
	if err != nil {
		return nil, err
	}
	var of [2][]string // in an alphabet, and in Chinese characters
	for _, c := range near {
		x, err := b.Index.Document(r.ctx, c.Ref)
		if err != nil {
			return nil, err
		}
		of[one(meaning.Wide(x.Text))] = append(of[one(meaning.Wide(x.Text))], string(c.Ref.Document))
	}
	var out []string
	for rank := range max(len(of[0]), len(of[1])) {
		for _, ids := range of {
			if rank < len(ids) {
				out = append(out, ids[rank])
			}
		}
	}
	return out, nil
}

// judgeSources compares a ranking with a document's sources. Every source has the same gain (Järvelin and Kekäläinen 2002, equation 3
// with logarithms to base 2).
func judgeSources(ranked []string, sources map[string]bool) sourcesFound {
	out := sourcesFound{sources: len(sources)}
	ideal := 0.0
	for rank := range min(len(sources), 10) {
		ideal += 1 / math.Log2(float64(rank+2))
	}
	share := 1 / float64(max(len(sources), 1))
	for rank, id := range ranked[:min(len(ranked), 100)] {
		if !sources[id] {
			continue
		}
		out.in100 += share
		if rank < 10 {
			out.in10 += share
			out.dcg += 1 / math.Log2(float64(rank+2)) / ideal
		}
	}
	return out
}

// resampled returns the mean of values and its 95 % interval, from the means of 2,000 samples with replacement (Efron 1979).
func resampled(values []float64) (mean, low, high float64) {
	if len(values) == 0 {
		return 0, 0, 0
	}
	const rounds = 2000
	rng := rand.New(rand.NewPCG(39, 1))
	means := make([]float64, rounds)
	for i := range means {
		for range values {
			means[i] += values[rng.IntN(len(values))] / float64(len(values))
		}
	}
	for _, v := range values {
		mean += v / float64(len(values))
	}
	slices.Sort(means)
	return mean, means[rounds/40], means[rounds-rounds/40]
}

// withoutTexts returns the documents whose text does not also occur in others.
func withoutTexts(docs, others []Doc) []Doc {
	known := map[string]bool{}
	for _, d := range others {
		known[strings.Join(strings.Fields(d.Text), " ")] = true
	}
	return slices.DeleteFunc(slices.Clone(docs), func(d Doc) bool { return known[strings.Join(strings.Fields(d.Text), " ")] })
}
