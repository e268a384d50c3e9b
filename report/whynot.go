package report

import (
	"slices"
	"strings"

	"concordat"
)

// formReasons maps each reason in package wording for resembling a form to its description: for one passage, and in the singular and
// plural after a number.
var formReasons = map[string][3]string{
	"heading":     {"a heading", "heading", "headings"},
	"question":    {"a question", "question", "questions"},
	"instruction": {"an instruction", "instruction", "instructions"},
	"declaration": {"a declaration", "declaration", "declarations"},
	"clause":      {"a clause", "clause", "clauses"},
	"list":        {"an entry of a list", "entry of a list", "entries of lists"},
	"outline":     {"an outline of sections", "outline of sections", "outlines of sections"},

	string(AsContents): {"a contents page", "contents page", "contents pages"},
	string(AsTitle):    {"a title page", "title page", "title pages"},
	string(AsRunning):  {"a running head", "running head", "running heads"},
	string(AsImprint):  {"a publisher's notice", "publisher's notice", "publishers' notices"},
	string(AsKeywords): {"keywords or codes", "line of keywords", "lines of keywords"},

	string(AsAbbreviations): {"a list of abbreviations", "list of abbreviations", "lists of abbreviations"},
	string(AsThanks):        {"acknowledgements", "section of acknowledgements", "sections of acknowledgements"},
	string(AsConstants):     {"public constants", "table of public constants", "tables of public constants"},
}

// FormReason describes what a passage resembles, given a reason from package wording, or returns "" if the reason is unknown.
func (l Language) FormReason(why string) string {
	words, ok := formReasons[why]
	if !ok {
		return ""
	}
	return l.Say(words[0])
}

// WhyNot explains why a passage does not count and, if it resembles a form, which part; it returns "" if the passage counts.
func (r *Report) WhyNot(e concordat.Evidence) string {
	if e.Excluded == concordat.ExcludedForm {
		if why := r.Language.FormReason(e.Why); why != "" {
			return r.Language.Say("wording that reads like a form (%s)", why)
		}
	}
	if e.Excluded == concordat.ExcludedGroup {
		return r.Language.Say("in a group that does not count: %s", GroupName(r.Language, e.Group))
	}
	switch why, public := quotedAs(e); {
	case public:
		return r.Language.Say("public wording (%s)", r.Language.Say(why))
	case why != "":
		return r.Language.Say("a legitimate quotation (%s)", r.Language.Say(why))
	}
	return r.Language.Exclusion(e.Excluded)
}

// quotedReasons describes wording that two documents can both quote.
var quotedReasons = map[string]string{
	string(AsQuotation): "a quotation with its source",
	string(AsStatute):   "the provision of a statute",
	string(AsScripture): "a passage of scripture with its place",
	string(AsVerse):     "verse with its source",
}

// publicReasons describes wording that two documents can both use without quoting it.
var publicReasons = map[string]string{
	string(AsStatement): "a statement that everyone must make",
	string(AsSkeleton):  "code that was handed out",
	string(AsNotice):    "a publisher's notice",
	string(AsAuthors):   "authors and their institutions",
	"declaration":       "a declaration",
	"licence":           "a public licence",
	"method":            "a standard sentence on methods",
	"own":               "wording of the site's stock",
}

// quotedAs returns, in English for translation, the reason why a passage is legitimately quoted or, if public, why anyone may use its
// wording; "" if neither applies.
func quotedAs(e concordat.Evidence) (why string, public bool) {
	if e.Excluded != concordat.ExcludedQuote {
		return "", false
	}
	if why, public = publicReasons[e.Why]; public {
		return why, true
	}
	return quotedReasons[e.Why], false
}

// EvidenceKind returns the kind of a passage in words. It also says if the passage is a quotation that others share, or wording that
// anyone may use.
func (l Language) EvidenceKind(e concordat.Evidence) string {
	switch why, public := quotedAs(e); {
	case public:
		return l.Say("public wording")
	case why != "":
		return l.Say("legitimate quotation")
	}
	return kindsWords(l, e.Kind, e.Kinds)
}

// kindsWords describes a kind. If the characters are divided among several kinds, it also names each kind with its number of characters.
func kindsWords(l Language, k concordat.Kind, divided []concordat.KindCount) string {
	if len(divided) < 2 || divided[0].Kind != k {
		return l.Kind(k)
	}
	each := make([]string, len(divided))
	for i, d := range divided {
		each[i] = l.Say("%s (%s)", l.Kind(d.Kind), l.Plural(d.Characters, "letter", "letters"))
	}
	return strings.Join(each, l.Say(", "))
}

// SourceKind describes the kinds of a source's part of a passage and how close the wording is.
func SourceKind(l Language, s concordat.Source) string {
	if len(s.Kinds) < 2 || s.Kinds[0].Kind != s.Kind {
		return l.KindAndCloseness(s.Kind, s.Similarity)
	}
	return l.Say("%s, %s", kindsWords(l, s.Kind, s.Kinds), l.Closeness(min(s.Similarity, notIdentical)))
}

// shownWithout states how many passages are displayed without a score because they are shared wording or isolated, one line per reason.
func (r *Report) shownWithout() []string {
	count := map[concordat.Exclusion]int{}
	reasons := map[string]int{}
	for _, e := range r.Evidence {
		count[e.Excluded]++
		if e.Excluded == concordat.ExcludedForm {
			reasons[e.Why]++
		}
	}
	l := r.Language
	passages := func(e concordat.Exclusion) string { return l.Plural(count[e], "passage", "passages") }
	var out []string
	if count[concordat.ExcludedCommon] > 0 {
		out = append(out, l.Join(append([]string{l.Say("Common wording: %s, shown without a score.", passages(concordat.ExcludedCommon))},
			r.holders()...)))
	}
	if count[concordat.ExcludedTemplate] > 0 {
		out = append(out, l.Say("Template wording: %s, shown without a score.", passages(concordat.ExcludedTemplate)))
	}
	if count[concordat.ExcludedForm] > 0 {
		if by := l.formReasons(reasons); by != "" {
			out = append(out, l.Say("Reads like a form: %s (%s), not counted. The rules can count it.", passages(concordat.ExcludedForm), by))
		} else {
			out = append(out, l.Say("Reads like a form: %s, not counted. The rules can count it.", passages(concordat.ExcludedForm)))
		}
	}
	if count[concordat.ExcludedSentence] > 0 {
		out = append(out, l.Say("Isolated sentences: %s, not counted. The rules can count them.",
			passages(concordat.ExcludedSentence)))
	}
	if n := count[concordat.ExcludedUndecided]; n > 0 {
		out = append(out, l.Say("To be decided: %s that many documents contain, from a form or copied. It counts only if an officer decides that it does; the share then rises.",
			passages(concordat.ExcludedUndecided)))
	}
	return out
}

// formReasons states how many passages resemble each part of a form, most frequent part first.
func (l Language) formReasons(count map[string]int) string {
	var whys []string
	for why := range count {
		if _, ok := formReasons[why]; ok {
			whys = append(whys, why)
		}
	}
	slices.SortFunc(whys, func(a, b string) int {
		if count[a] != count[b] {
			return count[b] - count[a]
		}
		return strings.Compare(a, b)
	})
	for i, why := range whys {
		whys[i] = l.Plural(count[why], formReasons[why][1], formReasons[why][2])
	}
	return strings.Join(whys, l.Say(", "))
}

// holders returns sentences on how many documents contain the common wording, and how many could.
func (r *Report) holders() []string {
	type bounds struct{ least, most int }
	by := map[int]bounds{}
	var ofs []int
	for _, w := range r.Wording {
		if w.Kind != concordat.KindCommon || w.Counted || w.Of <= 0 || w.Documents <= 0 {
			continue
		}
		b, ok := by[w.Of]
		if !ok {
			b.least = w.Documents
			ofs = append(ofs, w.Of)
		}
		by[w.Of] = bounds{min(b.least, w.Documents), max(b.most, w.Documents)}
	}
	slices.Sort(ofs)
	l := r.Language
	var out []string
	for _, of := range ofs {
		if b := by[of]; b.least == b.most {
			out = append(out, l.Say("Found in %s of %s, including this one.", Thousands(l, b.least), l.Plural(of, "document", "documents")))
		} else {
			out = append(out, l.Say("Found in %s to %s of %s, including this one.", Thousands(l, b.least), Thousands(l, b.most),
				l.Plural(of, "document", "documents")))
		}
	}
	return out
}
