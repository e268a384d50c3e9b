package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"concordat"
)

// Closeness says a similarity, 0 to 1, in one of four steps. The similarity of one sentence is
// known to about 0.08 only, so people get words and no decimals.
func Closeness(similarity float64) string {
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

// KindWords says a kind in plain words.
func KindWords(k concordat.Kind) string {
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
	}
	return "similar"
}

// ExclusionWords says why something gives no score; "" if it counts.
func ExclusionWords(e concordat.Exclusion) string {
	switch e {
	case "":
		return ""
	case concordat.ExcludedQuote:
		return "stands in a quotation"
	case concordat.ExcludedBibliography:
		return "stands in the list of references"
	case concordat.ExcludedSection:
		return "its section is left out"
	case concordat.ExcludedTemplate:
		return "is wording of a given template"
	case concordat.ExcludedPassage:
		return "was taken out by hand"
	case concordat.ExcludedCommon:
		return "is wording that many documents share"
	case concordat.ExcludedSmall:
		return "is shorter than the least length"
	case concordat.ExcludedSource:
		return "its source was taken out"
	case concordat.ExcludedSmallSource:
		return "its source holds less than the least share"
	case concordat.ExcludedKind:
		return "its kind of evidence is left out"
	}
	return "was taken out by a rule"
}

// SkipWords says why something was not compared.
func SkipWords(r concordat.SkipReason) string {
	switch r {
	case concordat.SkipShort:
		return "too short to compare"
	case concordat.SkipFeatures:
		return "too few words to tell it from any other text"
	case concordat.SkipSection:
		return "in a section that the template leaves out"
	}
	return "not asked"
}

// Percent prints a share in whole percent. What is little but not nothing is "< 1 %", and what is
// nearly but not all is "> 99 %".
func Percent(share float64) string {
	n := int(share*100 + 0.5)
	switch {
	case share > 0 && n == 0:
		return "< 1 %"
	case share < 1 && n >= 100:
		return "> 99 %"
	}
	return strconv.Itoa(n) + " %"
}

// Thousands prints n with thin groups of three, as in 12 345.
func Thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "\u202f" + s[i:]
	}
	return s
}

// Plural prints n with the word for one or for many things.
func Plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return Thousands(n) + " " + many
}

// Headline says the result in one or two sentences, no more than was measured.
func (r *Report) Headline() string {
	s := r.Scores
	switch {
	case !s.Measured():
		return "Nothing was compared. This report says nothing about the text."
	case s.Found == 0 && r.hidden():
		return "No passage is shown, but a partner's library holds something that matches and shows no more than that."
	case s.Found == 0 && r.incomplete():
		return "No matching passage was found in what answered. Not everything that was to be asked did."
	case s.Found == 0:
		return "No matching passage was found in what was asked."
	case s.Covered == 0:
		return "Nothing that counts was found. What was found is common wording or taken out by the rules below."
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
	return fmt.Sprintf("%s of the compared text also stands in other documents, %s.", Percent(s.Covered), how)
}

// Reached reports whether the covered share has reached the threshold of the findings. Without a
// threshold above 0 there is nothing to reach.
func (r *Report) Reached() bool {
	return r.Threshold > 0 && r.Scores.Measured() && r.Scores.Covered >= r.Threshold
}

// incomplete reports whether anything asked did not answer whole.
func (r *Report) incomplete() bool {
	return slices.ContainsFunc(r.Consulted, func(c concordat.Consulted) bool { return !whole(c) })
}

func whole(c concordat.Consulted) bool {
	return c.Err == "" && len(c.Missing) == 0 && c.Answered >= c.Asked && c.Capped == 0 && c.Unready == 0 && c.Withheld == 0
}

// Statement says in plain sentences what the report rests on: what was compared, what was not,
// who was asked and who did not answer.
func (r *Report) Statement() []string {
	s := r.Scores
	var out []string
	if s.Measured() {
		out = append(out, fmt.Sprintf("Compared: %s of the text, %s of %s letters and digits.",
			Percent(float64(s.Checked)/float64(max(s.Characters, 1))), Thousands(s.Checked), Thousands(s.Characters)))
	} else {
		out = append(out, "Compared: nothing. Every share of this report is blank, not zero.")
	}
	out = append(out, r.skippedWords()...)
	if len(r.Consulted) == 0 {
		out = append(out, "No library is on record as asked.")
	}
	for _, c := range r.Consulted {
		out = append(out, string(c.Site)+"/"+string(c.Library)+": "+ConsultedWords(c))
	}
	switch r.Forward {
	case "unmatched":
		out = append(out, "Other sites were asked only about sentences that found nothing at this site; for the rest they may hold older or fuller sources.")
	case "all":
		out = append(out, "Other sites were asked about every sentence.")
	case "none":
		out = append(out, "No other site was asked.")
	}
	for _, d := range r.Disclosures {
		out = append(out, DisclosureWords(d))
	}
	if r.Unplaced > 0 {
		out = append(out, Plural(r.Unplaced, "match", "matches")+" could not be placed in the text and are not shown.")
	}
	return append(out, "A passage without a mark was not found in what was asked. That is no proof that it is original.")
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
		out = append(out, fmt.Sprintf("Not compared, %s: %s with %s.", SkipWords(reason),
			Plural(places[reason], "place", "places"), Plural(chars[reason], "letter", "letters")))
	}
	return out
}

// ConsultedWords says what one library answered.
func ConsultedWords(c concordat.Consulted) string {
	var b strings.Builder
	switch {
	case c.Err != "" && c.Answered == 0:
		fmt.Fprintf(&b, "did not answer (%s).", c.Err)
		if c.Asked > 0 {
			fmt.Fprintf(&b, " %s not measured there.", Plural(c.Asked, "sentence was", "sentences were"))
		}
		return strings.Join(append([]string{b.String()}, partnerWords(c)...), " ")
	case c.Asked == 0:
		return strings.Join(append([]string{"was not asked about any sentence."}, partnerWords(c)...), " ")
	case c.Answered < c.Asked:
		fmt.Fprintf(&b, "answered %s of %s.", Thousands(c.Answered), Plural(c.Asked, "sentence", "sentences"))
	default:
		fmt.Fprintf(&b, "answered %s.", Plural(c.Asked, "sentence", "sentences"))
	}
	if c.Err != "" {
		fmt.Fprintf(&b, " Then: %s.", c.Err)
	}
	if len(c.Missing) > 0 {
		fmt.Fprintf(&b, " Silent: %s.", Plural(len(c.Missing), "part of its index", "parts of its index"))
	}
	if c.Capped > 0 {
		fmt.Fprintf(&b, " Cut short by a safety limit: %s.", Plural(c.Capped, "look-up", "look-ups"))
	}
	return strings.Join(append([]string{b.String()}, partnerWords(c)...), " ")
}

// RuleWords says the rules of a report, one line each.
func (r *Report) RuleWords() []string {
	u := r.Rules
	var out []string
	yes := map[bool]string{true: "left out", false: "counted"}
	out = append(out, "Quotations: "+yes[u.ExcludeQuotes]+".", "List of references: "+yes[u.ExcludeBibliography]+".")
	if u.MinCharacters > 0 {
		out = append(out, fmt.Sprintf("Least length of a match: %s.", Plural(u.MinCharacters, "letter or digit", "letters and digits")))
	} else {
		out = append(out, "Least length of a match: none.")
	}
	if u.MinSourceShare > 0 {
		out = append(out, fmt.Sprintf("Least share of a source: %.1f %%.", 100*u.MinSourceShare))
	}
	switch {
	case u.CommonAbove < 0:
		out = append(out, "Common wording: counted.")
	case u.CommonAbove == 0:
		out = append(out, fmt.Sprintf("Common wording: what more than %d documents hold gives no score alone.", DefaultCommonAbove))
	default:
		out = append(out, fmt.Sprintf("Common wording: what more than %d documents hold gives no score alone.", u.CommonAbove))
	}
	for _, k := range u.ExcludeKinds {
		out = append(out, "Left out: passages of the kind “"+KindWords(k)+"”.")
	}
	for _, s := range u.ExcludeSections {
		out = append(out, "Left out: section “"+s+"”.")
	}
	for _, s := range u.ExcludeSources {
		out = append(out, "Left out: source "+strings.TrimRight(s.String(), "/")+".")
	}
	if n := len(u.ExcludeTemplate); n > 0 {
		out = append(out, "Left out: wording of "+Plural(n, "given template", "given templates")+".")
	}
	return out
}
