package eval

import (
	"errors"
	"fmt"
	"iter"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"concordat"
	"concordat/index"
	"concordat/meaning"
	"concordat/profile"
	"concordat/site/compare"
)

// meaningIndex measures the index by meaning next to the fingerprint index, in the same shard of real texts. It counts the entries that a
// question meets and the marked passages whose source is found, and measures the processor time.
func meaningIndex(r *run) error {
	texts, cases, _, err := r.corpora.markedPassages()
	if err != nil {
		return err
	}
	library, asking := reworded(texts)
	if r.short {
		asking = every(asking, 4)
	}
	p, err := profile.New(profile.Options{Recipe: profile.Natural, Meaning: true})
	if err != nil {
		return err
	}
	q := &meaningQuestions{run: r, profiler: p, cases: cases}
	if err := q.read(asking); err != nil {
		return err
	}
	others, err := r.realTexts()
	if err != nil {
		return err
	}
	var sources, beside []*concordat.Profile
	if sources, err = q.profiles(library); err != nil {
		return err
	}
	if beside, err = q.profiles(others); err != nil {
		return err
	}
	q.cost = Table{Title: "a question of one sentence of the documents asked, in the median of the rounds", Columns: []string{"index",
		"sentences", "documents", "candidates", "µs"}}
	q.found = Table{Title: "passages of which the source is found", Columns: []string{"passages", "number", "sentences in the library",
		"by fingerprints", "by meaning", "by either", "by meaning, nominated for an encoder"}}
	var measured []indexCost
	for _, tenths := range []int{1, 3, 10} {
		part := slices.Clone(sources)
		for i, x := range beside {
			if i%10 < tenths {
				part = append(part, x)
			}
		}
		c, err := q.measure(part)
		if err != nil {
			return err
		}
		measured = append(measured, c)
	}
	if !r.short { // a line through small libraries does not predict large ones
		q.model(measured[0], measured[len(measured)-1])
	}
	r.tables = append(r.tables, q.cost, q.found)
	return nil
}

// realTexts returns texts of several kinds that are unrelated to the marked passages.
func (r *run) realTexts() ([]Doc, error) {
	out, err := r.corpora.reviews(r.pick(math.MaxInt, 2000))
	if err != nil {
		return nil, err
	}
	modern, err := r.corpora.modern(r.pick(math.MaxInt, 50))
	if err != nil {
		return nil, err
	}
	out = append(out, modern...)
	for _, archive := range []string{"academic/academic.tar.zst", "pan13-train/pan13-train.tar.zst", "zh-laws/zh-laws.tar.zst",
		"innocent/innocent.tar.zst"} {
		docs, err := r.corpora.docs(archive, func(name string) bool {
			return strings.HasSuffix(name, ".txt") && !strings.HasPrefix(name, "susp/")
		})
		if err != nil {
			return nil, err
		}
		out = append(out, docs[:r.pick(len(docs), min(50, len(docs)))]...)
	}
	for _, file := range []string{"grants/nih-calls.tsv.gz", "grants/nih-awards.tsv.gz"} {
		err := r.corpora.rows(file, func(f []string) bool {
			out = append(out, Doc{f[0], strings.Join(f[1:], "\n")})
			return !r.short
		})
		if err != nil {
			return nil, err
		}
	}
	for i := range out {
		out[i].ID = fmt.Sprintf("other %d", i)
	}
	return out, nil
}

// meaningQuestions holds the documents asked about, and their measurements.
type meaningQuestions struct {
	*run
	profiler  *profile.Profiler
	cases     []marked
	documents []meaningQuestion
	prints    int // total number of sentences asked about by fingerprint
	sentences int // number of sentences asked about by cells
	found     Table
	cost      Table
}

type meaningQuestion struct {
	id        string
	asked     []concordat.Sentence
	text      *meaning.Text
	questions []meaning.Question
}

// read creates the questions for the documents, and measures the time for the questions by meaning.
func (q *meaningQuestions) read(asking []Doc) error {
	table, err := meaning.Default()
	if err != nil {
		return err
	}
	cells, err := meaning.DefaultCells()
	if err != nil {
		return err
	}
	e := meaning.NewEncoder(table)
	for _, d := range asking {
		p, err := q.profiler.Profile(concordat.Document{Text: d.Text}, nil)
		if err != nil {
			return err
		}
		t := e.Read(d.Text, profile.LanguageOf(d.Text))
		q.prints, q.sentences = q.prints+len(p.Questions()), q.sentences+len(t.Spans)
		q.documents = append(q.documents, meaningQuestion{d.ID, p.Questions(), t, t.Questions(cells)})
	}
	took, err := q.rounds(func() error {
		for _, d := range asking {
			e.Read(d.Text, profile.LanguageOf(d.Text)).Questions(cells)
		}
		return nil
	})
	q.figure("a sentence asked by meaning", "µs to encode it and to choose its cells", micro(took, q.sentences))
	q.figure("the documents asked", "sentences asked by meaning", float64(q.sentences))
	q.figure("the documents asked", "sentences asked by fingerprints", float64(q.prints))
	return err
}

// profiles creates the profiles for an index.
func (q *meaningQuestions) profiles(docs []Doc) ([]*concordat.Profile, error) {
	out := make([]*concordat.Profile, len(docs))
	for i, d := range docs {
		if err := q.ctx.Err(); err != nil {
			return nil, err
		}
		p, err := q.profiler.ForIndex(concordat.Document{Library: "l", ID: concordat.DocumentID(d.ID), Text: d.Text})
		if err != nil {
			return nil, err
		}
		out[i] = p
	}
	return out, nil
}

// indexCost is the cost of a one-sentence question in a library with a given number of sentences.
type indexCost struct {
	sentences              int
	prints, cells          float64 // in µs
	metByPrints, metByCell float64
}

// measure builds an index of the profiles and queries it.
func (q *meaningQuestions) measure(of []*concordat.Profile) (c indexCost, err error) {
	dir := fmt.Sprintf("%s/index-%d", q.dir, len(of))
	o := index.Options{Site: "bench", Scheme: q.profiler.Scheme(), Shard: "00"}
	if err := index.Build(dir, o, each(of)); err != nil {
		return c, err
	}
	s, err := index.Open(dir, o)
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, s.Close(), os.RemoveAll(dir)) }()
	c.sentences = s.Stats().Sentences
	byPrints, byCells, byMore := map[*marked]bool{}, map[*marked]bool{}, map[*marked]bool{}
	prints := func() error { return q.askPrints(s, byPrints) }
	cells := func() error { return q.askCells(s, compare.ForTable, byCells) }
	// The first questions load the tables.
	if err := errors.Join(prints(), cells(), q.askCells(s, compare.ForEncoder, byMore)); err != nil {
		return c, err
	}
	took, err := q.rounds(prints)
	if err != nil {
		return c, err
	}
	c.prints = micro(took, q.prints)
	if took, err = q.rounds(cells); err != nil {
		return c, err
	}
	c.cells = micro(took, q.sentences)
	c.metByPrints, c.metByCell = q.met(of)
	q.cost.Rows = append(q.cost.Rows, []any{"fingerprints", c.sentences, len(of), c.metByPrints, c.prints},
		[]any{"meaning", c.sentences, len(of), c.metByCell, c.cells})
	for _, g := range rewordedGroups {
		n, prints, cells, more, either := 0, 0, 0, 0, 0
		for i := range q.cases {
			x := &q.cases[i]
			if _, asked := byPrints[x]; asked && slices.Contains(g.kinds, x.kind) {
				n, prints, cells, more = n+1, prints+one(byPrints[x]), cells+one(byCells[x]), more+one(byMore[x])
				either += one(byPrints[x] || byCells[x])
			}
		}
		q.found.Rows = append(q.found.Rows, []any{g.name, n, c.sentences, prints, cells, either, more})
	}
	return c, nil
}

func each(of []*concordat.Profile) iter.Seq2[*concordat.Profile, error] {
	return func(yield func(*concordat.Profile, error) bool) {
		for _, p := range of {
			if !yield(p, nil) {
				return
			}
		}
	}
}

// askPrints asks for each document's sentences, as a check does, and records for its passages whether one of their sentences is near
// enough to one of their source's.
func (q *meaningQuestions) askPrints(s *index.Shard, found map[*marked]bool) error {
	for _, d := range q.documents {
		query := &concordat.Query{Scheme: q.profiler.Scheme(), MaxDistance: profile.MaxGate, MaxHashes: q.profiler.MaxHashes(),
			Limit: compare.MatchLimit, Probe: concordat.ProbeOne}
		for _, x := range d.asked {
			query.Fingerprints = append(query.Fingerprints, x.Fingerprint)
		}
		a, err := s.Match(q.ctx, query)
		if err != nil {
			return err
		}
		for c := range q.of(d.id) {
			found[c] = slices.ContainsFunc(a.Matches, func(m concordat.Match) bool {
				x := d.asked[m.Sentence]
				return string(m.Source.Document) == c.source && x.Span.Overlaps(c.span) && q.profiler.Nearness(x, m) > 0
			})
		}
	}
	return nil
}

// askCells asks for the documents near each document by meaning, as a check does, and records for its passages whether their
// source is nominated.
func (q *meaningQuestions) askCells(s *index.Shard, most compare.Nomination, found map[*marked]bool) error {
	cells, err := meaning.DefaultCells()
	if err != nil {
		return err
	}
	m := &compare.Comparer{Index: s, Profiler: q.profiler, Workers: 1}
	for _, d := range q.documents {
		near, _, err := m.ByMeaning(q.ctx, d.text, cells, &concordat.Query{}, most)
		if err != nil {
			return err
		}
		for c := range q.of(d.id) {
			found[c] = slices.ContainsFunc(near, func(x *compare.Candidate) bool { return string(x.Ref.Document) == c.source })
		}
	}
	return nil
}

// of yields a document's passages.
func (q *meaningQuestions) of(id string) iter.Seq[*marked] {
	return func(yield func(*marked) bool) {
		for i := range q.cases {
			if q.cases[i].susp == id && !yield(&q.cases[i]) {
				return
			}
		}
	}
}

// met returns how many entries of the two indexes a one-sentence question meets on average. By fingerprint, it counts sentences in each
// band and in the values with one changed hash; by meaning, documents in each cell, for either script.
func (q *meaningQuestions) met(of []*concordat.Profile) (prints, cells float64) {
	byBand, byCell := make([]uint32, concordat.Bands<<concordat.BandBits), make([]uint32, concordat.Cells)
	for _, p := range of {
		for _, x := range p.Indexed {
			for b := range concordat.Bands {
				byBand[b<<concordat.BandBits|int(x.Fingerprint.Band(b))]++
			}
		}
		for _, c := range p.Cells {
			byCell[c]++
		}
	}
	for _, d := range q.documents {
		for _, x := range d.asked {
			for b := range concordat.Bands {
				v := x.Fingerprint.Band(b)
				prints += float64(byBand[b<<concordat.BandBits|int(v)])
				for at := 0; at < concordat.BandBits; at += 4 {
					for hash := uint32(1); hash < 16; hash++ {
						prints += float64(byBand[b<<concordat.BandBits|int(v^hash<<at)])
					}
				}
			}
		}
		for i := range d.questions {
			for _, chinese := range []bool{false, true} {
				for _, t := range d.questions[i].Cells(chinese) {
					cells += float64(byCell[t.Term])
				}
			}
		}
	}
	return prints / float64(q.prints), cells / float64(q.sentences)
}

// model adds the cost per sentence in a library of 100,000,000, extrapolated by a line through two sizes.
func (q *meaningQuestions) model(small, large indexCost) {
	const size = 100_000_000
	at := func(a, b float64) float64 {
		return a + (b-a)*(size-float64(small.sentences))/float64(large.sentences-small.sentences)
	}
	q.cost.Rows = append(q.cost.Rows,
		[]any{"fingerprints, by the line", size, nil, at(small.metByPrints, large.metByPrints), at(small.prints, large.prints)},
		[]any{"meaning, by the line", size, nil, at(small.metByCell, large.metByCell), at(small.cells, large.cells)})
}

// rounds returns the median of the processor times of several rounds.
func (q *meaningQuestions) rounds(f func() error) (time.Duration, error) {
	var took []time.Duration
	for range q.pick(7, 3) {
		start := processTime()
		if err := f(); err != nil {
			return 0, err
		}
		took = append(took, processTime()-start)
	}
	slices.Sort(took)
	return took[len(took)/2], nil
}

func micro(d time.Duration, n int) float64 { return float64(d.Nanoseconds()) / 1000 / float64(n) }
