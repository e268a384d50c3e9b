package eval

import (
	"slices"
	"strings"
	"unicode"

	"concordat"
	"concordat/report"
)

// innocentRow holds the results of one mode in one scenario.
type innocentRow struct {
	scenario, mode string
	documents      int
	pairs          int // pairs that could be accused: of two documents, or of one and a library's
	false30        int // pairs listed at 0.3 that are not real copies
	false10        int // the same at 0.1; with a library: sources at 0.03
	missed, copies int // real copies that are not listed, and all real copies at 0.1
	strong         int // number of these copies listed at 0.3; with a library, nothing is listed
	over, alien    []float64
	copied, found  int // number of really copied letters, and number of these covered by reports
	passages       []judgedPassage
	common         []float64
	template       []float64
	quoted         []float64
}

// judgedPassage is one passage of a report and the source's passage.
type judgedPassage struct {
	Scenario  string         `json:"scenario"`
	Mode      string         `json:"mode"`
	A         string         `json:"a"`
	B         string         `json:"b"`
	True      bool           `json:"true_pair"` // whether B is a partner in a real copy
	Kind      concordat.Kind `json:"kind"`
	Documents int            `json:"documents"` // number of documents with its wording
	Words     int            `json:"words"`     // on A's side
	Bare      int            `json:"bare"`      // of these, words not aligned with an equal word on B's side
	Long      int            `json:"long"`      // of these, words in runs of more than 25 words (40 Han characters)
	Outside   int            `json:"outside"`   // letters on A's side that were not copied from anyone
	Alien     int            `json:"alien"`     // of these, letters outside forms, references and similar
	Here      string         `json:"here"`
	There     string         `json:"there"`
	Span      concordat.Span `json:"span"` // in bytes of A
}

// mark sets the letters within the spans.
func (d *innocentDoc) mark(set []bool, spans []concordat.Span) {
	for _, s := range spans {
		i, _ := slices.BinarySearch(d.letters, s.Start)
		for ; i < len(d.letters) && d.letters[i] < s.End; i++ {
			set[i] = true
		}
	}
}

// within returns which letters are within the spans.
func (d *innocentDoc) within(spans []concordat.Span) []bool {
	set := make([]bool, len(d.letters))
	d.mark(set, spans)
	return set
}

// copiedFrom returns which letters were really copied from or by any of the partners.
func (d *innocentDoc) copiedFrom(partners map[string]bool) []bool {
	set := make([]bool, len(d.letters))
	for name, spans := range d.copied {
		if partners[name] {
			d.mark(set, spans)
		}
	}
	return set
}

// counted returns the spans of all sources that count.
func counted(rep *report.Report) []concordat.Span {
	var out []concordat.Span
	for _, s := range rep.Sources {
		if s.Excluded == "" {
			out = append(out, s.Held...)
		}
	}
	return out
}

// judge compares a document's report with the truth, letter by letter. partners are the documents that it was compared with, since text
// copied from others cannot be found.
func (row *innocentRow) judge(d *innocentDoc, rep *report.Report, partners map[string]bool) {
	covered, copied, legit := d.within(counted(rep)), d.copiedFrom(partners), d.within(d.legit)
	over, alien := 0, 0
	for i := range d.letters {
		if copied[i] {
			row.copied++
		}
		switch {
		case covered[i] && copied[i]:
			row.found++
		case covered[i]:
			over++
			if !legit[i] {
				alien++
			}
		}
	}
	n := float64(max(1, len(d.letters)))
	row.over, row.alien = append(row.over, float64(over)/n), append(row.alien, float64(alien)/n)
	row.common = append(row.common, rep.Scores.Common)
	row.template = append(row.template, rep.Scores.Template)
	row.quoted = append(row.quoted, rep.Scores.Quoted)
	row.read(d, rep, copied, legit)
}

// read records the passages that count in a report.
func (row *innocentRow) read(d *innocentDoc, rep *report.Report, copied, legit []bool) {
	for _, e := range rep.Evidence {
		for _, s := range e.Sources {
			if e.Excluded != "" || s.Excluded != "" {
				continue
			}
			for _, p := range s.Parts {
				one := judgedPassage{Scenario: row.scenario, Mode: row.mode, A: d.name, B: string(s.Document), Kind: p.Kind, Documents: s.Documents(),
					Here: p.Span.In(rep.Submission.Text), There: p.Text, Span: p.Span}
				_, one.True = d.copied[one.B]
				for i, in := range d.within([]concordat.Span{p.Span}) {
					if in && !copied[i] {
						one.Outside++
						if !legit[i] {
							one.Alien++
						}
					}
				}
				row.passages = append(row.passages, one)
			}
		}
	}
}

// pair returns two names in order.
func pair(a, b string) [2]string {
	if b < a {
		a, b = b, a
	}
	return [2]string{a, b}
}

// judgePairs compares the listed pairs of documents with the real copies among the compared documents, using the larger proportion of
// each pair. A copy of less than a tenth of either text need not be listed.
func (row *innocentRow) judgePairs(listed map[[2]string]float64, copies []innocentCopy, compared map[string]bool) {
	real := map[[2]string]bool{}
	for _, c := range copies {
		if !compared[c.A] || !compared[c.B] {
			continue
		}
		p := pair(c.A, c.B)
		real[p] = true
		if c.share() >= 0.1 {
			row.copies++
			if listed[p] < 0.1 {
				row.missed++
			}
			if listed[p] >= 0.3 {
				row.strong++
			}
		}
	}
	for p, share := range listed {
		if real[p] {
			continue
		}
		if share >= 0.3 {
			row.false30++
		}
		if share >= 0.1 {
			row.false10++
		}
	}
}

// judgeSources compares a check's sources with the partners of real copies among the compared documents. An innocent source of 3 % or
// more counts in both columns.
func (row *innocentRow) judgeSources(d *innocentDoc, rep *report.Report, compared map[string]bool) {
	shares := map[string]float64{}
	for _, s := range rep.Sources {
		if s.Excluded == "" {
			shares[string(s.Document)] = s.Share
		}
	}
	for name := range d.copied {
		if compared[name] {
			row.copies++
			if _, ok := shares[name]; !ok {
				row.missed++
			}
		}
	}
	for name, share := range shares {
		if d.copied[name] == nil && share >= 0.03 {
			row.false30++
			row.false10++
		}
	}
}

// measureBare computes how much of each passage is not aligned with an equal word on the source's side. If there are more than most
// passages, it takes an even sample and returns only that.
func measureBare(ps []judgedPassage, most int) []judgedPassage {
	if len(ps) > most {
		some := make([]judgedPassage, most)
		for i := range some {
			some[i] = ps[i*len(ps)/most]
		}
		ps = some
	}
	for i := range ps {
		p := &ps[i]
		p.Words, p.Bare, p.Long = bare(p.Here, p.There)
	}
	return ps
}

// bareText is the maximum text per side to compare word by word, in bytes.
const bareText = 12000

// bare returns the number of words of here, the number not aligned with an equal word of there, and how many of these are in runs of more
// than 25 (40 in text that is mostly Han characters). It aligns two consecutive equal words, and a single one that is not among the most
// common.
func bare(here, there string) (words, alone, long int) {
	a, b := looseWords(here), looseWords(there)
	if len(a) == 0 {
		return 0, 0, 0
	}
	aligned := make([]bool, len(a))
	for _, x := range equalBlocks(a, b) {
		if x.n == 1 && commonestWords[a[x.a]] {
			continue
		}
		for i := range x.n {
			aligned[x.a+i] = true
		}
	}
	han := 0
	for _, w := range a {
		if isHan([]rune(w)[0]) {
			han++
		}
	}
	most := 25
	if 2*han > len(a) {
		most = 40
	}
	run := 0
	for i := 0; i <= len(a); i++ {
		if i < len(a) && !aligned[i] {
			run++
			continue
		}
		alone += run
		if run > most {
			long += run
		}
		run = 0
	}
	return len(a), alone, long
}

// looseWords returns the words of a text's first bareText bytes, in lower case; each Han character is a word.
func looseWords(text string) []string {
	if len(text) > bareText {
		text = strings.ToValidUTF8(text[:bareText], "")
	}
	var out []string
	var word strings.Builder
	end := func() {
		if word.Len() > 0 {
			out = append(out, word.String())
			word.Reset()
		}
	}
	for _, r := range text {
		switch {
		case isHan(r):
			end()
			out = append(out, string(r))
		case isLetter(r):
			word.WriteRune(unicode.ToLower(r))
		default:
			end()
		}
	}
	end()
	return out
}

// isHan reports whether r is a Chinese character of the common planes.
func isHan(r rune) bool { return r >= 0x3400 && r <= 0x9fff }

// commonestWords are words with little meaning: a single equal one is not significant.
var commonestWords = func() map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields(`a an the and or but nor of in on at to by for from with as is are was were be been has have had
		do does did will would can could may might must shall should not no it its this that these those he she they we you i his her their our your
		which who whom whose what when where if than then so such all any more most other also
		的 地 得 了 着 过 在 是 和 与 及 或 而 且 但 不 也 就 都 其 之 以 为 于 者 有 把 被`) {
		out[w] = true
	}
	return out
}()
