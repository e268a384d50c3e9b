package eval

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"concordat"
	"concordat/report"
	"concordat/site"
)

// madeCall is a call whose applications share a form.
type madeCall struct {
	name string
	form [][]string // sentences before each answer, and after the last, as words; a slot is a separate word
	ends bool       // whether the form is a block after the answers
}

// slot is a gap that an applicant fills in with up to four words.
const slot = "____"

const (
	madeCalls     = 10 // documents per call
	madeAnswers   = 6
	madeSentences = 4 // sentences per answer
)

// takenKinds are the kinds of copies, one for each call: how many of ten sentences the later document takes from the earlier one.
var takenKinds = []struct {
	name     string
	of10     int
	reworded bool
}{{"whole", 10, false}, {"60 %", 6, false}, {"30 %", 3, false}, {"reworded", 8, true}}

// callsOf creates the calls for a language. Forms are at several places, of this year and of last year, or in a block at one place; both
// come with and without slots. One form uses words that people use in forms.
func callsOf(m sentenceMaker) []*madeCall {
	spread := func(sentences int, slots bool) [][]string {
		out := make([][]string, madeAnswers)
		for i := range out {
			for range sentences {
				out[i] = append(out[i], m.formSentence(slots))
			}
		}
		return out
	}
	block := func(slots bool) [][]string {
		var out []string
		for range 6 {
			out = append(out, m.formSentence(slots))
		}
		return [][]string{out}
	}
	last := spread(2, false)
	next := make([][]string, len(last))
	for i, part := range last {
		next[i] = slices.Clone(part)
		if i%3 == 0 {
			next[i][0] = m.formSentence(false)
		}
	}
	written := make([][]string, len(m.written))
	for i, s := range m.written {
		written[i] = []string{s}
	}
	return []*madeCall{{"spread-24", last, false}, {"spread-25", next, false}, {"block-24", block(false), true},
		{"block-25", block(false), true}, {"slots-25", spread(2, true), false}, {"slotblock-25", block(true), true},
		{"written-25", written, false}}
}

// formSentence returns a form's sentence with one or two slots.
func (m sentenceMaker) formSentence(slots bool) string {
	words := make([]string, m.some())
	for i := range words {
		words[i] = m.word()
	}
	if slots {
		words[len(words)/2] = slot
	}
	return m.join(words)
}

// fill fills the slots of a sentence.
func (m sentenceMaker) fill(s string) string {
	for strings.Contains(s, slot) {
		var own []string
		for range 1 + m.r.IntN(4) {
			own = append(own, m.word())
		}
		space := " "
		if m.han {
			space = ""
		}
		s = strings.Replace(s, slot, strings.Join(own, space), 1)
	}
	return s
}

// document generates a document for a call. taken holds the sentences that the document takes from another one, by number; it may be
// empty.
func (c *madeCall) document(m sentenceMaker, name string, taken map[int]string) *madeDoc {
	d := &madeDoc{name: name}
	space := " "
	if m.han {
		space = ""
	}
	form := func(i int) {
		if i < len(c.form) {
			var filled []string
			for _, s := range c.form[i] {
				filled = append(filled, m.fill(s))
			}
			d.form(strings.Join(filled, space))
		}
	}
	for i := range madeAnswers {
		if !c.ends {
			form(i)
		}
		answer := m.sentences(madeSentences)
		if !c.ends && i < len(c.form) && !m.han { // an answer repeats the beginning of the question
			answer[0] = m.sentence(m.some(), strings.Fields(c.form[i][0])[:3]...)
		}
		for k := range answer {
			if s, ok := taken[i*madeSentences+k]; ok {
				answer[k] = s
			}
		}
		d.answer(answer, space)
	}
	if c.ends {
		form(0)
	}
	return d
}

// template returns the form as handed out.
func (c *madeCall) template() string {
	var parts []string
	for _, p := range c.form {
		parts = append(parts, strings.Join(p, " "))
	}
	return strings.Join(parts, "\n\n")
}

// madeCorpus holds the scenarios of one language: a mix of all calls, each call by itself, and both
// documents of each copy.
type madeCorpus struct{ mixed, calls, pairs []*innocentScenario }

// addCalls generates the documents of a language. The same seed yields the same documents on every machine with the same version of Go.
func (c *madeCorpus) addCalls(l *madeLanguage) {
	m := sentenceMaker{l, rand.New(rand.NewPCG(1, uint64(len(l.words)))), 0}
	mixed := &innocentScenario{name: l.name}
	earlier := map[int]*madeDoc{}
	calls := callsOf(m)
	for n, call := range calls {
		one := &innocentScenario{name: l.name + "-" + call.name, template: call.template()}
		docs := map[int]*madeDoc{}
		for i := range madeCalls {
			m.topic = i % madeTopics
			name := fmt.Sprintf("%s-%02d.txt", call.name, i)
			kind, from := takenKinds[n%len(takenKinds)], docs[i-1]
			across := call.name == "spread-25" && i == 7
			if across { // from the previous year
				kind, from = takenKinds[1], earlier[7]
			}
			taken := map[int]string{}
			if across || i == madeCalls-1 {
				for k, s := range from.sentences {
					if k%10 < kind.of10 {
						if taken[k] = s; kind.reworded {
							taken[k] = m.reworded(s)
						}
					}
				}
			}
			d := call.document(m, name, taken)
			docs[i] = d
			x := d.done()
			mixed.docs = append(mixed.docs, x)
			if len(taken) == 0 {
				one.docs = append(one.docs, x)
				continue
			}
			a := mixed.docs[slices.IndexFunc(mixed.docs, func(o *innocentDoc) bool { return o.name == from.name })]
			cp := madeCopy(a, x, from, d, taken)
			mixed.copies = append(mixed.copies, cp)
			pair := &innocentScenario{name: l.name + "-" + call.name + ", " + kind.name, template: one.template, docs: []*innocentDoc{a, x},
				copies: []innocentCopy{cp}}
			if !across {
				one.copies = append(one.copies, cp)
			}
			one.docs = append(one.docs, x)
			c.pairs = append(c.pairs, pair)
		}
		earlier = docs
		c.calls = append(c.calls, one)
	}
	slices.SortFunc(mixed.docs, func(a, b *innocentDoc) int { return strings.Compare(a.name, b.name) })
	c.mixed = append(c.mixed, mixed)
}

// madeCopy records in both documents the sentences that the second one took.
func madeCopy(a, b *innocentDoc, from, to *madeDoc, taken map[int]string) innocentCopy {
	letters := [2]int{}
	for k := range taken {
		a.copied[b.name] = append(a.copied[b.name], from.spans[k])
		b.copied[a.name] = append(b.copied[a.name], to.spans[k])
		letters[0] += from.spans[k].Len()
		letters[1] += to.spans[k].Len()
	}
	return innocentCopy{a.name, b.name, float64(letters[0]) / float64(len(a.text)), float64(letters[1]) / float64(len(b.text))}
}

// innocentCalls measures the same figures as innocentDocuments on generated documents. It compares several calls and years in one library
// or batch, where only a few documents contain a call's form; batches of one call; and the two documents of each copy.
func innocentCalls(r *run) error {
	languages, err := madeLanguages()
	if err != nil {
		return err
	}
	var c madeCorpus
	for _, l := range languages[:r.pick(len(languages), 1)] {
		c.addCalls(l)
	}
	var jobs []innocentJob
	add := func(ss []*innocentScenario, modes ...innocentMode) {
		for _, s := range ss {
			for _, m := range modes {
				if (len(r.o.Scenarios) == 0 || slices.Contains(r.o.Scenarios, s.name)) &&
					(len(r.o.Modes) == 0 || slices.Contains(r.o.Modes, m.name)) {
					jobs = append(jobs, innocentJob{s, m})
				}
			}
		}
	}
	add(c.mixed, innocentMode{name: "mixed"})
	add(c.calls, innocentMode{name: "call"}, innocentMode{name: "call+tmpl", template: true},
		innocentMode{name: "two", first: 2}, innocentMode{name: "two+tmpl", first: 2, template: true})
	add(c.pairs, innocentMode{name: "pair"}, innocentMode{name: "pair+tmpl", template: true})
	rows, err := r.innocentRows(jobs)
	if err != nil {
		return err
	}
	checked, err := r.madeChecks(c.mixed)
	if err != nil {
		return err
	}
	rows = append(rows, checked...)
	r.tables = append(r.tables, innocentTable("made documents of several calls", rows))
	var modes []string
	for _, row := range rows {
		if !slices.Contains(modes, row.mode) {
			modes = append(modes, row.mode)
		}
	}
	for _, mode := range modes {
		r.madeFigures(mode, rows)
	}
	return nil
}

// madeChecks checks each document against a library of all others in its language.
func (r *run) madeChecks(scenarios []*innocentScenario) ([]*innocentRow, error) {
	if len(r.o.Modes) > 0 && !slices.Contains(r.o.Modes, "library") {
		return nil, nil
	}
	rows := make([]*innocentRow, len(scenarios))
	g, ctx := errgroup.WithContext(r.ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	for n, s := range scenarios {
		g.Go(func() (err error) {
			rows[n], err = checkMade(ctx, filepath.Join(r.dir, "library-"+s.name), s)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	return rows, r.writePassages(rows)
}

func checkMade(ctx context.Context, dir string, s *innocentScenario) (_ *innocentRow, err error) {
	one, err := newInnocentSite(ctx, dir, s, innocentKey(0))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, one.close()) }()
	var docs []Doc
	for _, d := range s.docs {
		docs = append(docs, Doc{d.name, d.text})
	}
	if err := one.Add(ctx, docs); err != nil {
		return nil, err
	}
	row := &innocentRow{scenario: s.name, mode: "library", documents: len(docs), pairs: len(docs) * (len(docs) - 1)}
	names := s.names()
	for _, d := range s.docs {
		f, err := one.Site.Check(ctx, d.item.Submission, site.CheckOptions{Exclude: []concordat.Ref{{Site: "bench", Library: "library",
			Document: concordat.DocumentID(d.name)}}})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", d.name, err)
		}
		rep := report.Build(f, report.Rules{})
		row.judgeSources(d, rep, names)
		row.judge(d, rep, names)
	}
	row.passages = measureBare(row.passages, 100)
	return row, nil
}

// Bounds for generated documents. In a Chinese form, the pieces between slots are too short for a template to be recognised. Next to a
// form or a reworded sentence, more unshared text is covered than in real text: a third of the words are "the", "of" and "and", in any
// order, and have counterparts by chance.
const (
	worstMade       = 0.08 // proportion of one document's letters
	worstAlienMade  = 0.04
	worstMadePair   = 0.17
	leastCopiedMade = 0.98
)

// madeFigures adds the figures of a mode over all rows. Without the template, nothing distinguishes a form from a copy between two
// documents, so accusations have no bound.
func (r *run) madeFigures(mode string, rows []*innocentRow) {
	all := innocentRow{mode: mode}
	for _, row := range rows {
		if row.mode == mode {
			all.add(row)
		}
	}
	of := "mode " + mode
	strong := r.count(of, "pairs that are no copies, listed at 0.3", all.false30, all.pairs)
	weak := r.count(of, "the same at 0.1", all.false10, all.pairs)
	middle := r.figure(of, "covered and not copied: median document", median(all.over))
	most := r.figure(of, "the same, worst document", worst(all.over))
	if mode != "two" && mode != "pair" {
		few := math.Floor(maxFalse10 * float64(all.pairs))
		if mode == "library" { // sources of 3 % or more
			strong.most(few, few)
		} else {
			strong.most(0, 0)
		}
		weak.most(few, few)
		middle.most(maxOver, maxOver)
		if mode == "pair+tmpl" {
			most.most(worstMadePair, worstMadePair)
		} else {
			most.most(worstMade, worstMade)
		}
	}
	r.figure(of, "covered, and nobody else has it: worst document", worst(all.alien)).most(worstAlienMade, worstAlienMade)
	if all.copies > 0 {
		r.count(of, "real copies that are not listed", all.missed, all.copies).most(0, 0)
		r.figure(of, "copied letters that are covered", all.recall()).least(leastCopiedMade, leastCopiedMade)
	}
}
