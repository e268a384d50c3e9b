package eval

import (
	"context"
	"encoding/csv"
	"slices"
	"sort"
	"strconv"
	"strings"

	"concordat"
	"concordat/align"
	"concordat/profile"
	"concordat/report"
)

// leastEvidence is the minimum number of characters of evidence for a pair of documents to count as reported, if the truth is a list of
// pairs.
const leastEvidence = 60

// pairSet is a set of ordered pairs of documents.
type pairSet map[DocumentPair]bool

// held returns how many elements of want are in s.
func (s pairSet) held(want pairSet) int {
	n := 0
	for p := range want {
		if s[p] {
			n++
		}
	}
	return n
}

// historyTexts returns the chapters of the two histories and the listed pairs with their proportions.
func historyTexts(c corpusDir) (library, later []Doc, listed map[DocumentPair]float64, err error) {
	listed = map[DocumentPair]float64{}
	err = c.files("zh-histories/zh-histories.tar.zst", func(name, text string) error {
		switch {
		case name == "shared-shingles.tsv":
			for i, line := range strings.Split(strings.TrimSpace(text), "\n") {
				f := strings.Split(line, "\t")
				if i == 0 || len(f) < 6 {
					continue
				}
				share, err := strconv.ParseFloat(f[5], 64)
				if err != nil {
					return err
				}
				listed[DocumentPair{f[0], f[1]}] = share
			}
		case strings.HasPrefix(name, "史记/"):
			library = append(library, Doc{name, text})
		case strings.HasSuffix(name, ".txt"):
			later = append(later, Doc{name, text})
		}
		return nil
	})
	return library, later, listed, err
}

// histories checks the chapters of the Book of Han against the Records of the Grand Historian.
func histories(r *run) error {
	library, later, listed, err := historyTexts(r.corpora)
	if err != nil {
		return err
	}
	strong, all := pairSet{}, pairSet{}
	for p, share := range listed {
		all[p] = true
		if share >= 0.1 {
			strong[p] = true
		}
	}
	b, err := r.bench(library)
	if err != nil {
		return err
	}
	count := func(of string, found pairSet) {
		r.count(of, "strong pairs", found.held(strong), len(strong))
		r.count(of, "listed pairs", found.held(all), len(all))
		outside, not, unread := 0, 0, 0
		for p := range found {
			verdict, read := readHistories[p]
			switch {
			case all[p]:
				continue
			case !read:
				unread++
			case verdict == noReuse:
				not++
			}
			outside++
		}
		r.figure(of, "pairs outside the list", float64(outside))
		r.figure(of, "of which no reuse, as read", float64(not)).most(1, 1)
		r.figure(of, "of which nobody has read", float64(unread)).most(0, 0)
	}
	for _, probe := range []concordat.Probe{concordat.ProbeExact, concordat.ProbeOne} {
		found := pairSet{}
		for _, d := range later {
			hits, err := b.Fingerprints(r.ctx, d, probe)
			if err != nil {
				return err
			}
			for _, h := range hits {
				found[DocumentPair{d.ID, string(h.Source)}] = true
			}
		}
		count("fingerprints alone, probe "+probe.String()+", two sentences", found)
	}
	r.find("fingerprints alone, probe one, two sentences", "strong pairs").least(61, 61)
	r.find("fingerprints alone, probe one, two sentences", "listed pairs").least(86, 86)
	found := pairSet{}
	for _, d := range later {
		rep, err := b.Report(r.ctx, d)
		if err != nil {
			return err
		}
		for _, s := range rep.Sources {
			if s.Characters >= leastEvidence {
				found[DocumentPair{d.ID, string(s.Document)}] = true
			}
		}
	}
	of := "evidence of 60 characters in the report"
	count(of, found)
	r.find(of, "strong pairs").least(61, 61)
	r.find(of, "listed pairs").least(100, 100)
	return nil
}

// lawTexts returns the Chinese laws, and the pairs of dated versions of the same law, the later version first.
func lawTexts(c corpusDir) (docs []Doc, pairs []DocumentPair, err error) {
	err = c.files("zh-laws/zh-laws.tar.zst", func(name, text string) error {
		if strings.HasSuffix(name, ".md") {
			docs = append(docs, Doc{name, text})
		}
		if name == "revision-pairs.tsv" {
			for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
				if f := strings.Split(line, "\t"); len(f) == 2 {
					pairs = append(pairs, DocumentPair{f[1], f[0]})
				}
			}
		}
		return nil
	})
	return docs, pairs, err
}

// someLaws keeps, for the short form, the laws in the pairs and every eighth of the others.
func someLaws(r *run, docs []Doc, pairs []DocumentPair) []Doc {
	if !r.short {
		return docs
	}
	wanted := map[string]bool{}
	for _, p := range pairs {
		wanted[p.Susp], wanted[p.Source] = true, true
	}
	i := 0
	return slices.DeleteFunc(docs, func(d Doc) bool { i++; return !wanted[d.ID] && i%8 != 0 })
}

// laws checks the later version of a law against 1,729 laws.
func laws(r *run) error {
	docs, pairs, err := lawTexts(r.corpora)
	if err != nil {
		return err
	}
	texts := map[string]string{}
	for _, d := range docs {
		texts[d.ID] = d.Text
	}
	docs = someLaws(r, docs, pairs)
	b, err := r.bench(docs)
	if err != nil {
		return err
	}
	covered, first, evidence, checked := 0, 0, 0, 0
	for i, p := range pairs {
		d := Doc{p.Susp, texts[p.Susp]}
		share, rank, err := b.partnerShare(r.ctx, d, concordat.DocumentID(p.Source))
		if err != nil {
			return err
		}
		if share >= 0.3 {
			covered++
		}
		if rank == 0 {
			first++
		}
		if r.short && i%10 != 0 {
			continue // laws resemble each other, so a check compares 200 of them
		}
		checked++
		rep, err := b.Report(r.ctx, d)
		if err != nil {
			return err
		}
		for _, s := range rep.Sources {
			if string(s.Document) == p.Source && s.Share >= 0.3 {
				evidence++
			}
		}
	}
	r.count("fingerprints alone", "other version covers 0.3 or more", covered, len(pairs)).least(51, 51)
	r.count("fingerprints alone", "other version is first", first, len(pairs)).least(49, 49)
	r.count("evidence in the report", "other version covers 0.3 or more", evidence, checked).least(52, 4)
	return nil
}

// partnerShare returns the proportion of checked characters in sentences that the partner matches, and the number of documents that match
// more sentences.
func (b *Bench) partnerShare(ctx context.Context, d Doc, partner concordat.DocumentID) (float64, int, error) {
	p, err := b.Profiler.Profile(concordat.Document{Text: d.Text}, nil)
	if err != nil {
		return 0, 0, err
	}
	q := b.query(p, concordat.ProbeOne, d.ID)
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
	hit, total := make([]bool, len(d.Text)), make([]bool, len(d.Text))
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

// query returns a query without sentences that excludes one document.
func (b *Bench) query(p *concordat.Profile, probe concordat.Probe, except string) *concordat.Query {
	return &concordat.Query{Scheme: p.Scheme, MaxDistance: profile.MaxGate, MaxHashes: b.Profiler.MaxHashes(), Probe: probe,
		Exclude: []concordat.Ref{{Site: "bench", Library: "library", Document: concordat.DocumentID(except)}}}
}

// clough reads the short answers of Clough and Stevenson (2011): the texts by name, the data on each (name, task, class), and the
// originals, which have class "orig".
func (c corpusDir) clough() (files map[string]string, rows [][]string, originals []Doc, err error) {
	files = map[string]string{}
	err = c.files("clough-stevenson/clough-stevenson-ace.tar.gz", func(name, text string) error {
		files[name[strings.LastIndexByte(name, '/')+1:]] = strings.ToValidUTF8(text, "\ufffd")
		return nil
	})
	if err != nil {
		return nil, nil, nil, err
	}
	rows, err = csv.NewReader(strings.NewReader(files["file_information.csv"])).ReadAll()
	if err != nil {
		return nil, nil, nil, err
	}
	rows = rows[1:]
	for _, row := range rows {
		if row[2] == "orig" {
			originals = append(originals, Doc{row[0], files[row[0]]})
		}
	}
	return files, rows, originals, nil
}

// shortAnswers checks Clough and Stevenson's answers against the originals of all tasks.
func shortAnswers(r *run) error {
	files, rows, library, err := r.corpora.clough()
	if err != nil {
		return err
	}
	b, err := r.bench(library)
	if err != nil {
		return err
	}
	for _, by := range []string{"fingerprints alone", "alignment with the task's original", "evidence in the report"} {
		var answers []labelled
		var features [][]float64
		var classes []int
		for _, row := range rows {
			class := slices.Index(answerClasses, row[2])
			if class < 0 {
				continue
			}
			d := Doc{row[0], files[row[0]]}
			share := 0.0
			switch by {
			case "alignment with the task's original":
				share = coveredShare(d.Text, files["orig_task"+row[1]+".txt"])
			case "fingerprints alone":
				share, _, err = b.partnerShare(r.ctx, d, concordat.DocumentID("orig_task"+row[1]+".txt"))
			default:
				f, e := b.Check(r.ctx, d)
				err = e
				if e == nil {
					share = report.Build(f, report.Rules{}).Scores.Covered
					features = append(features, literalness(f))
				}
			}
			if err != nil {
				return err
			}
			answers = append(answers, labelled{share, class > 0})
			classes = append(classes, class)
		}
		at, best := accuracies(answers, worthLook)
		r.figure(by, "accuracy of copied or not at a share of 0.1", at)
		r.figure(by, "best accuracy of copied or not", best)
		r.figure(by, "AUC of copied or not", auc(answers))
		for class, name := range answerClasses {
			r.figure(by, "mean share, "+name, meanOf(answers, func(i int) bool { return classes[i] == class }))
		}
		if features != nil {
			r.figure(by, "accuracy of the four classes, each answer left out", leftOut(answers, features, classes)).least(0.73, 0.73)
		}
	}
	r.find("evidence in the report", "accuracy of copied or not at a share of 0.1").least(0.96, 0.96)
	r.find("evidence in the report", "AUC of copied or not").least(0.98, 0.98)
	return nil
}

// coveredShare returns the proportion of a's bytes in passages that b also contains.
func coveredShare(a, b string) float64 {
	n, end := 0, 0
	for _, p := range align.Pair(align.Prepare(a), align.Prepare(b), align.Options{}) {
		from := max(p.A.Start, end)
		n += max(0, p.A.End-from)
		end = max(end, p.A.End)
	}
	return float64(n) / float64(len(a))
}

// answerClasses are the classes of Clough and Stevenson, the least copied first.
var answerClasses = []string{"non", "heavy", "light", "cut"}

// labelled is a value and its label.
type labelled struct {
	value    float64
	positive bool
}

// accuracies returns the proportion of correct answers if values of at least cut count as positive, and the best proportion for any cut.
func accuracies(xs []labelled, cut float64) (at, best float64) {
	right := func(cut float64) float64 {
		n := 0
		for _, x := range xs {
			if (x.value >= cut) == x.positive {
				n++
			}
		}
		return float64(n) / float64(max(len(xs), 1))
	}
	sorted := slices.Clone(xs)
	sort.Slice(sorted, func(i, j int) bool { return sorted[i].value < sorted[j].value })
	// With the cut at the i-th value, the positives before it and the negatives at or after it are wrong.
	wrong, n := 0, len(sorted)
	for _, x := range sorted {
		if !x.positive {
			wrong++
		}
	}
	best = float64(n-wrong) / float64(max(n, 1))
	for i, x := range sorted {
		if x.positive {
			wrong++
		} else {
			wrong--
		}
		if i+1 == n || sorted[i+1].value > x.value {
			best = max(best, float64(n-wrong)/float64(n))
		}
	}
	return right(cut), best
}

// auc returns the probability that a positive has a larger value than a negative, with ties counting half.
func auc(xs []labelled) float64 {
	sorted := slices.Clone(xs)
	sort.Slice(sorted, func(i, j int) bool { return sorted[i].value < sorted[j].value })
	negatives, pairs, sum := 0.0, 0.0, 0.0
	for i := 0; i < len(sorted); {
		j, p, q := i, 0.0, 0.0
		for ; j < len(sorted) && sorted[j].value == sorted[i].value; j++ {
			if sorted[j].positive {
				p++
			} else {
				q++
			}
		}
		sum += p * (negatives + q/2)
		pairs += p
		negatives += q
		i = j
	}
	if pairs == 0 || negatives == 0 {
		return 0
	}
	return sum / (pairs * negatives)
}

func meanOf(xs []labelled, in func(i int) bool) float64 {
	sum, n := 0.0, 0
	for i, x := range xs {
		if in(i) {
			sum += x.value
			n++
		}
	}
	return sum / float64(max(n, 1))
}
