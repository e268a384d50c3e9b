package report

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"concordat"
)

// Board is the summary of a report that fits on two pages for a committee: what was checked, what it was compared with, what counts, the
// largest passages, and what people decided. Every text is in the language of the report and bounded in number and size to fit on the
// pages; the full report has the rest.
type Board struct {
	Facts    [][2]string // names and values
	Compared []string    // sentences
	Counts   [][2]string // what counts and what does not, with figures
	Found    []string    // about flags and leads
	Passages []BoardPassage
	None     string   // why Passages is empty
	Decided  []string // decisions by people; empty before a verdict is given
	Verdicts []string // possible verdicts
}

// BoardPassage is one of the largest passages that count.
type BoardPassage struct {
	Number string
	Kind   string // how close it is to its source
	Size   string
	Source string // title of the document
	Place  string // where and when the source was published or stored
	Here   string // wording in the checked text
	There  string // wording in the source
	Shown  bool   // There contains wording; if false, it explains why none is shown
}

const (
	boardPassages  = 3
	boardWording   = 600 // maximum code points on each side of a passage
	boardName      = 80  // maximum code points of a name
	boardSentence  = 400 // maximum code points of a sentence
	boardLibraries = 6
	boardSilent    = 2 // maximum libraries named as incomplete
	boardReasons   = 3 // maximum reasons listed for passages that do not count
	boardDecided   = 6
)

// NewBoard returns the summary of a report.
func NewBoard(r *Report) Board {
	l := r.Language
	b := Board{Compared: boardCompared(r), Counts: boardCounts(r), Decided: r.ReviewWords()}
	if len(b.Decided) > boardDecided {
		more := len(b.Decided) - boardDecided + 1
		b.Decided = append(b.Decided[:boardDecided-1:boardDecided-1],
			l.Say("%s more, in the full report.", l.Plural(more, "entry", "entries")))
	}
	for i := range b.Decided {
		b.Decided[i] = shortly(b.Decided[i], boardSentence)
	}
	for _, code := range []string{"clear", "discuss", "suspected"} {
		b.Verdicts = append(b.Verdicts, l.Verdict(code))
	}
	made := ""
	if !r.Made.IsZero() {
		made = r.Made.UTC().Format(l.TimeLayout())
	}
	site := ""
	if r.Names.Site != "" {
		site = shortly(r.SiteName(r.Names.Site), boardName)
	}
	for _, f := range [][2]string{{"Site", site}, {"Made", made}, {"Document dated", string(r.Dated)},
		{"Length", l.Plural(r.Scores.Characters, "letter or digit", "letters and digits")}} {
		if f[1] != "" {
			b.Facts = append(b.Facts, [2]string{l.Say(f[0]), f[1]})
		}
	}
	for _, s := range []string{l.FlagsFound(FlagKinds(r)), r.LeadsFound()} {
		if s != "" {
			b.Found = append(b.Found, shortly(s, boardSentence))
		}
	}
	for _, i := range largest(r) {
		b.Passages = append(b.Passages, boardPassage(r, i))
	}
	if b.Passages == nil {
		b.None = l.Say(r.NoPassages())
		if len(r.Evidence) > 0 {
			b.None = l.Say("No passage counts.")
		}
	}
	return b
}

// PassagesTitle returns the heading of Passages, in English.
func (b Board) PassagesTitle() string {
	switch len(b.Passages) {
	case 0, 1:
		return "The largest passage"
	case boardPassages:
		return "The three largest passages"
	}
	return "The largest passages"
}

// BoardSignatures is the number of rows for signatures.
const BoardSignatures = 3

// BoardColumns returns the columns of the table of signatures, in English.
func BoardColumns() []string { return []string{"Name", "Role", "Date", "Handwritten signature"} }

// largest returns the largest passages that count, largest first; ties are in text order.
func largest(r *Report) []int {
	var all []int
	for i, e := range r.Evidence {
		if e.Excluded == "" {
			all = append(all, i)
		}
	}
	slices.SortStableFunc(all, func(a, b int) int { return cmp.Compare(r.Evidence[b].Characters, r.Evidence[a].Characters) })
	return all[:min(len(all), boardPassages)]
}

// boardCompared returns sentences that describe what was compared with what.
func boardCompared(r *Report) []string {
	l := r.Language
	out := []string{r.comparedWords()}
	var libraries, partners, silent []string // libraries that answered
	asked := map[string]bool{}
	for _, c := range r.Consulted {
		if c.Site == "" && c.Library == "" {
			continue
		}
		place := shortly(r.libraryPlace(c.Site, c.Library), boardName)
		asked[place] = true
		if !slices.Contains(libraries, place) && (c.Err == "" || c.Answered > 0) {
			libraries = append(libraries, place)
		}
		if name := shortly(r.SiteName(c.Site), boardName); atPartner(r, c.Site) && !slices.Contains(partners, name) {
			partners = append(partners, name)
		}
		if !Whole(c) {
			silent = append(silent, shortly(l.Say("%s: %s", place, l.Consulted(c)), boardSentence))
		}
	}
	switch {
	case len(r.Consulted) == 0:
		out = append(out, l.Say("No library is recorded as having been asked."))
	case len(asked) == 0:
		out = append(out, l.Say("The libraries are not shown."))
	case libraries == nil:
		out = append(out, l.Say("No library answered."))
	case len(libraries) < len(asked):
		out = append(out, l.Say("Compared with %s of %s: %s.", Thousands(l, len(libraries)), l.Plural(len(asked), "library", "libraries"),
			firstOf(l, libraries)))
	default:
		out = append(out, l.Say("Compared with %s: %s.", l.Plural(len(libraries), "library", "libraries"), firstOf(l, libraries)))
	}
	if partners != nil {
		out = append(out, l.Say("Partners asked: %s.", firstOf(l, partners)))
	}
	out = append(out, silent[:min(len(silent), boardSilent)]...)
	if more := len(silent) - boardSilent; more > 0 {
		out = append(out, l.Say("%s did not answer everything either; the full report names them.", l.Plural(more, "more library", "more libraries")))
	}
	if r.Forward == "none" {
		out = append(out, l.Say("No other site was asked."))
	}
	return append(out, l.Say("A passage without a mark was not found in the sources searched. That does not prove it original."))
}

// firstOf joins the first few names and adds the number of the others.
func firstOf(l Language, names []string) string {
	more := len(names) - boardLibraries
	if more > 0 {
		names = append(names[:boardLibraries:boardLibraries], l.Say("%s more", Thousands(l, more)))
	}
	return strings.Join(names, l.Say("; "))
}

// boardCounts returns what counts and what does not, with figures.
func boardCounts(r *Report) [][2]string {
	s, l := r.Scores, r.Language
	var out [][2]string
	row := func(name, value string) { out = append(out, [2]string{name, value}) }
	if !s.Measured() {
		return nil
	}
	row(l.Say("Found in other documents, counted"),
		l.Say("%s: %s word for word, %s changed", l.Percent(s.Covered), l.Percent(s.Verbatim), s.ChangedWords(l)))
	var groups []string
	for _, g := range ShownGroups(r) {
		groups = append(groups, l.Say("%s %s", GroupName(l, g.Group), GroupFigure(l, g)))
	}
	if groups != nil {
		row(l.Say("By citation"), strings.Join(groups, l.Say("; ")))
	}
	if s.Estimate != nil {
		row(l.Say("estimate"), l.Say("%s to %s", l.Percent(s.Estimate.Low), l.Percent(s.Estimate.High)))
	}
	if i := slices.IndexFunc(r.Sources, func(x RankedSource) bool { return x.Excluded == "" }); i >= 0 {
		row(l.Say("Largest single source"), l.Percent(s.Largest)+" · "+shortly(nameOf(r.Sources[i].Title, r.Sources[i].Ref), boardName))
	}
	if s.Undecided > 0 {
		row(l.Say("To be decided"), l.Percent(s.Undecided))
	}
	if r.scoresOnly() {
		return out
	}
	letters, places := map[concordat.Exclusion]int{}, map[concordat.Exclusion]int{}
	counted := 0
	for _, e := range r.Evidence {
		if e.Excluded == "" {
			counted++
			continue
		}
		letters[e.Excluded] += e.Span.Len()
		places[e.Excluded]++
	}
	sources := 0
	for _, x := range r.Sources {
		if x.Excluded == "" && len(x.Evidence) > 0 {
			sources++
		}
	}
	row(l.Say("Passages that count"), l.Say("%s of %s", Thousands(l, counted), Thousands(l, len(r.Evidence))))
	row(l.Say("Sources that count"), l.Say("%s of %s", Thousands(l, sources), Thousands(l, len(r.Sources))))
	var why []concordat.Exclusion
	for e := range places {
		why = append(why, e)
	}
	slices.SortFunc(why, func(a, b concordat.Exclusion) int {
		return cmp.Or(cmp.Compare(letters[b], letters[a]), cmp.Compare(a, b))
	})
	others := 0
	for i, e := range why {
		if i >= boardReasons {
			others += places[e]
			continue
		}
		row(l.Say("Not counted: %s", l.Exclusion(e)), l.Plural(places[e], "passage", "passages"))
	}
	if others > 0 {
		row(l.Say("Not counted for other reasons"), l.Plural(others, "passage", "passages"))
	}
	return out
}

// boardPassage returns passage i with the first of its counting sources.
func boardPassage(r *Report, i int) BoardPassage {
	e, l := r.Evidence[i], r.Language
	share := ""
	if r.Scores.Countable > 0 {
		share = l.Percent(float64(e.Characters) / float64(r.Scores.Countable))
	}
	p := BoardPassage{Number: r.Number(i), Kind: l.evidenceKind(e), Here: shortly(e.Span.In(r.Submission.Text), boardWording),
		Size: l.Say("%s, %s of what could count", l.Plural(e.Characters, "letter", "letters"), share)}
	k := slices.IndexFunc(e.Sources, func(s concordat.Source) bool { return s.Excluded == "" })
	if k < 0 {
		return p
	}
	s := e.Sources[k]
	p.Source, p.Place = shortly(nameOf(s.Title, s.Ref), boardName), shortly(SourcePlace(r, s.Ref), boardName)
	if more := len(e.Sources) - 1; more > 0 {
		p.Place += l.Say("; ") + l.Say("also in %s", l.Plural(more, "further source", "further sources"))
	}
	if date := l.DateWords(s.Age); date != "" {
		p.Place += l.Say("; ") + shortly(date, boardName)
	}
	var parts []string
	for _, x := range s.Parts {
		if text := cmp.Or(x.Text, SharedWords(r.Submission.Text, x)); strings.TrimSpace(text) != "" {
			parts = append(parts, strings.TrimSpace(text))
		}
	}
	if p.Shown = parts != nil; p.Shown {
		p.There = shortly(strings.Join(parts, " … "), boardWording)
		return p
	}
	p.There = l.Say("The wording of this source is not shown here.")
	return p
}

// nameOf returns a document's title, or its name if it has none.
func nameOf(title string, ref concordat.Ref) string {
	if strings.TrimSpace(title) != "" {
		return title
	}
	return string(ref.Document)
}

// shortly returns text on one line, truncated to n code points.
func shortly(s string, n int) string {
	s = strings.Join(strings.Fields(s), " ")
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	runes := []rune(s)
	return string(runes[:n]) + "…"
}
