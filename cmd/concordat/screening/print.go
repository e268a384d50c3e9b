package screening

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"concordat"
	"concordat/cmd/cli"
	"concordat/report"
	"concordat/screen"
)

type screenPair struct {
	Type         string               `json:"type"`
	A            concordat.DocumentID `json:"a"`
	B            concordat.DocumentID `json:"b"`
	LibraryA     concordat.LibraryID  `json:"a_library"`
	LibraryB     concordat.LibraryID  `json:"b_library"`
	SiteB        concordat.SiteID     `json:"b_site,omitempty"` // the partner that has it; b is then the partner's handle for the document
	Method       string               `json:"method"`
	Resemblance  float64              `json:"resemblance"`
	ContainmentA *float64             `json:"containment_a"` // the share of A that counts as found in B; null if unknown
	ContainmentB *float64             `json:"containment_b"`
	// Measured reports whether the shares come from checks; otherwise they are estimates with bounds.
	Measured bool           `json:"measured"`
	WithinA  *report.Bounds `json:"containment_a_within,omitempty"`
	WithinB  *report.Bounds `json:"containment_b_within,omitempty"`
	Low      *float64       `json:"resemblance_low,omitempty"` // 95 % confidence interval of an estimate
	High     *float64       `json:"resemblance_high,omitempty"`
	// OneSided reports that the partner did not disclose the length of its document. The resemblance is then containment_a.
	OneSided bool             `json:"one_sided,omitempty"`
	Sections []screenSections `json:"sections,omitempty"` // with a template
	a, b     int              // indices in docs
	link     float64          // the value used to cluster documents and to let one represent another
}

// screenSections states how much of a section of one document is in a section of another, in letters and digits and as a share of the
// section.
type screenSections struct {
	A            string  `json:"a"`
	B            string  `json:"b"`
	CoveredA     int     `json:"covered_a"`
	CoveredB     int     `json:"covered_b"`
	ContainmentA float64 `json:"containment_a"`
	ContainmentB float64 `json:"containment_b"`
}

type screenMember struct {
	Site     concordat.SiteID     `json:"site,omitempty"` // the partner that has it
	Library  concordat.LibraryID  `json:"library"`
	Document concordat.DocumentID `json:"document"`
}

// screenNode is a document in a cluster with its likely origin, the most similar earlier document among its pairs.
type screenNode struct {
	screenMember
	Title           string        `json:"title,omitempty"`
	Date            time.Time     `json:"date"`
	From            *screenMember `json:"from,omitempty"`
	FromResemblance float64       `json:"from_resemblance,omitempty"`
	doc             int
}

type screenCluster struct {
	Type           string       `json:"type"`
	Representative screenMember `json:"representative"`
	Oldest         screenMember `json:"oldest"`
	Documents      []screenNode `json:"documents"`
	oldest         int          // index in docs
}

// screenRemoval is a document that is represented by another one, which is kept.
type screenRemoval struct {
	Type string `json:"type"`
	screenMember
	Kept        screenMember `json:"kept"`
	Resemblance float64      `json:"resemblance"`
	doc         int
}

type screenSummary struct {
	Type       string              `json:"type"`
	Library    concordat.LibraryID `json:"library"`
	Against    concordat.LibraryID `json:"against,omitempty"`
	Method     string              `json:"method"`
	Threshold  float64             `json:"threshold"`
	Documents  int                 `json:"documents"`
	Distinct   int                 `json:"distinct"`   // texts after the exact pass
	Compared   int                 `json:"compared"`   // distinct texts that the method could compare
	Unread     int                 `json:"unread"`     // documents that could not be read
	Resumed    int                 `json:"resumed"`    // documents prepared by an interrupted run
	Candidates int                 `json:"candidates"` // measured pairs
	Common     int                 `json:"common"`     // features too common for comparing all their documents with one another
	Folded     int                 `json:"folded"`     // omitted pairs of copies; each copy is paired only with the first one
	Pairs      int                 `json:"pairs"`
	Beyond     int                 `json:"beyond"` // pairs omitted because of --top
	Clusters   int                 `json:"clusters"`
	Removable  int                 `json:"removable"` // documents that are represented by another one

	// The remaining fields apply only to screenings across sites.

	Sent     int      `json:"sent,omitempty"`     // sentences disclosed to partners as keyed fingerprints
	Withheld int      `json:"withheld,omitempty"` // sentences not sent because the partner has them in another form
	Hidden   int      `json:"hidden,omitempty"`   // texts for which a partner has something similar but does not disclose it
	Refused  []string `json:"refused,omitempty"`  // partners' libraries that were not compared, with the reason
}

// Preferences for which of several near-copies to keep.
const (
	keepOldest  = "oldest"
	keepNewest  = "newest"
	keepLongest = "longest"
	keepCentral = "central"
)

var keeps = []string{keepOldest, keepNewest, keepLongest, keepCentral}

// screenResults are the results to print.
type screenResults struct {
	pairs    []screenPair
	clusters []screenCluster
	removals []screenRemoval
}

func (s *screening) member(doc int) screenMember {
	d := &s.docs[doc]
	return screenMember{d.Site, d.Library, d.ID}
}

// results expands pairs of texts to pairs of documents, and clusters them.
func (s *screening) results(dates map[concordat.DocumentID]time.Time) *screenResults {
	var r screenResults
	add := func(a, b int, p screenPair) {
		p.Type, p.a, p.b = "pair", a, b
		p.A, p.LibraryA, p.B, p.LibraryB, p.SiteB = s.docs[a].ID, s.docs[a].Library, s.docs[b].ID, s.docs[b].Library, s.docs[b].Site
		r.pairs = append(r.pairs, p)
	}
	s.exact(add)
	for _, p := range s.pairs {
		s.expand(p, add)
	}
	slices.SortFunc(r.pairs, func(x, y screenPair) int {
		return cmp.Or(cmp.Compare(y.Resemblance, x.Resemblance), cmp.Compare(rankOf(x.Method), rankOf(y.Method)), cmp.Compare(x.a, y.a),
			cmp.Compare(x.b, y.b))
	})
	date := func(d int) time.Time {
		if t, ok := dates[s.docs[d].ID]; ok {
			return t
		}
		return s.docs[d].Added
	}
	before := func(a, b int) bool {
		x, y := date(a), date(b)
		if x.IsZero() != y.IsZero() { // a partner need not disclose dates
			return y.IsZero()
		}
		return cmp.Or(x.Compare(y), cmp.Compare(a, b)) < 0
	}
	links := make([]screen.Link, len(r.pairs))
	count := make([]int, len(s.docs))
	clusters := screen.NewClusters(len(s.docs))
	for i, p := range r.pairs {
		links[i] = screen.Link{A: p.a, B: p.b, Resemblance: p.link}
		count[p.a]++
		count[p.b]++
		clusters.Join(p.a, p.b)
	}
	r.clusters = s.clusters(clusters.Groups(), screen.Lineage(len(s.docs), links, before), links, date, before)
	if s.abroad == nil { // a partner's documents do not justify removals here
		r.removals = s.removals(links, s.preferred(before, count))
	}
	s.sum.Pairs, s.sum.Clusters, s.sum.Removable = len(r.pairs), len(r.clusters), len(r.removals)
	if s.top > 0 {
		r.pairs = topPairs(r.pairs, s.top)
		s.sum.Beyond = s.sum.Pairs - len(r.pairs)
	}
	return &r
}

// topPairs returns the pairs that are among the first most pairs of either document. The pairs are in decreasing order of resemblance.
func topPairs(pairs []screenPair, most int) []screenPair {
	count := map[int]int{}
	return slices.DeleteFunc(pairs, func(p screenPair) bool {
		count[p.a]++
		count[p.b]++
		return count[p.a] > most && count[p.b] > most
	})
}

// rankOf ranks exact values above measured ones.
func rankOf(method string) int {
	if method == methodExact {
		return 0
	}
	return 1
}

// exact adds the pairs of documents with identical text.
func (s *screening) exact(add func(a, b int, p screenPair)) {
	one := 1.0
	p := screenPair{Method: methodExact, Resemblance: one, ContainmentA: &one, ContainmentB: &one, Measured: true, link: one}
	for i := range s.texts {
		t := &s.texts[i]
		if !s.self {
			s.product(t.members[0], t.members[1], func(a, b int) { add(a, b, p) })
			continue
		}
		all := t.members[0]
		for i, a := range all {
			if i > 0 && len(all) > maxFolded {
				s.sum.Folded += len(all) - i - 1
				continue
			}
			for _, b := range all[i+1:] {
				add(int(a), int(b), p)
			}
		}
	}
}

// expand expands a pair of texts to the pairs of their documents.
func (s *screening) expand(f foundPair, add func(a, b int, p screenPair)) {
	x, y := &s.texts[f.A], &s.texts[f.B]
	p := screenPair{Method: s.Method, Resemblance: f.Resemblance, Sections: f.Sections, Measured: f.Measured, link: f.Resemblance}
	if f.Measured { // texts that share everything that counts can still differ elsewhere
		p.link = min(f.Found, f.Resemblance)
	}
	if f.Within != nil {
		p.WithinA, p.WithinB = &f.Within[0], &f.Within[1]
	}
	if f.Contained != nil {
		p.ContainmentA, p.ContainmentB = &f.Contained[0], &f.Contained[1]
	}
	if p.OneSided = f.OneSided; p.OneSided {
		p.ContainmentB, p.WithinB = nil, nil
	}
	if f.Interval != nil {
		p.Low, p.High = &f.Interval[0], &f.Interval[1]
	}
	swapped := p
	swapped.ContainmentA, swapped.ContainmentB = p.ContainmentB, p.ContainmentA
	swapped.WithinA, swapped.WithinB = p.WithinB, p.WithinA
	swapped.Sections = nil
	for _, o := range f.Sections {
		swapped.Sections = append(swapped.Sections, screenSections{o.B, o.A, o.CoveredB, o.CoveredA, o.ContainmentB, o.ContainmentA})
	}
	if s.self {
		s.product(x.members[0], y.members[0], func(a, b int) {
			if a > b {
				add(b, a, swapped)
			} else {
				add(a, b, p)
			}
		})
		return
	}
	s.product(x.members[0], y.members[1], func(a, b int) { add(a, b, p) })
	s.product(y.members[0], x.members[1], func(a, b int) { add(a, b, swapped) })
}

// product calls each for every pair of documents. If there are very many copies, it calls each only for pairs that include the first
// document of either side.
func (s *screening) product(as, bs []int32, each func(a, b int)) {
	for i, a := range as {
		for j, b := range bs {
			if i > 0 && j > 0 && len(as)*len(bs) > maxFolded*maxFolded {
				s.sum.Folded += len(bs) - j
				break
			}
			each(int(a), int(b))
		}
	}
}

func (s *screening) clusters(groups [][]int, from []int, links []screen.Link, date func(int) time.Time,
	before func(a, b int) bool) []screenCluster {
	like := map[[2]int]float64{} // pairs of documents, one derived from the other
	for _, l := range links {
		if from[l.A] == l.B || from[l.B] == l.A {
			like[[2]int{l.A, l.B}] = l.Resemblance
		}
	}
	var out []screenCluster
	for _, g := range groups {
		c := screenCluster{Type: "cluster", Representative: s.member(g[0])}
		oldest := g[0]
		for _, d := range g {
			if before(d, oldest) {
				oldest = d
			}
			n := screenNode{screenMember: s.member(d), Title: s.docs[d].Title, Date: date(d), doc: d}
			if f := from[d]; f >= 0 {
				m := s.member(f)
				n.From, n.FromResemblance = &m, like[[2]int{min(d, f), max(d, f)}]
			}
			c.Documents = append(c.Documents, n)
		}
		c.Oldest, c.oldest = s.member(oldest), oldest
		out = append(out, c)
	}
	return out
}

// preferred returns the documents in order of preference for keeping them. Documents of the other library come first, since that library
// must not be changed.
func (s *screening) preferred(before func(a, b int) bool, links []int) func(a, b int) bool {
	return func(a, b int) bool {
		x, y := &s.docs[a], &s.docs[b]
		order := cmp.Compare(y.Side, x.Side)
		switch {
		case order != 0:
		case s.keep == keepLongest:
			order = cmp.Compare(y.Letters, x.Letters)
		case s.keep == keepCentral:
			order = cmp.Compare(links[b], links[a])
		case s.keep == keepNewest:
			return before(b, a)
		}
		return order < 0 || order == 0 && before(a, b)
	}
}

func (s *screening) removals(links []screen.Link, preferred func(a, b int) bool) []screenRemoval {
	like := map[[2]int]float64{}
	for _, l := range links {
		if l.Resemblance >= s.removal {
			like[[2]int{l.A, l.B}] = l.Resemblance
		}
	}
	var out []screenRemoval
	for d, kept := range screen.Removable(len(s.docs), links, s.removal, preferred) {
		if kept >= 0 && s.docs[d].Side == 0 {
			out = append(out, screenRemoval{Type: "removable", screenMember: s.member(d), Kept: s.member(kept),
				Resemblance: like[[2]int{min(d, kept), max(d, kept)}], doc: d})
		}
	}
	return out
}

func (a *commands) printScreened(s *screening, r *screenResults) error {
	if a.JSON {
		return screenLines(s, r, a.Line)
	}
	a.Say("resemblance  in a  in b  method       a and b")
	for _, p := range r.pairs {
		about := " "
		if !p.Measured {
			about = "~"
		}
		a.Say("%10.0f%% %s%s %s%s  %-11s  %s  %s", 100*p.Resemblance, about, cli.Percent(p.ContainmentA), about, cli.Percent(p.ContainmentB),
			p.Method, p.A, s.name(p.b))
		for _, o := range p.Sections {
			a.Say("%13s%.0f%% of %s in %s (%.0f%% of that)", "", 100*o.ContainmentA, o.A, o.B, 100*o.ContainmentB)
		}
	}
	for i, c := range r.clusters {
		var ids []string
		for _, m := range c.Documents[:min(10, len(c.Documents))] {
			ids = append(ids, s.name(m.doc))
		}
		more := ""
		if n := len(c.Documents) - len(ids); n > 0 {
			more = fmt.Sprintf(" and %d more", n)
		}
		a.Say("cluster %d: %d documents, oldest %s, representative first: %s%s", i+1, len(c.Documents), s.name(c.oldest),
			strings.Join(ids, ", "), more)
	}
	t := s.sum
	near := ""
	if t.Method == methodSimhash {
		near = fmt.Sprintf(", at most %d bits apart", s.Print.Distance)
	}
	a.Say("%s at or above threshold %.2f%s (method %s, after a pass for identical texts) in %s; there are %s with %s, %d of which the method can compare",
		number(t.Pairs, "pair"), t.Threshold, near, t.Method, number(t.Clusters, "cluster"), number(t.Documents, "document"),
		number(t.Distinct, "distinct text"), t.Compared)
	if t.Method == methodShort && t.Compared < t.Distinct {
		a.Say("texts of more than 200 letters are compared only as a whole; other methods find the passages that two such texts share")
	}
	if t.Beyond > 0 {
		a.Say("%s of lower resemblance omitted because of --top %d", number(t.Beyond, "pair"), s.top)
	}
	if t.Folded > 0 {
		a.Say("%d further pairs of copies are not listed: if a text has more than %d copies, each copy is paired only with the first", t.Folded, maxFolded)
	}
	if s.abroad != nil {
		a.Say("%d sentences were shown to partners as keyed fingerprints, %d were withheld; for %d texts, partners have similar text that they do not show", t.Sent, t.Withheld, t.Hidden)
	}
	if t.Removable > 0 {
		a.Say("%s could be removed by keeping only the %s of documents that resemble one another by %.2f or more; nothing was removed", number(t.Removable, "document"),
			s.keep, s.removal)
	}
	if s.out != "" {
		a.Say("results written to %s", s.out)
	}
	return nil
}

// number formats a count of things in words.
func number(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}

// name returns a document's display name. For a partner's document it is the title, since the handle means nothing to users.
func (s *screening) name(doc int) string {
	d := &s.docs[doc]
	if d.Site == "" {
		return string(d.ID)
	}
	return fmt.Sprintf("%s: %s", s.place(d.Site, d.Library), cmp.Or(d.Title, string(d.ID)))
}

// screenLines calls line for each line of the JSON output.
func screenLines(s *screening, r *screenResults, line func(any) error) error {
	for i := range r.pairs {
		if err := line(&r.pairs[i]); err != nil {
			return err
		}
	}
	for i := range r.clusters {
		if err := line(&r.clusters[i]); err != nil {
			return err
		}
	}
	for i := range r.removals {
		if err := line(&r.removals[i]); err != nil {
			return err
		}
	}
	return line(s.sum)
}

// readDates reads lines of DOCUMENT TAB DATE. An empty path means that there is no file.
func readDates(path string) (map[concordat.DocumentID]time.Time, error) {
	if path == "" {
		return nil, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, cli.Usage(err)
	}
	defer f.Close()
	out := map[concordat.DocumentID]time.Time{}
	in := bufio.NewScanner(f)
	for n := 1; in.Scan(); n++ {
		id, date, ok := strings.Cut(strings.TrimSuffix(in.Text(), "\r"), "\t")
		t, err := parseDay(strings.TrimSpace(date))
		if !ok || err != nil {
			return nil, cli.Usagef("%s line %d: want DOCUMENT TAB DATE, where DATE is a date such as 2019, 2019-05 or 2019-05-31, or an RFC 3339 time", path, n)
		}
		out[concordat.DocumentID(id)] = t
	}
	if err := in.Err(); err != nil && !errors.Is(err, io.EOF) {
		return nil, cli.Usagef("%s: %w", path, err)
	}
	return out, nil
}

func parseDay(s string) (t time.Time, err error) {
	for _, form := range []string{time.RFC3339, time.DateOnly, "2006-01", "2006"} {
		if t, err = time.Parse(form, s); err == nil {
			return t, nil
		}
	}
	return t, err
}
