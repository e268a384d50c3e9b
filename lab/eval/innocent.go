package eval

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
)

// Bounds on false accusations of innocent documents.
const (
	maxFalse10  = 0.001 // proportion of pairs that may be listed at 0.1; none may be at 0.3
	maxOver     = 0.01  // proportion of the median document's letters that may be covered without being copied
	worstOver   = 0.03  // the same for any document
	worstAlien  = 0.01  // proportion of any document's letters that may be covered although no other document has them
	leastCopied = 0.95  // minimum proportion of the really copied letters that must be covered
	// leastCopiedTemplate is the same bound for scenarios with a template. For a text that a person revised, the truth lists whole
	// paragraphs of the source, half of which went into the revision (doc/evaluation/innocent.md).
	leastCopiedTemplate = 0.945
	// Among ten laws and contracts, two Chinese regulations share 294 words of legislative formulas in two places. Sixty consecutive
	// words that only two documents share always count, so one of all pairs is listed at 0.1 (doc/evaluation/innocent.md).
	formulaPairs, worstFormulas = 1, 0.12
)

// innocentShort lists the scenarios and modes of the short form, which only shows that the measurement works; its bounds are the ones for
// all scenarios.
var innocentShort = struct{ scenarios, modes []string }{[]string{"09-ring"}, []string{"tmpl", "n5", "lib"}}

// innocentDocuments measures false accusations: listed pairs that are not copies, and covered text that was not copied, together with the
// real copies found and missed.
func innocentDocuments(r *run) error {
	want, modes := r.o.Scenarios, r.o.Modes
	if r.short {
		want, modes = innocentShort.scenarios, innocentShort.modes
	}
	scenarios, err := r.corpora.innocent(want)
	if err != nil {
		return err
	}
	var jobs []innocentJob
	for _, s := range scenarios {
		for _, m := range innocentModes {
			if (len(modes) == 0 || slices.Contains(modes, m.name)) && (!m.template || s.template != "") {
				jobs = append(jobs, innocentJob{s, m})
			}
		}
	}
	rows, err := r.innocentRows(jobs)
	if err != nil {
		return err
	}
	r.tables = append(r.tables, innocentTable("innocent documents, by scenario and mode", rows))
	r.innocentBounds(rows)
	if r.short {
		return nil // innocent-ways has a second key
	}
	return r.innocentKeys(slices.DeleteFunc(scenarios, func(s *innocentScenario) bool {
		return len(want) == 0 && !slices.Contains(keyedScenarios, s.name)
	}))
}

// innocentJob is one mode in one scenario.
type innocentJob struct {
	s *innocentScenario
	m innocentMode
}

// innocentRows runs jobs, one per core at a time, and returns one row for each, in order.
func (r *run) innocentRows(jobs []innocentJob) ([]*innocentRow, error) {
	rows := make([]*innocentRow, len(jobs))
	order := make([]int, len(jobs)) // longest first
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(jobs[b].cost(), jobs[a].cost()) })
	g, ctx := errgroup.WithContext(r.ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	for _, n := range order {
		g.Go(func() (err error) {
			site, err := newInnocentSite(ctx, filepath.Join(r.dir, fmt.Sprint("job", n)), jobs[n].s, innocentKey(0))
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, site.close()) }()
			if rows[n], err = site.run(ctx, jobs[n].m); err != nil {
				return fmt.Errorf("%s, %s: %w", jobs[n].s.name, jobs[n].m.name, err)
			}
			rows[n].passages = measureBare(rows[n].passages, r.samplePassages())
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	return rows, r.writePassages(rows)
}

// cost estimates a job's duration.
func (j innocentJob) cost() int { return cmp.Or(j.m.first, len(j.s.docs)) }

// samplePassages is the number of passages per row to compare word by word; more are compared if people will read them.
func (r *run) samplePassages() int {
	if r.o.Passages != "" {
		return 1000
	}
	return 100
}

// writePassages writes the rows' judged passages to the file given in the options, one JSON object per line.
func (r *run) writePassages(rows []*innocentRow) (err error) {
	if r.o.Passages == "" {
		return nil
	}
	f, err := os.Create(r.o.Passages)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	e := json.NewEncoder(f)
	e.SetEscapeHTML(false)
	for _, row := range rows {
		for _, p := range row.passages {
			if err := e.Encode(p); err != nil {
				return err
			}
		}
	}
	return nil
}

// innocentTable returns the rows as a table, with proportions in per cent.
func innocentTable(title string, rows []*innocentRow) Table {
	t := Table{Title: title, Columns: []string{"scenario", "mode", "docs", "pairs", "false30", "false10", "missed", "copies",
		"over med", "over worst", "alien med", "alien worst", "bare", "long", "common", "template", "quoted", "recall"}}
	for _, row := range rows {
		words, alone, long := 0, 0, 0
		for _, p := range row.passages {
			words, alone, long = words+p.Words, alone+p.Bare, long+p.Long
		}
		recall := any(nil)
		if row.copied > 0 {
			recall = percent(row.recall())
		}
		t.Rows = append(t.Rows, []any{row.scenario, row.mode, row.documents, row.pairs, row.false30, row.false10, row.missed, row.copies,
			percent(median(row.over)), percent(worst(row.over)), percent(median(row.alien)), percent(worst(row.alien)),
			percent(ratio(alone, words)), percent(ratio(long, words)),
			percent(mean(row.common)), percent(mean(row.template)), percent(mean(row.quoted)), recall})
	}
	return t
}

// recall is the proportion of really copied letters that reports cover.
func (row *innocentRow) recall() float64 { return ratio(row.found, row.copied) }

// add adds another row of the same mode.
func (row *innocentRow) add(other *innocentRow) {
	row.documents, row.pairs = row.documents+other.documents, row.pairs+other.pairs
	row.false30, row.false10 = row.false30+other.false30, row.false10+other.false10
	row.missed, row.strong, row.copies = row.missed+other.missed, row.strong+other.strong, row.copies+other.copies
	row.found, row.copied = row.found+other.found, row.copied+other.copied
	row.over, row.alien = append(row.over, other.over...), append(row.alien, other.alien...)
}

// open reports whether there are only two documents, so that nothing distinguishes a form from a copy. In that case, covered text is
// suspected wording and has no bound.
func (row *innocentRow) open() bool { return row.mode == "n2" }

// innocentBounds adds the bounded figures: for each mode, the pairs, copies and copied letters of all
// scenarios together, and the worst scenario.
func (r *run) innocentBounds(rows []*innocentRow) {
	var modes []string
	by := map[string][]*innocentRow{}
	for _, row := range rows {
		if by[row.mode] == nil {
			modes = append(modes, row.mode)
		}
		by[row.mode] = append(by[row.mode], row)
	}
	slices.SortStableFunc(modes, func(a, b string) int { return cmp.Compare(modeOrder(a), modeOrder(b)) })
	for _, mode := range modes {
		all := innocentRow{mode: mode}
		var medians []float64
		recall := 1.0
		for _, row := range by[mode] {
			all.add(row)
			medians = append(medians, median(row.over))
			if row.copied > 0 {
				recall = min(recall, row.recall())
			}
		}
		of := "mode " + mode
		pairs30 := r.count(of, "pairs that are no copies, listed at 0.3", all.false30, all.pairs)
		pairs10 := r.count(of, "the same at 0.1", all.false10, all.pairs)
		middle := r.figure(of, "covered and not copied: worst scenario's median", worst(medians))
		most := r.figure(of, "the same, worst document", worst(all.over))
		if !all.open() {
			pairs30.most(0, 0)
			false10, over := math.Floor(maxFalse10*float64(all.pairs)), worstOver
			if mode == "n10" {
				false10, over = formulaPairs, worstFormulas
			}
			pairs10.most(false10, false10)
			middle.most(maxOver, maxOver)
			most.most(over, over)
		}
		r.figure(of, "covered, and nobody else has it: worst document", worst(all.alien)).most(worstAlien, worstAlien)
		if all.copies > 0 {
			r.count(of, "real copies that are not listed", all.missed, all.copies).most(0, 0)
			if mode != "lib" {
				r.count(of, "real copies that are listed at 0.3", all.strong, all.copies)
			}
		}
		if all.copied > 0 {
			least := leastCopied
			if mode == "tmpl" {
				least = leastCopiedTemplate
			}
			r.figure(of, "copied letters that are covered", all.recall()).least(least, leastCopied)
			r.figure(of, "the same, worst scenario", recall)
		}
	}
}

func modeOrder(name string) int {
	return slices.IndexFunc(innocentModes, func(m innocentMode) bool { return m.name == name })
}

func percent(v float64) float64 { return 100 * v }

// median returns the middle value, or the mean of the two in the middle, or 0 if there are no values.
func median(vs []float64) float64 {
	if len(vs) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(vs))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}

// worst returns the largest value, or 0 if there are no values.
func worst(vs []float64) float64 {
	out := 0.0
	for _, v := range vs {
		out = max(out, v)
	}
	return out
}

func mean(vs []float64) float64 {
	if len(vs) == 0 {
		return 0
	}
	sum := 0.0
	for _, v := range vs {
		sum += v
	}
	return sum / float64(len(vs))
}

// keyedScenarios lists the scenarios whose reports are compared for several fingerprint keys.
var keyedScenarios = []string{"01-grants-en-15", "08-questionnaire", "09-ring"}

// innocentKeys counts the documents for which a site with a different key covers different text: in a batch, in a batch with the
// template, and in checks against a library.
func (r *run) innocentKeys(scenarios []*innocentScenario) error {
	ways := []innocentWay{{name: "batch", batch: true}, {name: "batch with template", batch: true, template: true},
		{name: "library", libraries: 1}}
	var mu sync.Mutex // guards the variables below
	documents, differ := 0, 0
	g, ctx := errgroup.WithContext(r.ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	for _, s := range scenarios {
		for k, w := range ways {
			if w.template && s.template == "" {
				continue
			}
			g.Go(func() error {
				var reports []coverage
				for w.key = range 3 {
					c, err := w.coverage(ctx, filepath.Join(r.dir, fmt.Sprint("key-", s.name, k, "-", w.key)), s)
					if err != nil {
						return fmt.Errorf("%s, %s, key %d: %w", s.name, w.name, w.key, err)
					}
					reports = append(reports, c)
				}
				mu.Lock()
				defer mu.Unlock()
				documents += len(s.docs)
				for _, d := range s.docs {
					if reports[0].differs(d, reports[1]) > 0 || reports[0].differs(d, reports[2]) > 0 {
						differ++
					}
				}
				return nil
			})
		}
	}
	if err := g.Wait(); err != nil {
		return err
	}
	if documents > 0 {
		r.count("three keys of fingerprints", "reports that cover other text with another key", differ, documents).most(0, none)
	}
	return nil
}
