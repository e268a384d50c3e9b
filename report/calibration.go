package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"concordat"
	"concordat/report/language"
)

// Rate counts the documents of one kind, and how many of them scored at least 0.1 and at least 0.3 when measured.
type Rate struct {
	Batch     bool   // documents of a batch were compared with each other; otherwise, each with a library
	Language  string // en or zh; empty for English, Chinese and German together
	Class     string // see Calibration
	Documents int
	Tenth     int // documents scoring 0.1 or more
	Third     int // documents scoring 0.3 or more
}

// Calibration returns how the document score performed on documents known to reuse, or not to reuse, text from the library. In classes
// without reuse, clean documents share no long run of words with the library. Near documents are clean documents on the library's
// subjects and from the same kind of page, which are the hard cases. Forms legitimately share forms, declarations, statutes, quotations
// and reference lists. In classes with reuse, at least a tenth of each document is reused. Reworded documents were copied, edited,
// back-translated, or reworded by programs or people. Copied forms also share forms. Condensed documents summarise a source (a tenth to
// three tenths of it). Machine documents were rewritten by a language model. doc/evaluation/score.md names the corpora and the command; a
// test compares it with this table.
func Calibration() []Rate {
	return []Rate{
		{false, "en", "clean", 1492, 5, 2},
		{false, "en", "near", 119, 3, 1},
		{false, "zh", "clean", 288, 0, 0},
		{false, "", "forms", 367, 0, 0},
		{false, "en", "reworded", 497, 496, 465},
		{false, "zh", "reworded", 102, 99, 88},
		{false, "", "copied forms", 71, 70, 53},
		{false, "en", "condensed", 148, 41, 0},
		{false, "", "machine", 19, 0, 0},
		{true, "", "forms", 367, 0, 0},
		{true, "", "copied forms", 71, 70, 53},
	}
}

// leadRates counts leads in measurements: leads outside reworded passages, documents that have a lead although they share only forms and
// subjects, and leads between answers to the same question that people wrote independently. If the number of documents is zero, nothing
// was measured. doc/evaluation/meaning.md names the corpora and the command; a test compares it with these figures.
type leadRates struct {
	outside, leads     int
	innocent, document int
	answered, answers  int
}

// Measured rates of leads found with the embedded table, and of leads verified by multilingual-e5-small.
var (
	tableLeads   = leadRates{2, 53, 4, 740, 3, 23}
	encoderLeads = leadRates{outside: 0, leads: 66, answered: 1, answers: 23}
)

// LeadsMeasured returns a text that says how often leads were wrong and on which data, or "" if that was not measured.
func (r *Report) LeadsMeasured() string {
	l := r.Language
	if r.LeadSearch != nil && !r.LeadSearch.Index {
		return l.Say("How often leads are wrong was measured with the index of meaning only, so no figures are given here.")
	}
	byTable := !slices.ContainsFunc(r.Leads, func(x RuledLead) bool { return !strings.HasPrefix(x.Encoder, "table@") })
	if byTable {
		m := tableLeads
		return l.Say("Measured with the embedded table and the index of meaning, on English and Chinese texts with a few German and Spanish sources: %d of %d leads were outside the passages that a language model had reworded; %d of %d documents that share only forms and subjects had a lead, and so did %d of %d answers that people wrote independently to one question.",
			m.outside, m.leads, m.innocent, m.document, m.answered, m.answers)
	}
	m := encoderLeads
	return l.Say("Measured with the embedded table, the index of meaning and the encoder multilingual-e5-small, on English and Chinese texts with a few German and Spanish sources: %d of %d leads were outside the passages that a language model had reworded; %d of %d answers that people wrote independently to one question had a lead. Other encoders were not measured: their leads have no likelihood.",
		m.outside, m.leads, m.answered, m.answers)
}

// Wilson returns the 95 % Wilson score interval (Wilson 1927) for a rate of k in n, which is reliable even near 0 and 1. If n is 0, the
// interval is 0 to 1.
func Wilson(k, n int) (low, high float64) {
	if n == 0 {
		return 0, 1
	}
	const z = 1.959964
	p, m := float64(k)/float64(n), float64(n)
	middle := p + z*z/(2*m)
	half := z * math.Sqrt(p*(1-p)/m+z*z/(4*m*m))
	return max(0, (middle-half)/(1+z*z/m)), min(1, (middle+half)/(1+z*z/m))
}

// percent1 formats a rate with one decimal, for small rates.
func (l Language) percent1(x float64) string {
	return language.Code(l).Percent(fmt.Sprintf("%.1f", 100*x))
}

// classWords describes a class of documents from Calibration; the description follows their number.
func (l Language) classWords(r Rate) string {
	return l.Say(map[string]string{
		"en clean": "English documents without reuse", "en near": "of these, pages on the same subjects as the library",
		"zh clean": "Chinese documents without reuse", " forms": "documents without reuse that share forms, declarations, statutes or references",
		"en reworded": "English documents with copied or reworded parts", "zh reworded": "Chinese documents with copied or reworded parts",
		" copied forms": "documents with copied or revised parts that also share forms and the like",
		"en condensed":  "English documents with a condensed source", " machine": "documents with a tenth or more rewritten by a language model",
	}[r.Language+" "+r.Class])
}

// ShareMeaning returns sentences on the meaning of a report's share: the figures behind [Report.Conclusion], then how many of the
// measured documents reach 0.1 and 0.3, in checks and in batches.
func ShareMeaning(r *Report) []string {
	return append(behindConclusion(r), measuredShares(r.Language)...)
}

func measuredShares(l Language) []string {
	var out []string
	for _, batch := range []bool{false, true} {
		for _, at := range []struct {
			share string
			count func(Rate) int
		}{{l.Percent(0.1), func(r Rate) int { return r.Tenth }}, {l.Percent(0.3), func(r Rate) int { return r.Third }}} {
			s := l.Say("A share of %s or more is reached by: ", at.share)
			if batch {
				s = l.Say("In batches, a share of %s or more is reached by: ", at.share)
			}
			first := true
			for _, r := range Calibration() {
				if r.Batch != batch {
					continue
				}
				if !first {
					s += l.Say("; ")
				}
				first = false
				k := at.count(r)
				low, high := Wilson(k, r.Documents)
				s += l.Say("%s of %s %s (%s; between %s and %s)", Thousands(l, k), Thousands(l, r.Documents), l.classWords(r),
					l.percent1(float64(k)/float64(r.Documents)), l.percent1(low), l.percent1(high))
			}
			out = append(out, s+l.Say("."))
		}
	}
	return append(out,
		l.Say("The figures are from development texts, with 95% intervals. How many of your documents with such a share reuse text "+
			"depends on how common reuse is among them, so no probability is given."),
		l.Say("A share below 10% does not show that a text is free of reuse: condensed sources, text that a language model rewrote or translated, "+
			"and sources outside the libraries are missed."))
}

// measured returns the number of documents in the classes that reach a share, and the number of documents measured.
func measured(batch, third bool, classes ...string) (reach, of int) {
	for _, r := range Calibration() {
		if r.Batch != batch || !slices.Contains(classes, r.Class) {
			continue
		}
		of += r.Documents
		if third {
			reach += r.Third
		} else {
			reach += r.Tenth
		}
	}
	return reach, of
}

// inBatch reports whether the report covers a member of a batch.
func (r *Report) inBatch() bool {
	return slices.ContainsFunc(r.Consulted, func(c concordat.Consulted) bool { _, ok := c.Library.Batch(); return ok })
}

// concluded holds the measured rates that apply to a report's share, for texts without reuse and for texts with at least a tenth copied
// or reworded.
type concluded struct {
	batch           bool
	at              float64 // highest measured share not above the report's; 0 if the report's share is below all of them
	honest, honests int     // texts without reuse that reached it, and their total
	forms           int     // how many of honests share forms or the like
	copied, copies  int     // texts with reuse that reached it, or 0.1, and their total
}

// leastMeasured is the smallest measured share.
const leastMeasured = 0.1

// isOpen reports whether a share that is too small for a conclusion can become large enough after all decisions are made.
func isOpen(s Scores) bool {
	return s.Covered < leastMeasured && s.IfCounted >= leastMeasured
}

// conclude returns the rates that apply to a report's share. ok is false if nothing was compared, too little was compared for a share, or
// the share is not final.
func conclude(r *Report) (c concluded, ok bool) {
	if !r.Scores.Measured() || r.Scores.TooShort() || isOpen(r.Scores) {
		return c, false
	}
	third := r.Scores.Covered >= 0.3
	c.batch = r.inBatch()
	switch {
	case third:
		c.at = 0.3
	case r.Scores.Covered >= leastMeasured:
		c.at = leastMeasured
	}
	c.honest, c.honests = measured(c.batch, third, "clean", "forms")
	_, c.forms = measured(c.batch, third, "forms")
	c.copied, c.copies = measured(c.batch, third, "reworded", "copied forms")
	return c, true
}

// Conclusion returns one or two plain sentences on what this report's share implies: how many honest texts reached it in the
// measurements, or how many copied ones did not. [ShareMeaning] has the figures. It is empty if nothing was compared.
func (r *Report) Conclusion() string {
	l := r.Language
	c, ok := conclude(r)
	switch {
	case !r.Scores.Measured():
		return ""
	case isOpen(r.Scores) && !r.Scores.TooShort():
		return l.Say("Settle what is to be decided before concluding anything from this share.")
	case !ok:
		return l.Join([]string{l.Say("Too short for a share: only %s of this document could count, fewer than %s.",
			l.Plural(r.Scores.Words, "word", "words"), Thousands(l, fewestWords)),
			l.Say("In so short a text, a sentence that anyone might write makes the share large. Read the passages before concluding anything about a person.")})
	case c.at == 0:
		out := l.Say("In our tests, none of %s texts with a tenth or more copied or reworded had so small a share.", Thousands(l, c.copies))
		if missed := c.copies - c.copied; missed > 0 {
			out = l.Say("In our tests, at most 1 in %s texts with a tenth or more copied or reworded had so small a share.", oneIn(l, missed, c.copies))
		}
		if c.batch { // batches were not measured with rewritten texts
			return l.Join([]string{out, l.Say("It does not prove originality.")})
		}
		return l.Join([]string{out, l.Say("Most condensed or model-rewritten texts did, so it does not prove originality.")})
	}
	out := l.Say("In our tests, none of %s honest texts reached a share of %s.", Thousands(l, c.honests), l.Percent(c.at))
	if c.honest > 0 {
		out = l.Say("In our tests, at most 1 honest text in %s reached a share of %s.", oneIn(l, c.honest, c.honests), l.Percent(c.at))
	}
	return l.Join([]string{out, l.Say("Read the passages before concluding anything about a person.")})
}

// oneIn returns a number with one nonzero digit such that k of n is at most one in that number.
func oneIn(l Language, k, n int) string {
	in := n / k
	for unit := 10; unit <= in; unit *= 10 {
		in = in / unit * unit
	}
	return Thousands(l, in)
}

// behindConclusion returns sentences with the figures that support the conclusion, or nil if there are none.
func behindConclusion(r *Report) []string {
	l := r.Language
	c, ok := conclude(r)
	if !ok {
		return nil
	}
	if c.at == 0 {
		return []string{l.Join([]string{l.Say("%s of %s documents with at least a tenth copied or reworded reached %s.",
			Thousands(l, c.copied), Thousands(l, c.copies), l.Percent(0.1)),
			l.Say("Most of those with a condensed source, or with text that a language model rewrote, did not.")})}
	}
	_, high := Wilson(c.honest, c.honests)
	out := []string{l.Say("Of %s measured texts without reuse (%s share forms, declarations, statutes or references), %s reached %s: "+
		"at most %s of such texts, with 95%% certainty.", Thousands(l, c.honests), Thousands(l, c.forms), Thousands(l, c.honest), l.Percent(c.at),
		l.percent1(high))}
	if c.batch {
		return []string{l.Join(append(out,
			l.Say("Of %s with a tenth or more copied, or revised by people, %s did.", Thousands(l, c.copies), Thousands(l, c.copied)),
			l.Say("Text that a language model rewrote was not measured in batches.")))}
	}
	machine, machines := measured(false, c.at == 0.3, "machine")
	return []string{l.Join(append(out,
		l.Say("Of %s with a tenth or more copied, translated there and back, or reworded by programs or people, %s did.",
			Thousands(l, c.copies), Thousands(l, c.copied)),
		l.Say("Of %s that a language model rewrote to the same extent, %s did.", Thousands(l, machines), Thousands(l, machine))))}
}
