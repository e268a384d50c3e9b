package report

import (
	"math"
	"slices"
	"strconv"

	"concordat"
	"concordat/report/language"
)

// Closeness describes a similarity, 0 to 1, in one of four steps. The similarity of one sentence is accurate only to about 0.08, so
// reports use words instead of decimals.
func Closeness(similarity float64) string { return English.Closeness(similarity) }

// Closeness returns the result of the function [Closeness] in language l.
func (l Language) Closeness(similarity float64) string {
	return l.Say(closeness(similarity))
}

// KindAndCloseness describes a kind and, if it adds information, how close the wording is. Changed wording is never called identical,
// since at least its order, punctuation or spelling was changed.
func (l Language) KindAndCloseness(k concordat.Kind, similarity float64) string {
	if k == concordat.KindVerbatim {
		return l.Kind(k)
	}
	return l.Say("%s, %s", l.Kind(k), l.ClosenessOf(k, similarity))
}

// ClosenessOf is Closeness, but never calls changed wording identical.
func (l Language) ClosenessOf(k concordat.Kind, similarity float64) string {
	switch k {
	case concordat.KindNear, concordat.KindParaphrase, concordat.KindSummary:
		similarity = min(similarity, notIdentical)
	}
	return l.Closeness(similarity)
}

// notIdentical is the largest similarity that is not called identical.
const notIdentical = 0.99

func closeness(similarity float64) string {
	switch {
	case similarity >= 0.995:
		return "identical"
	case similarity >= 0.9:
		return "nearly identical"
	case similarity >= 0.74:
		return "strongly similar"
	}
	return "similar"
}

// Kind describes a kind in plain words.
func (l Language) Kind(k concordat.Kind) string { return l.Say(kindWords(k)) }

func kindWords(k concordat.Kind) string {
	switch k {
	case concordat.KindVerbatim:
		return "word for word"
	case concordat.KindNear:
		return "lightly edited"
	case concordat.KindParaphrase:
		return "reworded"
	case concordat.KindSummary:
		return "condensed"
	case concordat.KindCommon:
		return "common wording"
	case concordat.KindTemplate:
		return "template wording"
	case concordat.KindForm:
		return "form wording"
	case concordat.KindSentence:
		return "isolated sentence"
	case concordat.KindUndecided:
		return "undecided wording"
	case concordat.KindQuotation:
		return "quotation"
	}
	return "similar"
}

// Exclusion explains why something does not count, or returns "" if it counts.
func (l Language) Exclusion(e concordat.Exclusion) string { return l.Say(exclusionWords(e)) }

func exclusionWords(e concordat.Exclusion) string {
	switch e {
	case "":
		return ""
	case concordat.ExcludedQuote:
		return "in a quotation"
	case concordat.ExcludedBibliography:
		return "in the list of references"
	case concordat.ExcludedCitation:
		return "a citation marker"
	case concordat.ExcludedSection:
		return "in an excluded section"
	case concordat.ExcludedTemplate:
		return "template wording"
	case concordat.ExcludedForm:
		return "wording that reads like a form"
	case concordat.ExcludedPassage:
		return "excluded by hand"
	case concordat.ExcludedCommon:
		return "wording that many documents share"
	case concordat.ExcludedSmall:
		return "shorter than the minimum length"
	case concordat.ExcludedSentence:
		return "an isolated sentence"
	case concordat.ExcludedUndecided:
		return "undecided (many documents contain it: a form, or copied?)"
	case concordat.ExcludedSource:
		return "from an excluded source"
	case concordat.ExcludedOwn:
		return "the author's earlier work"
	case concordat.ExcludedSmallSource:
		return "from a source below the minimum share"
	case concordat.ExcludedKind:
		return "its kind of evidence is excluded"
	case concordat.ExcludedGroup:
		return "in a group that does not count"
	}
	return "excluded by a rule"
}

// Skip explains why something was not compared.
func (l Language) Skip(r concordat.SkipReason) string { return l.Say(skipWords(r)) }

func skipWords(r concordat.SkipReason) string {
	switch r {
	case concordat.SkipShort:
		return "too short to compare"
	case concordat.SkipFeatures:
		return "too few words to tell it from any other text"
	case concordat.SkipSection:
		return "in a section that the template leaves out"
	case concordat.SkipReferences:
		return "in a list of references, which is compared work by work"
	}
	return "not asked"
}

// Flag returns the name and the meaning of a flag.
func (l Language) Flag(f concordat.Flag) string {
	return l.Say("%s: %s", l.FlagName(f), l.FlagDetail(f))
}

// FlagName returns the name for a flag's code. A code unknown to the language is returned unchanged.
func (l Language) FlagName(f concordat.Flag) string {
	if name, ok := language.Code(l).Lookup("flag." + f.Code); ok {
		return name
	}
	return f.Code
}

// FlagDetail explains a flag with the flag's own sentence if the language has it, and otherwise with the sentence for the flag's code.
func (l Language) FlagDetail(f concordat.Flag) string {
	for _, key := range []string{f.Detail, "flag." + f.Code + ".detail"} {
		if t, ok := language.Code(l).Lookup(key); ok {
			return t
		}
	}
	return f.Detail
}

// Percent formats a share as a whole percentage in language l: 30%, or 30 % in German. A small nonzero share becomes "< 1%", and a share
// just below one becomes "> 99%".
func (l Language) Percent(share float64) string {
	n := int(share*100 + 0.5)
	switch {
	case share > 0 && n == 0:
		return language.Code(l).Percent("<\u00a01")
	case share < 1 && n >= 100:
		return language.Code(l).Percent(">\u00a099")
	}
	return language.Code(l).Percent(strconv.Itoa(n))
}

// ChangedWords formats the changed share so that the displayed shares of verbatim and changed wording add up to the displayed total even
// if rounding would prevent it.
func (s Scores) ChangedWords(l Language) string {
	n := int(s.Covered*100+0.5) - int(s.Verbatim*100+0.5)
	if n < 1 || s.Covered < 0.005 || s.Verbatim > 0 && s.Verbatim < 0.005 || math.Abs(float64(n)-100*s.Changed) > 1 {
		return l.Percent(s.Changed)
	}
	return language.Code(l).Percent(strconv.Itoa(n))
}

// OfWhat describes the text that the shares refer to.
func (s Scores) OfWhat(l Language) string {
	if s.Countable == s.Checked {
		return l.Say("Shares of the %s letters and digits that were compared", Thousands(l, s.Checked))
	}
	return l.Say("Shares are of the %s letters and digits that were compared; what counts is a share of the %s that could count",
		Thousands(l, s.Checked), Thousands(l, s.Countable))
}

// Alike returns Literalness for display in words, capped below identical if changed wording is displayed next to it.
func (s Scores) Alike() float64 {
	if s.Changed >= 0.005 {
		return min(s.Literalness, notIdentical)
	}
	return s.Literalness
}

// Thousands formats n in groups of three digits, for example 12,345 in English and 12.345 in German.
func Thousands(l Language, n int) string {
	s, mark := strconv.Itoa(n), language.Code(l).GroupMark()
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + mark + s[i:]
	}
	return s
}

// Plural returns n followed by the singular or plural noun, in English.
func Plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return Thousands(English, n) + " " + many
}

// KindMeaning explains a kind, or a step of similarity.
type KindMeaning struct {
	Code  string `json:"code"`  // as in the JSON form
	Name  string `json:"name"`  // in plain words
	Words string `json:"words"` // what it means
}

// Kinds explains the kinds of evidence, strongest first.
func (l Language) Kinds() []KindMeaning {
	var out []KindMeaning
	for _, k := range []struct {
		kind  concordat.Kind
		words string
	}{
		{concordat.KindVerbatim, "the same words in the same order"},
		{concordat.KindNear, "mostly the same words"},
		{concordat.KindParaphrase, "the same content in other words"},
		{concordat.KindSummary, "a longer source, shortened"},
		{concordat.KindQuotation,
			"it is in quotation marks or a block quotation; not counted if it names its source or a rule excludes quotations"},
		{concordat.KindCommon, "many documents share it; not counted"},
		{concordat.KindTemplate, "it is in a form that was handed out; not counted"},
		{concordat.KindForm, "it reads like part of a form that both answered: a heading, a question, an instruction, a declaration; not counted"},
		{concordat.KindSentence, "only about one sentence matches there; not counted"},
		{concordat.KindUndecided, "many documents contain this long stretch: a form, or copied? It counts only if an officer decides that it does"},
	} {
		out = append(out, KindMeaning{string(k.kind), l.Kind(k.kind), l.Say(k.words)})
	}
	return out
}

// Steps explains the steps of similarity, closest first.
func (l Language) Steps() []KindMeaning {
	var out []KindMeaning
	for _, s := range []struct{ name, words string }{
		{"identical", "all words in common"},
		{"nearly identical", "about nine tenths of the words in common or more"},
		{"strongly similar", "about three quarters to nine tenths"},
		{"similar", "less than about three quarters"},
	} {
		out = append(out, KindMeaning{s.name, l.Say(s.name), l.Say(s.words)})
	}
	return out
}

// Headline states the result in one or two sentences, claiming no more than was measured.
func (r *Report) Headline() string {
	s, l := r.Scores, r.Language
	switch {
	case !s.Measured() && r.Short != nil && r.Short.Asked > 0:
		return l.Say("No passage was compared, only short texts. Their figure is separate.")
	case !s.Measured():
		return l.Say("Nothing was compared. This report says nothing about the text.")
	case s.Found == 0 && r.hidden():
		return l.Say("No passage is shown, but a partner's library contains something that matches and discloses no more than that.")
	case s.Found == 0 && r.incomplete():
		return l.Say("No matching passage was found in the sources that answered. Not all did.")
	case s.Found == 0:
		return l.Say("No matching passage was found in the sources searched.")
	case s.Covered == 0 && s.Undecided > 0:
		return l.Say("%s of the text is also in several other documents and is not counted yet: a form, or copied? If it counts, the share is %s.",
			l.Percent(s.Undecided), l.Percent(s.IfCounted))
	case s.Covered == 0:
		return l.Say("Nothing that counts was found. What was found is common wording or excluded by the rules below.")
	}
	how := "partly word for word, partly changed"
	switch share := s.Verbatim / s.Covered; {
	case share >= 0.95:
		how = "word for word"
	case share >= 0.6:
		how = "mostly word for word"
	case share <= 0.05:
		how = "in changed words"
	case share <= 0.4:
		how = "mostly in changed words"
	}
	out := []string{l.Say("%s of the compared text also appears in other documents, %s.", l.Percent(s.Covered), l.Say(how))}
	if s.Countable < s.Checked {
		out[0] = l.Say("%s of the text that could count also appears in other documents, %s. That is %s of the whole text.",
			l.Percent(s.Covered), l.Say(how), l.Percent(s.Whole))
	}
	if s.Estimate != nil {
		out = append(out, l.Say("Partners' texts stay with them, so the share is an estimate: it is between %s and %s.",
			l.Percent(s.Estimate.Low), l.Percent(s.Estimate.High)))
	}
	if s.Undecided > 0 {
		out = append(out, l.Say("If what is still to be decided counts, the share is %s.", l.Percent(s.IfCounted)))
	}
	return l.Join(out)
}

// Reached reports whether the covered share has reached the findings' threshold. A threshold that is not above 0 is never reached.
func (r *Report) Reached() bool {
	return r.Threshold > 0 && r.Scores.Measured() && r.Scores.Covered >= r.Threshold
}

// incomplete reports whether some library's answer is missing or incomplete.
func (r *Report) incomplete() bool {
	return slices.ContainsFunc(r.Consulted, func(c concordat.Consulted) bool { return !Whole(c) })
}

// Whole reports whether a library was asked about all sentences, compared them with every document, and answered.
func Whole(c concordat.Consulted) bool {
	return c.Err == "" && len(c.Missing) == 0 && c.Answered >= c.Asked && c.Capped == 0 && c.Unready == 0 && c.Withheld == 0
}

// SignedAnswer returns a sentence on who signed answer s and what the signature covers.
func (l Language) SignedAnswer(s concordat.Statement) string {
	at := s.At.UTC().Format("2006-01-02 15:04")
	if s.Asker == "" {
		return l.Say("Signed by %s: its %s of %s, signing key %d. The signature names neither the site that asked nor the submission. "+
			"The JSON form has the signed bytes.", s.Site, s.Kind, at, s.KeyEpoch)
	}
	return l.Say("Signed by %s: its %s of %s to %s, signing key %d. The JSON form has the signed bytes.", s.Site, s.Kind, at, s.Asker,
		s.KeyEpoch)
}

// Statement returns plain sentences on the basis of the report: what was and was not compared, who was asked, and who did not answer.
func (r *Report) Statement() []string {
	l := r.Language
	out := []string{r.comparedWords()}
	out = append(out, r.skippedWords()...)
	out = append(out, r.leftWords()...)
	out = append(out, r.shownWithout()...)
	out = append(out, r.citesWords()...)
	out = append(out, r.shortStatement()...)
	if found := r.LeadsFound(); found != "" {
		out = append(out, found)
	}
	if len(r.Consulted) == 0 {
		out = append(out, l.Say("No library is recorded as having been asked."))
	}
	for _, c := range r.Consulted {
		out = append(out, l.Say("%s: %s", r.libraryPlace(c.Site, c.Library), l.Consulted(c)))
	}
	switch r.Forward {
	case "unmatched":
		out = append(out, l.Say("Other sites were asked only about sentences that matched nothing at this site; for the rest they may have older or fuller sources."))
	case "all":
		out = append(out, l.Say("Other sites were asked about every sentence."))
	case "none":
		out = append(out, l.Say("No other site was asked."))
	}
	for _, d := range r.Disclosures {
		out = append(out, l.Disclosure(d))
	}
	if r.Unplaced > 0 {
		out = append(out, l.Say("%s could not be placed in the text and are not shown.", l.Plural(r.Unplaced, "match", "matches")))
	}
	return append(out, l.Say("A passage without a mark was not found in the sources searched. That does not prove it original."))
}

func (r *Report) skippedWords() []string {
	places, chars := map[concordat.SkipReason]int{}, map[concordat.SkipReason]int{}
	count := NewCounter(r.Submission.Text)
	for _, s := range r.Skipped {
		places[s.Reason]++
		chars[s.Reason] += count.Characters(s.Span)
	}
	var reasons []concordat.SkipReason
	for reason := range places {
		reasons = append(reasons, reason)
	}
	slices.Sort(reasons)
	var out []string
	for _, reason := range reasons {
		l := r.Language
		out = append(out, l.Say("Not compared, %s: %s with %s.", l.Skip(reason),
			l.Plural(places[reason], "place", "places"), l.Plural(chars[reason], "letter", "letters")))
	}
	return out
}

// ConsultedWords returns a sentence that summarises the answer of one library.
func ConsultedWords(c concordat.Consulted) string { return English.Consulted(c) }

// Consulted returns the sentence of [ConsultedWords] in language l.
func (l Language) Consulted(c concordat.Consulted) string {
	var out []string
	switch {
	case c.Err != "" && c.Answered == 0:
		out = append(out, l.Say("did not answer (%s).", c.Err))
		if c.Asked > 0 {
			out = append(out, l.Say("%s not measured there.", l.Plural(c.Asked, "sentence was", "sentences were")))
		}
		return l.Join(append(out, l.partner(c)...))
	case c.Empty:
		return l.Say("contains no documents, so nothing was compared with it.")
	case c.Asked == 0:
		return l.Join(append([]string{l.Say("was not asked about any sentence.")}, l.partner(c)...))
	case c.Answered < c.Asked:
		out = append(out, l.Say("answered %s of %s.", Thousands(l, c.Answered), l.Plural(c.Asked, "sentence", "sentences")))
	default:
		out = append(out, l.Say("answered %s.", l.Plural(c.Asked, "sentence", "sentences")))
	}
	if c.Err != "" {
		out = append(out, l.Say("Then: %s.", c.Err))
	}
	if len(c.Missing) > 0 {
		out = append(out, l.Say("%s did not answer.", l.Plural(len(c.Missing), "part of its index", "parts of its index")))
	}
	if c.Capped > 0 {
		out = append(out, l.Say("Cut short by a safety limit: %s.", l.Plural(c.Capped, "look-up", "look-ups")))
	}
	return l.Join(append(out, l.partner(c)...))
}

// evidenceKind describes the kind of a passage and, if its group determines whether it counts, the group.
func (l Language) evidenceKind(e concordat.Evidence) string {
	switch {
	case e.Excluded != "" && e.Excluded != concordat.ExcludedGroup:
		return l.EvidenceKind(e)
	case e.Kind == concordat.KindQuotation:
		return GroupName(l, e.Group)
	}
	return l.Say("%s, %s", l.EvidenceKind(e), GroupName(l, e.Group))
}

// Reading returns a sentence on what the figure asks the reader to do, since a share is a reason to read and never a verdict.
func (r *Report) Reading() string {
	in := r.Language
	if !r.Scores.Measured() {
		return in.Say("A blank is not a zero: nothing was measured.")
	}
	s := r.Scores
	judge := in.Say("The figure measures similarity of wording. People must judge whether a passage is properly quoted, common in its field or copied.")
	switch {
	case r.Threshold <= 0:
		return judge
	case s.Undecided > 0 && !r.Reached() && s.IfCounted >= r.Threshold:
		return in.Say("Only %s counts so far. If what is to be decided counts, the share reaches the %s from which a report deserves a close reading. %s",
			in.Percent(s.Covered), in.Percent(r.Threshold), judge)
	case s.Undecided > 0 && !r.Reached():
		return in.Say("Even if what is to be decided counts, the share stays below %s, from which a report deserves a close reading. %s",
			in.Percent(r.Threshold), judge)
	case r.Reached():
		return in.Say("This is at or above %s, the share from which a report deserves a close reading. %s", in.Percent(r.Threshold), judge)
	}
	if in.Percent(s.Covered) == in.Percent(r.Threshold) { // rounding raises the figure to the threshold
		return in.Say("Before rounding this is just below %s, the share from which a report deserves a close reading. %s",
			in.Percent(r.Threshold), judge)
	}
	return in.Say("This is below %s, the share from which a report deserves a close reading. %s", in.Percent(r.Threshold), judge)
}
