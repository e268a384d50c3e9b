package pdf

import (
	"encoding/hex"
	"strconv"
	"strings"
	"time"

	"concordat"
	"concordat/report"
)

func (d *doc) time(t time.Time) string {
	if t.IsZero() {
		return "–"
	}
	return t.UTC().Format("2006-01-02 15:04 UTC")
}

// front starts the full report by identifying the submission.
func (d *doc) front() {
	d.heading("Full report")
	r := d.r
	facts := [][2]string{{"Site", d.o.Site}, {"Document", string(r.Submission.ID)},
		{"Authors", report.AuthorWords(r.Authors)}, {"Made", d.time(r.Made)},
		{"Document dated", string(r.Dated)},
		{"Length", d.in.Plural(r.Scores.Characters, "letter or digit", "letters and digits")},
		{"Passages", r.Count(len(r.Evidence))}, {"Sources", r.Count(len(r.Sources))}, {"Task", string(r.Task)}, {"SHA-256 of the text", r.Digest}}
	d.facts(facts)
}

// facts writes names and values, omitting names without a value.
func (d *doc) facts(facts [][2]string) {
	for _, f := range facts {
		if f[1] == "" {
			continue
		}
		li := d.at.last("L").child("LI")
		d.columns(sizeText, []float64{margin, margin + 110}, [][][]piece{
			lines(d.pieces([]run{{d.in.Say(f[0]), textStyle{size: sizeText, grey: true}}}), 104),
			lines(d.pieces([]run{body(f[1])}), textWidth-110)}, []*element{li.child("Lbl"), li.child("LBody")})
	}
	d.y += 4
}

// result writes the scores.
func (d *doc) result() {
	s := d.r.Scores
	d.y += 6
	big := d.in.Say("not measured")
	if s.Measured() {
		big = d.in.Percent(s.Covered)
	}
	d.para(margin, textWidth, run{big, textStyle{size: 30, bold: true}})
	d.y += 2
	d.para(margin, textWidth, strong(d.r.Headline()))
	d.y += 2
	d.text(d.r.Reading())
	if c := d.r.Conclusion(); c != "" {
		d.y += 2
		d.text(c)
	}
	if s.Measured() {
		d.scores()
	}
	d.sections()
	d.flags()
}

func (d *doc) sections() {
	var rows [][]string
	for _, s := range d.r.Sections {
		share, why := d.in.Say("not measured"), ""
		if s.Checked > 0 {
			share = d.in.Percent(s.Share)
		}
		if s.Excluded {
			why = d.in.Say("excluded by a rule")
		}
		rows = append(rows, []string{s.Name, share, why})
	}
	if rows != nil {
		d.table(d.in.Say("By section"), []float64{0.5, 0.2, 0.3}, nil, rows)
	}
}

// flags lists the flags by kind: first the kinds that can conceal something, then notes about the file.
func (d *doc) flags() {
	heads := map[bool]string{true: d.in.Say("Flags"), false: d.in.Say("Notes about the file")}
	for i, k := range report.FlagKinds(d.r) {
		if i == 0 || heads[k.Disguise] != "" {
			d.sub(heads[k.Disguise])
			heads[k.Disguise] = ""
		}
		runs := []run{strong(d.in.FlagTitle(k)), body(". " + d.in.FlagMeans(k))}
		if advice := d.in.FlagAdvice(k); advice != "" {
			runs = append(runs, body(" "+advice))
		}
		for n, s := range k.Places[:min(len(k.Places), 3)] {
			if n == 0 {
				runs = append(runs, body(" "+d.in.Say("in the text:")))
			}
			runs = append(runs, body(" “"+shorten(s.In(d.full), 60)+"”"))
		}
		d.item(runs...)
	}
}

// later lists the matching documents added since.
func (d *doc) later() {
	words := d.r.LaterWords()
	if len(words) == 0 {
		return
	}
	d.heading("Found since then")
	for _, s := range words {
		d.item(body(s))
	}
}

// notes writes people's decisions and comments.
func (d *doc) notes() {
	if len(d.o.Notes) == 0 && d.r.Review == nil {
		return
	}
	d.heading("Verdict and comments")
	for _, s := range d.r.ReviewWords() {
		d.item(body(s))
	}
	var verdict *Note
	var signed []string
	for i, n := range d.o.Notes {
		switch n.Kind {
		case NoteVerdict:
			verdict, signed = &d.o.Notes[i], nil
		case NoteSignOff:
			signed = append(signed, d.r.Names.Person(n.By))
		}
	}
	switch {
	case d.r.Review != nil: // people's decisions were already written
	case verdict == nil:
		d.text(d.in.Say("No verdict has been given yet."))
	case signed == nil:
		d.para(margin, textWidth, strong(d.in.Verdict(verdict.Verdict)), body(" · "+d.in.Say("It has not been signed off yet.")))
	default:
		d.para(margin, textWidth, strong(d.in.Verdict(verdict.Verdict)), body(" · "+d.in.Say("Signed off by %s.", strings.Join(signed, ", "))))
	}
	d.y += 4
	for _, n := range d.o.Notes {
		what := d.in.Say("comment")
		if n.Place.Len() > 0 {
			if number := d.r.NumberAt(n.Place); number != "" {
				what = d.in.Say("comment on passage %s", number)
			}
		}
		switch n.Kind {
		case NoteVerdict:
			what = d.in.Say("verdict: %s", d.in.Verdict(n.Verdict))
		case NoteSignOff:
			what = d.in.Say("agrees with the verdict")
		}
		d.room(30)
		d.para(margin, textWidth, faint(d.r.Names.Person(n.By)+", "+d.time(n.At)+": "+what))
		if n.Text != "" {
			d.para(margin, textWidth, wording([]run{body(n.Text)})...)
		}
		d.y += 4
	}
}

// coverage describes what the report is based on.
func (d *doc) coverage() {
	d.heading("What was checked, and what was not")
	for _, s := range d.r.Statement() {
		d.item(body(s))
	}
	var rows [][]string
	for _, c := range d.r.Consulted {
		rows = append(rows, []string{d.r.SiteName(c.Site), d.r.LibraryWords(c.Site, c.Library), report.Thousands(d.in, c.Asked),
			report.Thousands(d.in, c.Answered), d.in.Consulted(c)})
	}
	if rows != nil {
		d.table(d.in.Say("Libraries asked"), []float64{0.2, 0.16, 0.12, 0.12, 0.4},
			[]string{"Site", "Library", "Sentences asked", "Answered", "Remarks"}, rows)
	}
}

// sources lists the source documents, largest share first.
func (d *doc) sources() {
	d.heading("Sources")
	if len(d.r.Sources) == 0 {
		d.note(d.r.NoSources())
		return
	}
	d.note("Each source with its share of the text that could count. Shares overlap where sources contain the same passage.")
	if rest := report.UncountedSources(d.r); rest != "" {
		d.text(d.in.Say("%s. They are at the end.", rest))
	}
	var rows [][]string
	for _, s := range d.r.Sources {
		about := ""
		if s.Excluded != "" {
			about = d.in.Say("Not counted: %s. ", d.in.Exclusion(s.Excluded))
		}
		if s.Estimate != nil {
			about += capital(d.in.Estimated(s.Estimate)) + d.in.Say("; ")
		}
		about += d.in.Say("%s, %s word for word", d.in.Plural(s.Characters, "letter", "letters"), d.in.Percent(s.Verbatim))
		if s.Excluded == "" {
			about += d.in.Say(", %s in no other source", d.in.Percent(s.Alone))
		}
		rows = append(rows, []string{s.Letter(), d.in.Percent(s.Share), name(s.Title, s.Ref) + "\n" + report.SourcePlace(d.r, s.Ref), about,
			d.numbers(s.Evidence)})
	}
	d.table("", []float64{0.06, 0.1, 0.42, 0.24, 0.18}, []string{"No.", "Share", "Source", "Of this share", "Passages"}, rows)
}

// maxNumbers is the maximum number of passages listed next to a source.
const maxNumbers = 40

// numbers formats passage numbers as a list, for example 1, 4–7, 9b.
func (d *doc) numbers(evidence []int) string {
	follows := func(a, b string) bool {
		m, err := strconv.Atoi(a)
		n, err2 := strconv.Atoi(b)
		return err == nil && err2 == nil && n == m+1
	}
	var out []string
	for i := 0; i < len(evidence); {
		j := i
		for j+1 < len(evidence) && follows(d.r.Number(evidence[j]), d.r.Number(evidence[j+1])) {
			j++
		}
		if len(out) == maxNumbers {
			return strings.Join(append(out, "…"), ", ")
		}
		s := d.r.Number(evidence[i])
		if j > i {
			s += "–" + d.r.Number(evidence[j])
		}
		out = append(out, s)
		i = j + 1
	}
	return strings.Join(out, ", ")
}

// name returns a source's title, or its location if it has none.
func name(title string, r concordat.Ref) string {
	if strings.TrimSpace(title) != "" {
		return title
	}
	return string(r.Document)
}

// leads writes the leads, sentence by sentence.
func (d *doc) leads() {
	if d.r.Leads == nil {
		return
	}
	d.heading("Leads")
	if len(d.r.Leads) == 0 {
		d.note(report.NoLeads)
	} else {
		d.note(report.LeadMeaning)
		d.text(d.r.LeadsMeasured())
		if means := report.LikelihoodMeaning(d.r); means != "" {
			d.text(means)
		}
	}
	if sought := report.LeadsSought(d.r); sought != "" {
		d.text(sought)
	}
	if counted := d.r.CountedLeads(); counted != "" {
		d.para(margin, textWidth, strong(counted))
	}
	if shown := d.r.LeadsShown(); shown != "" {
		d.text(shown)
	}
	for _, l := range d.r.Leads {
		if !d.r.ShowsLead(l) {
			continue
		}
		d.para(margin, textWidth, strong(l.Number+" · "+name(l.Title, l.Source)+" "), body(d.r.LeadWords(l.Lead)))
		if likely := d.r.LikelihoodWords(l.Lead); likely != "" {
			d.text(likely)
		}
		if own := d.in.OwnWords(l.Own); own != "" {
			d.text(own)
		}
		if ruling := d.r.RulingWords(l); ruling != "" {
			d.para(margin, textWidth, wording([]run{body(ruling)})...)
		}
		if l.State == report.LeadSetAside {
			continue
		}
		var rows [][]string
		for _, p := range l.Pairs {
			rows = append(rows, []string{strings.TrimSpace(p.Span.In(d.r.Submission.Text)), strings.TrimSpace(p.Text)})
		}
		d.table(d.in.Say("Pairs of a lead"), []float64{0.5, 0.5}, []string{"Checked text", "Source text"}, rows)
	}
	d.partnerLeads()
}

// partnerLeads lists partner documents that might say the same, with only the sentences of the checked text.
func (d *doc) partnerLeads() {
	if len(d.r.PartnerLeads) == 0 {
		return
	}
	d.note(report.PartnerLeadMeaning)
	for _, l := range d.r.PartnerLeads {
		d.para(margin, textWidth, strong(l.Number+" · "+name(l.Title, l.Source)+" "), body(d.r.PartnerLeadWords(l)))
		for _, s := range l.Spans {
			d.para(margin, textWidth, wording([]run{body(strings.TrimSpace(s.In(d.r.Submission.Text)))})...)
		}
	}
}

// short lists titles, headings and answers that other documents also contain.
func (d *doc) short() {
	s := d.r.Short
	if s == nil {
		return
	}
	d.heading("Short texts")
	d.note("Titles, headings and answers too short to be checked as sentences. They are weak evidence, have a separate figure, and are not part of the shares above.")
	d.para(margin, textWidth, strong(d.in.Say("%s of %s", report.Thousands(d.in, s.Found),
		d.in.Plural(s.Asked, "compared short text", "compared short texts"))+" "),
		body(d.in.Say(s.Stand())))
	var rows [][]string
	for _, p := range s.Pieces {
		for i, m := range p.Sources[:min(len(p.Sources), shortSources)] {
			here := ""
			if i == 0 {
				here = strings.TrimSpace(p.Text)
				if p.Span.Len() == 0 {
					here += d.in.Say(" (title)")
				}
				if p.Excluded != "" {
					here += d.in.Say("; not counted: %s", d.in.Exclusion(p.Excluded))
				}
			}
			place := name(m.Title, m.Source) + "\n" + m.Source.String()
			if m.Documents > 1 {
				place += d.in.Say("; in %s", d.in.Plural(m.Documents, "document", "documents"))
			}
			rows = append(rows, []string{here, m.Text, d.in.ShortCloseness(m.Similarity), place, d.in.DateWords(m.Age)})
		}
		if more := len(p.Sources) - shortSources; more > 0 {
			rows = append(rows, []string{"", d.in.Say("and %s", d.in.Plural(more, "more source", "more sources")), "", "", ""})
		}
	}
	if rows == nil {
		d.note("No short text was found.")
		return
	}
	d.table(d.in.Say("Short texts found"), []float64{0.24, 0.24, 0.12, 0.25, 0.15},
		[]string{"Checked text", "Source text", "How close", "Source", "Date"}, rows)
}

// shortSources is the number of sources listed for one short text.
const shortSources = 5

// method lists the rules of the report.
func (d *doc) method() {
	r := d.r
	d.heading("Method, rules and how to verify")
	d.facts([][2]string{{"Fingerprint scheme", string(r.Scheme)},
		{"Look-ups", d.in.Say(map[string]string{"exact": "exact bands", "one": "every band, and every band with one changed hash"}[r.Probe])},
		{"Sent to other sites", d.in.Say(r.Forward)}, {"Threshold", d.in.Percent(r.Threshold)},
		{"Program", strings.TrimSpace("Concordat " + d.o.Program)}})
	d.sub(d.in.Say("Rules"))
	for _, s := range r.RuleWords() {
		d.item(body(s))
	}
	d.excluded()
	d.sub(d.in.Say("What the share means"))
	for _, s := range report.ShareMeaning(r) {
		d.item(body(s))
	}
	d.paragraph("How the shares are counted", "The share that counts is the number of matching letters and digits, divided by the number that could count; other shares are of all that were compared. An accent or other mark that is a separate character counts as a letter.",
		"Passages of one source that lie close together are joined; passages that overlap are one passage with several sources, so nothing is counted twice.",
		"Rules take passages out of the count. Text that a rule excludes whatever its source, such as a template, a form or a list of references, could not have counted at all: leaving it out can raise the share that counts, but never the share of the whole text. Positions are Unicode code points of the text, from 0.")
	for _, s := range r.Statements {
		d.para(margin, textWidth, faint(d.in.SignedAnswer(s)))
	}
	var rows [][]string
	for _, s := range r.Signatures {
		rows = append(rows, []string{string(s.Site), s.Over, s.Key, hex.EncodeToString(s.Value)})
	}
	if rows != nil {
		d.table(d.in.Say("Signatures"), []float64{0.2, 0.15, 0.25, 0.4}, []string{"Site", "Over", "Key", "Signature"}, rows)
	}
}

// paragraph writes a heading and sentences below it.
func (d *doc) paragraph(heading string, sentences ...string) {
	d.sub(d.in.Say(heading))
	said := make([]string, len(sentences))
	for i, s := range sentences {
		said[i] = d.in.Say(s)
	}
	d.text(d.in.Join(said))
}

func (d *doc) excluded() {
	d.byHand("Passages excluded by hand", d.r.Rules.ExcludePassages)
	counted := make([]report.ExcludedPassage, len(d.r.Rules.CountWording))
	for i, w := range d.r.Rules.CountWording {
		counted[i] = report.ExcludedPassage(w)
	}
	d.byHand("Shared wording counted by hand", counted)
	var rows [][]string
	for i, e := range d.r.Evidence {
		if e.Excluded != "" {
			rows = append(rows, []string{d.r.Number(i), shorten(e.Span.In(d.full), 60), d.r.WhyNot(e)})
		}
	}
	if rows != nil {
		d.table(d.in.Say("Passages that do not count"), []float64{0.1, 0.5, 0.4}, []string{"No.", "Words", "Reason"}, rows)
	}
}

// byHand lists decisions about individual passages, if any.
func (d *doc) byHand(caption string, passages []report.ExcludedPassage) {
	var rows [][]string
	for _, p := range passages {
		s := d.clip(p.Span)
		at := d.count.Points(s)
		on := ""
		if !p.At.IsZero() {
			on = d.time(p.At)
		}
		rows = append(rows, []string{d.in.Say("%s to %s", report.Thousands(d.in, at.Start), report.Thousands(d.in, at.End)),
			shorten(s.In(d.full), 80),
			p.Comment, d.r.Names.Person(p.By), on})
	}
	if rows != nil {
		d.table(d.in.Say(caption), []float64{0.15, 0.3, 0.25, 0.14, 0.16}, []string{"Place", "Words", "Reason", "By", "On"}, rows)
	}
}

// verifying explains how to check that the file is unchanged.
func (d *doc) verifying() {
	d.paragraph("To verify", "Extract the text of the same file and compare its SHA-256. Check it again with the scheme and rules above: the same libraries give the same passages.",
		"The report in JSON is attached to this file. The command concordat report verify FILE.pdf checks the attachment, the pages and their signature, and names what was changed.")
	if d.o.Signing == "" {
		d.note("This file is not signed.")
	} else {
		d.y += 3
		d.text(d.in.Say("Every byte of this file is signed: %s. A PDF reader shows the signature, but cannot tell whether the certificate is the site's own.", d.o.Signing))
	}
	if d.escaped > 0 {
		d.y += 3
		d.text(d.in.Say("Characters that this file cannot show appear as their code point in a box, such as [U+3400]: %s. The attached JSON has the characters themselves.",
			d.in.Plural(d.escaped, "place", "places")))
	}
}

// clip returns the part of s within the text, limited to whole runes.
func (d *doc) clip(s concordat.Span) concordat.Span {
	s.Start = report.RuneStart(d.full, min(max(s.Start, 0), len(d.full)))
	s.End = report.RuneStart(d.full, max(min(s.End, len(d.full)), s.Start))
	return s
}

// standing returns the report's name for the status of evidence that does not count.
func (d *doc) standing(e concordat.Evidence) string {
	if e.Excluded != "" {
		return d.in.Say(". Not counted: %s.", d.r.WhyNot(e))
	}
	return d.in.Say(", %s.", d.in.Plural(e.Characters, "letter counts", "letters count"))
}
