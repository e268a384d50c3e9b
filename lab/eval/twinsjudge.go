package eval

import (
	"cmp"
	"encoding/json"
	"path"
	"slices"
	"unicode"

	"concordat"
)

// The criterion: a copying case is found if the copied text counts, or if a separate finding that counts or awaits a decision names the
// documents. The case is silent if it is not found and none of it is shown. An innocent document is accused by a pair that counts, by
// such a finding, or by the text that a report covers. The criterion judges what programs see, so that only information available to a
// user counts.

// line is a line of a batch, or a stretch of wording in a report, as programs see it.
type line struct {
	Type      string           `json:"type"`
	A         string           `json:"a"`
	B         string           `json:"b"`
	Kind      string           `json:"kind"`
	Documents names            `json:"documents"`
	Members   names            `json:"members"`
	Sources   names            `json:"sources"`
	Words     *int             `json:"words"`
	Share     float64          `json:"share"`
	Counted   bool             `json:"counted"`
	Decide    bool             `json:"decide"`
	ToDecide  bool             `json:"to_decide"`
	State     string           `json:"state"`
	Span      *concordat.Span  `json:"span"`
	Spans     []concordat.Span `json:"spans"`
}

// open reports whether a line counts or awaits a decision.
func (l *line) open() bool {
	return l.Counted || l.Decide || l.ToDecide || slices.Contains([]string{"open", "undecided", "to_decide", "undetermined"}, l.State)
}

// findings are the types of lines that are separate findings.
var findings = []string{"ring", "group", "wording", "finding", "section"}

// names returns the documents that a line names.
func (l *line) names() map[string]bool {
	out := map[string]bool{}
	for _, n := range slices.Concat(l.Documents, l.Members, l.Sources, names{l.A, l.B}) {
		if n != "" {
			out[path.Base(n)] = true
		}
	}
	return out
}

// places returns the spans of a stretch.
func (l *line) places() []concordat.Span {
	if l.Span != nil {
		return append([]concordat.Span{*l.Span}, l.Spans...)
	}
	return l.Spans
}

// twinReport is the part of a JSON report that the criterion reads. Spans are in code points.
type twinReport struct {
	Scores struct {
		Covered float64 `json:"covered"`
	} `json:"scores"`
	Sources []struct {
		Excluded string           `json:"excluded"`
		Held     []concordat.Span `json:"held"`
	} `json:"sources"`
	Evidence []struct {
		Sources []struct {
			Here  *concordat.Span `json:"here"`
			Parts []struct {
				Here *concordat.Span `json:"here"`
			} `json:"parts"`
		} `json:"sources"`
	} `json:"evidence"`
	Wording     []line `json:"wording"`
	Rings       []line `json:"rings"`
	Groups      []line `json:"groups"`
	Findings    []line `json:"findings"`
	SharedWorks []struct {
		Document string `json:"document"`
		Works    int    `json:"works"`
	} `json:"shared_works"`
}

// twinDoc is a document with its report.
type twinDoc struct {
	text   []rune
	report twinReport
}

// of counts the letters and digits that are in every given set.
func (d *twinDoc) of(sets ...[]bool) int {
	n := 0
letters:
	for i, r := range d.text {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			continue
		}
		for _, s := range sets {
			if !s[i] {
				continue letters
			}
		}
		n++
	}
	return n
}

func (d *twinDoc) set(spans ...concordat.Span) []bool {
	out := make([]bool, len(d.text))
	for _, s := range spans {
		for i := max(0, s.Start); i < min(s.End, len(out)); i++ {
			out[i] = true
		}
	}
	return out
}

// held returns the spans that count in sources.
func (d *twinDoc) held() []bool {
	var out []concordat.Span
	for _, s := range d.report.Sources {
		if s.Excluded == "" {
			out = append(out, s.Held...)
		}
	}
	return d.set(out...)
}

// shown returns what the report shows as found or shared, whether or not it counts.
func (d *twinDoc) shown() []bool {
	var out []concordat.Span
	add := func(s *concordat.Span) {
		if s != nil {
			out = append(out, *s)
		}
	}
	for _, e := range d.report.Evidence {
		for _, s := range e.Sources {
			add(s.Here)
			for _, p := range s.Parts {
				add(p.Here)
			}
		}
	}
	for _, w := range d.report.Wording {
		if w.Kind != string(concordat.KindQuotation) {
			out = append(out, w.places()...)
		}
	}
	shown, held := d.set(out...), d.held()
	for i := range shown {
		shown[i] = shown[i] || held[i]
	}
	return shown
}

// copied holds proportions for a document's copied places, according to its report.
type copied struct {
	doc            *twinDoc
	set            []bool
	letters        int
	part           float64 // proportion of the document that was copied
	counted, shown float64 // proportion of the copied places
	over           float64 // proportion of the document that counts but was not copied
}

func (d *twinDoc) copied(places [][2]int) copied {
	var spans []concordat.Span
	for _, p := range places {
		spans = append(spans, concordat.Span{Start: p[0], End: p[1]})
	}
	c := copied{doc: d, set: d.set(spans...)}
	c.letters = max(1, d.of(c.set))
	all, held := max(1, d.of()), d.held()
	share := func(n, of int) float64 { return float64(n) / float64(of) }
	both := d.of(c.set, held)
	c.part, c.counted, c.shown = share(c.letters, all), share(both, c.letters), share(d.of(c.set, d.shown()), c.letters)
	c.over = share(d.of(held)-both, all)
	return c
}

// found reports whether a stretch of the report that counts or awaits a decision covers half of the copied places and names a holder.
func (c *copied) found(holders map[string]bool) bool {
	r := &c.doc.report
	return slices.ContainsFunc(slices.Concat(r.Wording, r.Rings, r.Groups, r.Findings), func(l line) bool {
		return l.open() && anyOf(l.names(), holders) && float64(c.doc.of(c.set, c.doc.set(l.places()...))) >= wholeShare*float64(c.letters)
	})
}

// works reports whether the report names a holder with most of the entries of a list of references.
func (c *copied) works(holders map[string]bool, entries int) bool {
	for _, w := range c.doc.report.SharedWorks {
		if holders[path.Base(w.Document)] && float64(w.Works) >= 0.8*float64(entries) {
			return true
		}
	}
	return false
}

func anyOf(a, b map[string]bool) bool {
	for n := range a {
		if b[n] {
			return true
		}
	}
	return false
}

// holders returns the documents of a case, except one, and its sources.
func (c *twinCase) holders(without string) map[string]bool {
	out := map[string]bool{}
	for _, n := range slices.Concat(c.Docs, c.Sources) {
		out[n] = n != without
	}
	return out
}

// twinRow is the result for one or several scenarios.
type twinRow struct {
	family                        string
	guilty, found, listed, silent int
	innocent, accused, suspected  int
	worst                         float64 // maximum proportion of a document that counts but was not copied
}

// judge compares the observations with the truth.
func (s *twinScenario) judge(t *twinSeen) *twinRow {
	row := &twinRow{family: s.Family}
	pairs := map[[2]string]float64{}
	for _, l := range t.lines {
		if l.Type == "pair" && l.Counted {
			pairs[pair(l.A, l.B)] = l.Share
		}
	}
	for i := range s.Guilty {
		s.judgeCase(row, t, pairs, &s.Guilty[i])
	}
	share := s.accusations(t, pairs)
	for _, of := range s.Innocent {
		for _, n := range of.Docs {
			covered := t.docs[n].report.Scores.Covered
			if s.Mode == "lib" {
				share[n] = covered
			}
			row.innocent++
			if share[n] >= accused {
				row.accused++
			}
			if share[n] >= suspects {
				row.suspected++
			}
			row.worst = max(row.worst, covered)
		}
	}
	return row
}

// judgeCase judges one copying case.
func (s *twinScenario) judgeCase(row *twinRow, t *twinSeen, pairs map[[2]string]float64, c *twinCase) {
	var seen []copied
	own, works, counted, shown := true, c.Works, true, true
	words := 0
	for i, n := range c.Docs {
		one := t.docs[n].copied(c.Spans[n])
		seen = append(seen, one)
		own = own && one.found(c.holders(n))
		works = works && one.works(c.holders(n), len(c.Spans[n]))
		counted, shown = counted && one.counted >= wholeShare, shown && one.shown >= wholeShare
		row.worst = max(row.worst, one.over)
		if w := wordsIn(one.doc.text, one.set); i == 0 || w < words {
			words = w
		}
	}
	own = own || works || slices.ContainsFunc(t.lines, func(l line) bool {
		return slices.Contains(findings, l.Type) && l.open() && c.named(&l, words)
	})
	least, enough := 1.0, len(c.Docs) > 1
	for i := range c.Docs {
		for j := range i {
			share := pairs[pair(c.Docs[i], c.Docs[j])]
			least = min(least, share)
			enough = enough && share >= max(twinThreshold, wholeShare*min(seen[i].part, seen[j].part)) &&
				max(seen[i].counted, seen[j].counted) >= wholeShare
		}
	}
	if len(c.Docs) == 1 {
		least = t.docs[c.Docs[0]].report.Scores.Covered
	}
	found := own || enough || counted
	if c.Least > 0 {
		found = own || least >= c.Least
	}
	told := shown || slices.ContainsFunc(t.lines, func(l line) bool { return l.Type == "wording" && c.named(&l, words) })
	row.guilty++
	switch {
	case found:
		row.found++
	case !told:
		row.silent++
	}
	if own || least >= accused {
		row.listed++
	}
}

// named reports whether a line names the documents of the case, few others, and at least half of the copied words.
func (c *twinCase) named(l *line, words int) bool {
	of := l.names()
	if len(c.Docs) == 1 {
		if !anyOf(of, c.holders(c.Docs[0])) {
			return false
		}
	} else if len(of) > max(len(c.Docs)+2, len(c.Docs)*3/2) {
		return false
	}
	for _, n := range c.Docs {
		if !of[n] {
			return false
		}
	}
	return l.Words == nil || 2**l.Words >= words
}

// accusations returns, for each document, the largest proportion at which a pair or a separate finding names it with documents that
// neither copied from it nor were copied by it.
func (s *twinScenario) accusations(t *twinSeen, pairs map[[2]string]float64) map[string]float64 {
	out := map[string]float64{}
	accuse := func(of map[string]bool, share float64) {
		for i := range s.Guilty {
			those := s.Guilty[i].holders("")
			inside := true
			for n := range of {
				inside = inside && those[n]
			}
			if inside {
				return
			}
		}
		for n := range of {
			out[n] = max(out[n], share)
		}
	}
	for p, share := range pairs {
		accuse(map[string]bool{p[0]: true, p[1]: true}, share)
	}
	for _, l := range t.lines {
		if !slices.Contains(findings, l.Type) || !l.open() {
			continue
		}
		of, shortest := l.names(), 0
		for n := range of {
			if d := t.docs[n]; d != nil {
				shortest = cmp.Or(min(cmp.Or(shortest, len(d.text)), wordsIn(d.text, nil)), 1)
			}
		}
		share := l.Share
		if share == 0 && l.Words != nil {
			share = float64(*l.Words) / float64(max(1, shortest))
		}
		accuse(of, share)
	}
	return out
}

// wordsIn counts the words of a text that begin within a set, or all of them; a Han character is a word.
func wordsIn(text []rune, set []bool) int {
	n, within := 0, false
	for i, r := range text {
		han := unicode.Is(unicode.Han, r)
		letter := unicode.IsLetter(r) || unicode.IsDigit(r)
		if (han || letter && !within) && (set == nil || set[i]) {
			n++
		}
		within = letter && !han
	}
	return n
}

// sumTwins adds up the rows of each family, and all rows.
func sumTwins(rows []*twinRow) (all *twinRow, families []*twinRow) {
	all = &twinRow{family: "all"}
	by := map[string]*twinRow{}
	for _, r := range rows {
		if by[r.family] == nil {
			by[r.family] = &twinRow{family: r.family}
			families = append(families, by[r.family])
		}
		for _, to := range []*twinRow{by[r.family], all} {
			to.guilty, to.found, to.listed, to.silent = to.guilty+r.guilty, to.found+r.found, to.listed+r.listed, to.silent+r.silent
			to.innocent, to.accused, to.suspected = to.innocent+r.innocent, to.accused+r.accused, to.suspected+r.suspected
			to.worst = max(to.worst, r.worst)
		}
	}
	slices.SortFunc(families, func(a, b *twinRow) int { return cmp.Compare(a.family, b.family) })
	return all, families
}

// names are the documents of a line, given by name or as objects with a name.
type names []string

// UnmarshalJSON decodes a list of names or objects; a number, for example the count of documents in reports, yields none.
func (n *names) UnmarshalJSON(b []byte) error {
	*n = nil
	var list []json.RawMessage
	if json.Unmarshal(b, &list) != nil {
		return nil
	}
	for _, x := range list {
		var name string
		var of struct {
			Document string `json:"document"`
			Name     string `json:"name"`
		}
		if json.Unmarshal(x, &name) != nil && json.Unmarshal(x, &of) == nil {
			name = cmp.Or(of.Document, of.Name)
		}
		*n = append(*n, name)
	}
	return nil
}
