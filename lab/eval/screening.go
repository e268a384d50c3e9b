package eval

import (
	"context"
	"iter"

	"concordat/minhash"
	"concordat/screen"
	"concordat/segment"
	"concordat/simhash"
)

// printed is a way of making 64-bit prints.
type printed struct {
	name    string
	content bool // without stop words
	idf     bool
	widths  int // runs of 1 to this many words
}

// waysOfPrinting lists the ways, starting with the default of screen prints.
var waysOfPrinting = []printed{{"default: words, idf, without stop words", true, true, 1}, {"words alone", false, false, 1},
	{"runs of one to three words, idf, without stop words", true, true, 3}}

// prints returns a print for each text, and the I-Match signatures of the same features.
func (p printed) prints(texts []string) (prints []uint64, signatures [][4]uint64, err error) {
	df := &simhash.Frequencies{}
	features := make([][]uint64, len(texts))
	for i, text := range texts {
		t, err := segment.Split(text)
		if err != nil {
			return nil, nil, err
		}
		var runs []screen.Shingling
		for w := range p.widths {
			runs = append(runs, screen.Shingling{Width: w + 1, Content: p.content})
		}
		features[i] = screen.Features(t, runs)
		df.Add(append([]uint64(nil), features[i]...))
	}
	printer, err := simhash.NewPrinter(simhash.HashMix, nil)
	if err != nil {
		return nil, nil, err
	}
	weigh := simhash.Weighting{TF: simhash.TFLog}
	if p.idf {
		weigh.Frequencies = df
	}
	for _, f := range features {
		prints = append(prints, printer.Print64(weigh.Weigh(f, nil)))
		signatures = append(signatures, screen.IMatch(f, df))
	}
	return prints, signatures, nil
}

// within3 returns the pairs of prints within 3 bits, found with four tables, each pair with the lower number first.
func within3(ctx context.Context, prints []uint64) (map[[2]int]bool, error) {
	d, err := screen.NewDesign(64, 3, 4)
	if err != nil {
		return nil, err
	}
	out := map[[2]int]bool{}
	j := screen.SelfJoin{Design: d, Bytes: 64 << 20, Stored: func() iter.Seq2[[]uint64, error] {
		return func(yield func([]uint64, error) bool) { yield(prints, nil) }
	}}
	err = j.Run(ctx, int64(len(prints)), 0, func(t screen.Twin) error {
		out[[2]int{int(t.A), int(t.B)}] = true
		return nil
	}, func(screen.Progress) error { return nil })
	return out, err
}

// screened measures I-Match and the ways of making prints on texts whose near-duplicates are the wanted pairs, and returns the number of
// pairs found by the default and how many of them are wanted.
func (r *run) screened(of string, texts []string, wanted map[[2]int]bool) (pairs, found int, err error) {
	table := Table{Title: of, Columns: []string{"prints", "pairs within 3 bits", "of them wanted", "wanted", "spread"}}
	row := func(name string, n, hits int, spread any) {
		table.Rows = append(table.Rows, []any{name, n, hits, len(wanted), spread})
	}
	for i, way := range waysOfPrinting {
		prints, signatures, err := way.prints(texts)
		if err != nil {
			return 0, 0, err
		}
		near, err := within3(r.ctx, prints)
		if err != nil {
			return 0, 0, err
		}
		hits := common(near, wanted)
		var spread screen.Distribution
		spread.Add(prints...)
		row(way.name, len(near), hits, spread.Spread())
		if i > 0 {
			continue
		}
		pairs, found = len(near), hits
		same := map[[2]int]bool{}
		first := map[[4]uint64]int{}
		for n, s := range signatures {
			if f, ok := first[s]; ok {
				same[[2]int{f, n}] = true
			} else {
				first[s] = n
			}
		}
		row("I-Match, the same signature", len(same), common(same, wanted), nil)
	}
	r.tables = append(r.tables, table)
	return pairs, found, nil
}

func common(a, b map[[2]int]bool) (n int) {
	for p := range a {
		if b[p] {
			n++
		}
	}
	return n
}

// screening compares the default prints of screen with others: on the laws used to choose them, on chapters that were not used, and on
// reviews, which were used to choose for evenness. Each review comes with a copy with one word in twenty changed. It also compares
// estimates of resemblance with the exact values.
func screening(r *run) error {
	docs, revisions, err := lawTexts(r.corpora)
	if err != nil {
		return err
	}
	docs = someLaws(r, docs, revisions)
	number := map[string]int{}
	var texts []string
	for i, d := range docs {
		number[d.ID] = i
		texts = append(texts, d.Text)
	}
	wanted := map[[2]int]bool{}
	for _, p := range revisions {
		a, b := number[p.Susp], number[p.Source]
		wanted[[2]int{min(a, b), max(a, b)}] = true
	}
	pairs, found, err := r.screened("dated versions of laws", texts, wanted)
	if err != nil {
		return err
	}
	r.count("dated versions of laws", "within 3 bits", found, len(wanted)).least(16, 16)
	r.figure("dated versions of laws", "other pairs within 3 bits", float64(pairs-found)).most(4, 4)

	for _, held := range []struct {
		of          string
		read        func(int) ([]Doc, error)
		whole, less int
		least       float64 // minimum recall in the short form
	}{{"changed chapters in modern Chinese", r.corpora.modern, 1000, 150, 0.25},
		{"changed reviews", r.corpora.reviews, 2000, 400, 0.2}} {
		docs, err := held.read(r.pick(held.whole, held.less))
		if err != nil {
			return err
		}
		var texts []string
		wanted := map[[2]int]bool{}
		for _, d := range docs {
			wanted[[2]int{len(texts), len(texts) + 1}] = true
			texts = append(texts, d.Text, screen.Changed(d.Text, 0.05, uint64(len(texts))))
		}
		pairs, found, err := r.screened(held.of, texts, wanted)
		if err != nil {
			return err
		}
		r.figure(held.of, "recall within 3 bits", float64(found)/float64(len(wanted))).least(0.25, held.least)
		r.figure(held.of, "precision within 3 bits", float64(found)/float64(max(1, pairs))).least(0.9, 0.95)
	}
	return sketches(r)
}

// sketches compares the resemblance estimated by sketches of 100 values with the exact one, for all calls that share a run
// of five words.
func sketches(r *run) error {
	var sets [][]uint64
	var failed error
	err := r.corpora.rows("grants/nih-calls.tsv.gz", func(f []string) bool {
		t, err := segment.Split(f[2])
		failed = err
		sets = append(sets, screen.Shingling{Width: 5}.Append(t, nil))
		return err == nil && len(sets) < r.pick(1000, 150)
	})
	if err == nil {
		err = failed
	}
	if err != nil {
		return err
	}
	shingler := minhash.NewShingler(nil)
	var drawn []minhash.MinSketch
	for _, s := range sets {
		drawn = append(drawn, shingler.Min(append([]uint64(nil), s...), 100))
	}
	var shared []screen.Shared
	sizes, err := screen.ExactPairs(sets, func(p screen.Shared) bool { shared = append(shared, p); return true })
	if err != nil {
		return err
	}
	square, inside := 0.0, 0
	for _, p := range shared {
		truth := float64(p.Common) / float64(sizes[p.A]+sizes[p.B]-p.Common)
		e, _, _ := minhash.MinEstimates(drawn[p.A], drawn[p.B])
		low, high := e.Interval(0.95)
		square += (e.Value() - truth) * (e.Value() - truth)
		if low <= truth && truth <= high {
			inside++
		}
	}
	const of = "resemblance of calls by sketches of 100 values"
	r.figure(of, "mean square error", square/float64(len(shared))).most(0.002, 0.002)
	r.figure(of, "truth within the 95 % interval", float64(inside)/float64(len(shared))).least(0.93, 0.93)
	return nil
}
