package report

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"unicode"

	"concordat"
)

// textWidth is the width of the text form in columns.
const textWidth = 78

// WriteSummary writes the result in a few lines for a terminal: the headline, the scores, the largest sources and what was not measured.
// Nothing in a report can control the terminal.
func WriteSummary(w io.Writer, r *Report) error {
	t := textWriter{bufio.NewWriter(w), r.Language}
	t.summary(r, 5)
	return t.Flush()
}

// WriteText writes the whole report as plain text: the summary, every passage with its sources, the statement and the rules.
func WriteText(w io.Writer, r *Report) error {
	t := textWriter{bufio.NewWriter(w), r.Language}
	t.summary(r, len(r.Sources))
	if words := r.LaterWords(); len(words) > 0 {
		t.heading(t.Say("Found since then"))
		for _, s := range words {
			t.wrap("- ", s)
		}
	}
	t.heading(t.Say("Passages"))
	count := NewCounter(r.Submission.Text)
	for i, e := range r.Evidence {
		if !Folded(e.Excluded) {
			t.evidence(r, count, i, e)
		}
	}
	if rest := UncountedWords(r); rest != "" {
		t.wrap("", rest)
		t.WriteString("\n")
		for i, e := range r.Evidence {
			if Folded(e.Excluded) {
				t.evidence(r, count, i, e)
			}
		}
	}
	if len(r.Evidence) == 0 {
		t.wrap("", t.Say(r.NoPassages()))
	}
	t.leads(r, count)
	t.short(r, count)
	t.heading(t.Say("What the words mean"))
	for _, k := range append(t.Kinds(), t.Steps()...) {
		t.wrap("- ", t.Say("%s: %s", k.Name, k.Words))
	}
	t.heading(t.Say("What the share means"))
	for _, s := range ShareMeaning(r) {
		t.wrap("- ", s)
	}
	t.heading(t.Say("What was checked, and what was not"))
	for _, s := range r.Statement() {
		t.wrap("- ", s)
	}
	t.heading(t.Say("Rules and method"))
	for _, s := range r.RuleWords() {
		t.wrap("- ", s)
	}
	for _, p := range r.Rules.ExcludePassages {
		at := count.Points(clip(r.Submission.Text, p.Span))
		t.wrap("- ", t.Say("Excluded by hand: characters %d to %d. %s %s", at.Start, at.End, p.Comment, by(p)))
	}
	for _, w := range r.Rules.CountWording {
		at := count.Points(clip(r.Submission.Text, w.Span))
		t.wrap("- ", t.Say("Counted by hand: characters %d to %d. %s %s", at.Start, at.End, w.Comment, by(ExcludedPassage(w))))
	}
	t.wrap("- ", t.Say("Scheme: %s. Look-ups: %s. Threshold: %s.", r.Scheme, t.Say(r.Probe), t.Percent(r.Threshold)))
	t.wrap("- ", t.Say("SHA-256 of the text: %s", r.Digest))
	t.wrap("- ", t.Say("Positions are Unicode code points of the text, from 0."))
	for _, s := range r.Signatures {
		t.wrap("- ", t.Say("Signed by %s over %s with key %s: %x", s.Site, s.Over, s.Key, s.Value))
	}
	for _, s := range r.Statements {
		t.wrap("- ", t.SignedAnswer(s))
	}
	return t.Flush()
}

func by(p ExcludedPassage) string {
	var parts []string
	if p.By != "" {
		parts = append(parts, p.By)
	}
	if !p.At.IsZero() {
		parts = append(parts, p.At.UTC().Format("2006-01-02"))
	}
	if len(parts) == 0 {
		return ""
	}
	return "(" + strings.Join(parts, ", ") + ")"
}

type textWriter struct {
	*bufio.Writer
	Language
}

// line writes one line of the summary.
func (t textWriter) line(s string) { t.WriteString("  " + s + "\n") }

func (t textWriter) notCounted(why string) string {
	return t.Say("; not counted: %s", why)
}

func (t textWriter) heading(s string) {
	fmt.Fprintf(t, "\n%s\n%s\n", s, strings.Repeat("-", columns(s)))
}

// summary writes the result with at most n sources.
func (t textWriter) summary(r *Report, n int) {
	title := r.Submission.Title
	if title == "" {
		title = string(r.Submission.ID)
	}
	t.wrap("", title)
	t.wrap("", r.Headline())
	if c := r.Conclusion(); c != "" {
		t.WriteString("\n")
		t.wrap("", c)
	}
	s := r.Scores
	if s.Measured() {
		t.WriteString("\n")
		t.line(t.Say("covered %s (word for word %s, changed %s), largest source %s", t.Percent(s.Covered), t.Percent(s.Verbatim),
			s.ChangedWords(t.Language), t.Percent(s.Largest)))
		if s.Countable < s.Checked {
			t.line(t.Say("%s of the whole text; %s of the compared letters could count", t.Percent(s.Whole),
				t.Percent(float64(s.Countable)/float64(s.Checked))))
		}
		var groups []string
		for _, g := range ShownGroups(r) {
			groups = append(groups, t.Say("%s %s", GroupName(t.Language, g.Group), GroupFigure(t.Language, g)))
		}
		if groups != nil {
			t.wrap("  ", strings.Join(groups, t.Say("; ")))
		}
		if s.Undecided > 0 {
			t.line(t.Say("%s to be decided: a form, or copied? Share if it counts: %s", t.Percent(s.Undecided), t.Percent(s.IfCounted)))
		}
		if counted := r.CountedLeads(); counted != "" {
			t.wrap("  ", counted)
		}
		t.line(t.Say("in quotations %s, common wording %s, excluded by rules %s", t.Percent(s.Quoted), t.Percent(s.Common), t.Percent(s.ByRules())))
		reached := ""
		if r.Reached() {
			reached = t.Say(", reached")
		}
		t.line(t.Say("compared %s of %s letters and digits; threshold %s%s", Thousands(t.Language, r.Account.Compared),
			Thousands(t.Language, r.Account.File), t.Percent(r.Threshold), reached))
	}
	if open := r.OpenLeads(); open != "" {
		t.wrap("  ", open)
	}
	for _, x := range append(r.shownWithout(), r.shortStatement()...) {
		t.wrap("  ", x)
	}
	t.shortSources(r, n)
	for i, x := range r.Sources[:min(n, len(r.Sources))] {
		if i == 0 {
			t.WriteString("\n")
		}
		note := ""
		switch {
		case x.Excluded != "":
			note = t.notCounted(t.Exclusion(x.Excluded))
		case x.Estimate != nil:
			note = t.Say("; ") + t.Estimated(x.Estimate)
		}
		t.wrap(fmt.Sprintf("  %6s  ", t.Percent(x.Share)), fmt.Sprintf("%s (%s%s)", x.Title, r.Place(x.Ref), note))
		for _, more := range []string{AlsoWords(r, x), strings.Join(x.Addresses(), " "), t.OwnWords(x.Own)} {
			if more != "" {
				t.wrap("          ", more)
			}
		}
	}
	if more := len(r.Sources) - n; more > 0 {
		t.WriteString("          " + t.Say("and %s", t.Plural(more, "more source", "more sources")) + "\n")
	}
	for _, x := range r.Sections {
		share := t.Say("not measured")
		if x.Checked > 0 {
			share = t.Percent(x.Share)
		}
		t.wrap("  "+t.Say("section")+" ", t.Say("%s: %s", x.Name, share))
	}
	for i, k := range FlagKinds(r) {
		if i == 0 {
			t.WriteString("\n")
		}
		t.wrap("  ! ", strings.TrimSpace(t.Say("%s. %s", t.FlagTitle(k), t.Join([]string{t.FlagMeans(k), t.FlagAdvice(k)}))))
	}
	for _, c := range r.Consulted {
		if !Whole(c) {
			t.wrap("  ! ", t.Say("%s: %s", r.libraryPlace(c.Site, c.Library), t.Consulted(c)))
		}
	}
}

func (t textWriter) evidence(r *Report, count *Counter, i int, e concordat.Evidence) {
	at := count.Points(e.Span)
	note := ""
	if e.Excluded != "" {
		note = t.notCounted(r.WhyNot(e))
	}
	t.wrap(fmt.Sprintf("[%s] ", r.Number(i)), t.Say("%s, characters %d to %d%s", t.evidenceKind(e), at.Start, at.End, note))
	t.wrap("    ", e.Span.In(r.Submission.Text))
	for _, s := range e.Sources {
		note := ""
		if s.Excluded != "" && e.Excluded == "" {
			note = t.notCounted(t.Exclusion(s.Excluded))
		}
		t.wrap("    <- ", t.Say("%s (%s): %s%s", s.Title, r.Place(s.Ref), SourceKind(t.Language, s), note))
		t.wrap("       ", t.DateWords(s.Age))
		if words := r.SourceWords(s.Ref); words != "" {
			t.wrap("       ", words)
		}
		for _, p := range s.Parts {
			switch shared := SharedWords(r.Submission.Text, p); {
			case p.Text != "":
				t.wrap("       ", p.Text)
			case shared != "":
				t.wrap("       ", t.Say("words in common: %s", shared))
			default:
				t.wrap("       ", t.Say("(wording not shown)"))
			}
		}
	}
	t.WriteString("\n")
}

// shortSources writes the names of at most n documents with counting short texts, most texts first.
func (t textWriter) shortSources(r *Report, n int) {
	sources := r.Short.sources()
	for _, x := range sources[:min(n, len(sources))] {
		t.wrap("          ", fmt.Sprintf("%s (%s): %s", x.title, r.Place(x.ref), t.Plural(x.pieces, "short text", "short texts")))
	}
	if more := len(sources) - n; more > 0 {
		t.WriteString("          " + t.Say("and %s", t.Plural(more, "more source", "more sources")) + "\n")
	}
}

// short writes the short texts that were found.
func (t textWriter) short(r *Report, count *Counter) {
	if r.Short == nil {
		return
	}
	t.heading(t.Say("Short texts"))
	for _, p := range r.Short.Pieces {
		note := ""
		if p.Excluded != "" {
			note = t.notCounted(t.Exclusion(p.Excluded))
		}
		place := t.Say("title")
		if p.Span.Len() > 0 {
			at := count.Points(clip(r.Submission.Text, p.Span))
			place = t.Say("characters %d to %d", at.Start, at.End)
		}
		t.wrap("- ", t.Say("“%s” (%s)%s", strings.TrimSpace(p.Text), place, note))
		for _, s := range p.Sources {
			t.wrap("    <- ", t.Say("“%s”, %s (%s): %s, %s", s.Text, s.Title, s.Source, t.ShortCloseness(s.Similarity), t.DateWords(s.Age)))
		}
	}
	if len(r.Short.Pieces) == 0 {
		t.wrap("", t.Say("No short text was found."))
	}
}

// leads writes the leads.
func (t textWriter) leads(r *Report, count *Counter) {
	if r.Leads == nil {
		return
	}
	t.heading(t.Say("Leads"))
	if len(r.Leads) == 0 {
		t.wrap("", t.Say(NoLeads))
	} else {
		t.wrap("", t.Say(LeadMeaning))
		t.wrap("", r.LeadsMeasured())
		if means := LikelihoodMeaning(r); means != "" {
			t.wrap("", means)
		}
	}
	if sought := LeadsSought(r); sought != "" {
		t.wrap("", sought)
	}
	if shown := r.LeadsShown(); shown != "" {
		t.wrap("", shown)
	}
	for _, l := range r.Leads {
		if !r.ShowsLead(l) {
			continue
		}
		at := count.Points(l.Span)
		t.wrap("["+l.Number+"] ", t.Say("characters %d to %d", at.Start, at.End)+" <- "+t.Say("%s (%s)", l.Title, r.Place(l.Source))+": "+
			r.LeadWords(l.Lead))
		if likely := r.LikelihoodWords(l.Lead); likely != "" {
			t.wrap("    ", likely)
		}
		if own := t.OwnWords(l.Own); own != "" {
			t.wrap("    ", own)
		}
		if ruling := r.RulingWords(l); ruling != "" {
			t.wrap("    ", ruling)
		}
		if l.State == LeadSetAside {
			continue
		}
		for _, p := range l.Pairs {
			t.wrap("    ", strings.TrimSpace(p.Span.In(r.Submission.Text)))
			if p.Text != "" {
				t.wrap("      <- ", strings.TrimSpace(p.Text))
			}
		}
	}
	t.partnerLeads(r, count)
}

// partnerLeads writes partner documents that might say the same.
func (t textWriter) partnerLeads(r *Report, count *Counter) {
	if len(r.PartnerLeads) == 0 {
		return
	}
	t.wrap("", t.Say(PartnerLeadMeaning))
	for _, l := range r.PartnerLeads {
		at := count.Points(l.Span())
		t.wrap("["+l.Number+"] ", t.Say("characters %d to %d", at.Start, at.End)+" <- "+t.Say("%s (%s)", l.Title, r.Place(l.Source))+": "+
			r.PartnerLeadWords(l))
		for _, s := range l.Spans {
			t.wrap("    ", strings.TrimSpace(s.In(r.Submission.Text)))
		}
	}
}

// wrap writes s in lines of textWidth columns; the first begins with lead, the others with white space of the same width. Line breaks in
// s become spaces; control characters and direction changes become U+FFFD.
func (t textWriter) wrap(lead, s string) {
	t.WriteString(lead)
	indent := strings.Repeat(" ", columns(lead))
	at := len(indent)
	start := true
	for word := range strings.FieldsSeq(inert(s)) {
		n := columns(word)
		if !start && at+1+n > textWidth && (n <= textWidth-len(indent) || !breakable(word)) {
			t.WriteString("\n" + indent)
			at, start = len(indent), true
		}
		if !start {
			t.WriteString(" ")
			at++
		}
		at = t.word(word, at, indent)
		start = false
	}
	t.WriteString("\n")
}

// word writes one word, breaking it between wide characters if it exceeds the margin.
func (t textWriter) word(word string, at int, indent string) int {
	for _, r := range word {
		n := runeColumns(r)
		if at+n > textWidth && n == 2 && !strings.ContainsRune("，。、；：？！”’」』）》", r) {
			t.WriteString("\n" + indent)
			at = len(indent)
		}
		t.WriteRune(r)
		at += n
	}
	return at
}

func breakable(word string) bool {
	for _, r := range word {
		if runeColumns(r) == 2 {
			return true
		}
	}
	return false
}

// inert returns s without terminal control sequences.
func inert(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return ' '
		case unicode.IsControl(r), r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069:
			return unicode.ReplacementChar
		}
		return r
	}, s)
}

func columns(s string) int {
	n := 0
	for _, r := range s {
		n += runeColumns(r)
	}
	return n
}

// runeColumns returns the number of terminal columns that r occupies, precisely enough for wrapping: two for East Asian wide characters
// (Unicode Standard Annex 11), none for marks.
func runeColumns(r rune) int {
	switch {
	case unicode.Is(unicode.Mn, r):
		return 0
	case r >= 0x1100 && r <= 0x115f, r >= 0x2e80 && r <= 0x303e, r >= 0x3041 && r <= 0xa4cf, r >= 0xac00 && r <= 0xd7a3,
		r >= 0xf900 && r <= 0xfaff, r >= 0xfe30 && r <= 0xfe6f, r >= 0xff00 && r <= 0xff60, r >= 0xffe0 && r <= 0xffe6, r >= 0x1f300 &&
			r <= 0x1f64f, r >= 0x20000 && r <= 0x3fffd:
		return 2
	}
	return 1
}
