package report

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"concordat"
)

// Rules determine which findings count. The zero value counts everything except shared wording that is common or undecided, and isolated
// sentences. A rule removes its wording from the numerator of a share; template, form and reference list rules also remove theirs from
// the denominator, because that wording could not count.
//
// Stores, reports, the API and its clients all use this type; spans are bytes here and code points externally ([Rules.InPoints]). A field
// with a flag is a rule for a whole report, described by its tags; see [RuleTable].
type Rules struct {
	ExcludeQuotes       bool `json:"exclude_quotes" flag:"exclude-quotes" label:"rules.quotes" doc:"Leave quoted passages out of the scores."`
	ExcludeBibliography bool `json:"exclude_bibliography" flag:"exclude-bibliography" label:"rules.bibliography" doc:"Leave the list of references out of the scores."`
	ExcludeCitations    bool `json:"exclude_citations" flag:"exclude-citations" label:"rules.citations" doc:"Leave citation markers, for example (Author, 2020) or [1], out of the scores."`
	CountTemplates      bool `json:"count_templates" flag:"count-templates" label:"rules.counttemplates" doc:"Count the wording of templates."`
	CountForms          bool `json:"count_forms" required:"false" flag:"count-forms" label:"rules.countforms" doc:"Count wording that looks like a form even without a template."`
	CountQuotations     bool `json:"count_quotations" required:"false" flag:"count-quotations" label:"rules.countquotations" doc:"Count quotations that name their source."`
	CountSentences      bool `json:"count_sentences" required:"false" flag:"count-sentences" label:"rules.countsentences" doc:"Count isolated sentences."`
	// MinCharacters is the minimum number of letters, marks and digits in a match.
	MinCharacters int `json:"min_characters" minimum:"0" maximum:"1000000" unit:"letters and digits" flag:"min-match" label:"rules.min" doc:"Shortest match that counts. 0: any."`
	// MinSourceShare is the minimum share of the submission that a source must contain, 0 to 1.
	MinSourceShare float64 `json:"min_source_share" minimum:"0" maximum:"1" flag:"min-source" label:"rules.share" doc:"Smallest source that counts, as a share of the submission."`
	// CommonAbove is the number of documents above which a passage is common wording, regardless of the findings' Wording; 0 means
	// DefaultCommonAbove, and a negative number disables the rule.
	CommonAbove int `json:"common_above" minimum:"-1" maximum:"1000000000" unit:"documents" initial:"20" flag:"common-above" label:"rules.common" never:"count_common" neverlabel:"rules.countcommon" doc:"Wording found in more documents than this is common and does not count alone. 0: the default, 20; -1: nothing is common."`
	// ExcludeSources names documents that do not count. A Ref without a Document names a whole library, and one without a Library names a
	// whole site.
	ExcludeSources []concordat.Ref `json:"exclude_sources" required:"false" maxItems:"1000"`
	// OwnWork names, in the same way as ExcludeSources, earlier work of the submission's author.
	OwnWork []concordat.Ref `json:"own_work,omitempty" maxItems:"1000" doc:"Sources that are earlier work of the author"`
	// NotOwnWork names documents that are no longer proposed as earlier work of the author. It does not affect scores.
	NotOwnWork      []concordat.Ref   `json:"not_own_work,omitempty" maxItems:"1000" doc:"Sources that are not earlier work of the author, although this was proposed"`
	ExcludeKinds    []concordat.Kind  `json:"exclude_kinds" required:"false" maxItems:"10" enum:"verbatim,near,paraphrase,summary,common" flag:"exclude-kind" label:"rules.kinds" doc:"Kinds of evidence that do not count."`
	ExcludeGroups   []string          `json:"exclude_groups" required:"false" maxItems:"4" enum:"uncited,unquoted,unsourced,quoted_cited" flag:"exclude-group" label:"rules.groups" doc:"Groups of passages that do not count: without citation, cited without quotation marks, quoted without source, quoted and cited."`
	ExcludeSections []string          `json:"exclude_sections" required:"false" maxItems:"1000" flag:"exclude-section" label:"rules.sections" doc:"Sections of templates, by name, that do not count."`
	ExcludeTemplate []string          `json:"exclude_template" required:"false" maxItems:"100" doc:"Texts whose wording does not count"`
	ExcludePassages []ExcludedPassage `json:"exclude_passages" required:"false" maxItems:"1000"`
	CountWording    []CountedWording  `json:"count_wording" required:"false" maxItems:"1000" doc:"Shared wording and isolated sentences that count by decision"`
	CountLeads      []LeadRuling      `json:"count_leads" required:"false" maxItems:"1000" doc:"Leads that count by decision, apart from evidence"`
	SetAsideLeads   []LeadRuling      `json:"set_aside_leads" required:"false" maxItems:"1000" doc:"Leads that were set aside"`
}

// DefaultCommonAbove is the number of documents above which wording is common; in laws and web pages, the few blocks above it produce
// most duplicate pairs (doc/design.md, detection).
const DefaultCommonAbove = 20

// Ruling is a decision about a place in the submission, with a reason.
type Ruling struct {
	Span    concordat.Span `json:"span"` // in the submission's text
	Comment string         `json:"comment" minLength:"1" maxLength:"10000"`
	By      string         `json:"by,omitempty" doc:"Account that decided; the site sets it for new decisions"`
	At      time.Time      `json:"at,omitzero" required:"false" doc:"When it was decided; the site sets it for new decisions"`
}

// ExcludedPassage is a passage excluded from scores.
type ExcludedPassage = Ruling

// CountedWording is shared wording, or an isolated sentence, that counts because of a decision.
type CountedWording = Ruling

// ruleWords lists the lines in which a report states its rules, in order. A rule can have no line or several.
var ruleWords = []struct {
	rule string // JSON name of the rule
	say  func(*Report) []string
}{
	{"exclude_quotes", func(r *Report) []string { return r.line("Quotations: %s.", r.counted(!r.Rules.ExcludeQuotes)) }},
	{"count_quotations", func(r *Report) []string {
		if r.Rules.ExcludeQuotes {
			return nil
		}
		return r.line("Quotations that name their source: %s.", r.counted(r.Rules.CountQuotations))
	}},
	{"exclude_groups", func(r *Report) (out []string) {
		for _, g := range r.Rules.ExcludeGroups {
			out = append(out, r.Language.Say("Excluded: the group “%s”.", GroupName(r.Language, concordat.Group(g))))
		}
		return out
	}},
	{"exclude_bibliography", func(r *Report) []string {
		return r.line("List of references: %s.", r.counted(!r.Rules.ExcludeBibliography))
	}},
	{"exclude_citations", func(r *Report) []string {
		return r.line("Citation markers: %s.", r.counted(!r.Rules.ExcludeCitations))
	}},
	{"count_templates", func(r *Report) []string {
		var lines []string
		if len(r.Templates) > 0 {
			lines = r.line("Wording of %s: %s.", r.Language.Plural(len(r.Templates), "registered template", "registered templates"),
				r.counted(r.Rules.CountTemplates))
		}
		for _, t := range r.Counting {
			lines = append(lines, r.line("Wording “%s”: counted, by decision of library %s.", t.Name, r.LibraryWords(t.Site, t.Library))...)
		}
		return lines
	}},
	{"min_characters", func(r *Report) []string {
		if r.Rules.MinCharacters <= 0 {
			return r.line("Minimum length of a match: none.")
		}
		return r.line("Minimum length of a match: %s.", r.Language.Plural(r.Rules.MinCharacters, "letter or digit", "letters and digits"))
	}},
	{"count_sentences", func(r *Report) []string {
		return r.line("Isolated sentences: %s.", r.counted(r.Rules.CountSentences))
	}},
	{"count_forms", func(r *Report) []string {
		return r.line("Wording that reads like a form: %s.", r.counted(r.Rules.CountForms))
	}},
	{"min_source_share", func(r *Report) []string {
		if r.Rules.MinSourceShare <= 0 {
			return nil
		}
		return r.line("Minimum share of a source: %s.", r.Language.percent1(r.Rules.MinSourceShare))
	}},
	{"common_above", func(r *Report) []string {
		if r.Rules.CommonAbove < 0 {
			return r.line("Common wording: counted.")
		}
		return append(r.line("Common wording does not count: up to 59 consecutive words that a fifth of the documents (at least three) or more than %d documents contain. Longer wording in as many documents is to be decided.", cmp.Or(r.Rules.CommonAbove, DefaultCommonAbove)),
			r.line("Set phrases do not count either: up to 59 consecutive words in at least five documents that have little else in common.")...)
	}},
	{"exclude_kinds", func(r *Report) (out []string) {
		for _, k := range r.Rules.ExcludeKinds {
			out = append(out, r.Language.Say("Excluded: passages of the kind “%s”.", r.Language.Kind(k)))
		}
		return out
	}},
	{"exclude_sections", func(r *Report) (out []string) {
		for _, s := range r.Rules.ExcludeSections {
			out = append(out, r.Language.Say("Excluded: section “%s”.", s))
		}
		return out
	}},
	{"exclude_sources", func(r *Report) []string { return r.sourceLines("Excluded: source %s.", r.Rules.ExcludeSources) }},
	{"own_work", func(r *Report) []string {
		return r.sourceLines("Excluded as the author's earlier work: %s.", r.Rules.OwnWork)
	}},
	{"not_own_work", func(r *Report) []string {
		return r.sourceLines("Not the author's earlier work, although it was proposed: %s.", r.Rules.NotOwnWork)
	}},
	{"exclude_template", func(r *Report) []string {
		if len(r.Rules.ExcludeTemplate) == 0 {
			return nil
		}
		return r.line("Excluded: wording of %s.", r.Language.Plural(len(r.Rules.ExcludeTemplate), "given template", "given templates"))
	}},
}

// RuleWords describes the rules of a report, one line each.
func (r *Report) RuleWords() (out []string) {
	for _, w := range ruleWords {
		out = append(out, w.say(r)...)
	}
	return out
}

func (r *Report) line(text string, args ...any) []string {
	return []string{r.Language.Say(text, args...)}
}

func (r *Report) counted(counts bool) string {
	return r.Language.Say(map[bool]string{true: "counted", false: "excluded"}[counts])
}

func (r *Report) sourceLines(text string, refs []concordat.Ref) (out []string) {
	for _, s := range refs {
		out = append(out, r.Language.Say(text, strings.TrimRight(s.String(), "/")))
	}
	return out
}

// Rule is an entry in the table of rules for whole reports, built from the tags of a field of [Rules]. Command flags, configuration keys,
// web forms and their documentation are generated from it.
type Rule struct {
	Name    string   // name in JSON and in forms; report.NAME is the configuration key
	Flag    string   // flag of commands
	Label   string   // key of its label on pages
	Doc     string   // what it does, in one or two sentences
	Unit    string   // unit of a number; a float64 is a share
	Initial string   // configured value; empty for the zero value
	Words   []string // values allowed in a list; nil allows any text
	// Never is the name of a check box that makes the number negative to disable the rule. NeverLabel is the key of its label.
	Never, NeverLabel string
	Least, Most       float64 // bounds of a number

	field int
}

// Of returns a pointer to the rule's value in rules: a *bool, *int, *float64, *[]string or *[]concordat.Kind.
func (r Rule) Of(rules *Rules) any {
	return reflect.ValueOf(rules).Elem().Field(r.field).Addr().Interface()
}

// RuleTable returns the rules for whole reports, in field order.
func RuleTable() []Rule {
	var out []Rule
	t := reflect.TypeFor[Rules]()
	for i := range t.NumField() {
		tag := t.Field(i).Tag
		if tag.Get("flag") == "" {
			continue
		}
		name, _, _ := strings.Cut(tag.Get("json"), ",")
		r := Rule{Name: name, Flag: tag.Get("flag"), Label: tag.Get("label"), Doc: tag.Get("doc"), Unit: tag.Get("unit"),
			Initial: tag.Get("initial"), Never: tag.Get("never"), NeverLabel: tag.Get("neverlabel"), field: i}
		if words := tag.Get("enum"); words != "" {
			r.Words = strings.Split(words, ",")
		}
		r.Least, _ = strconv.ParseFloat(tag.Get("minimum"), 64)
		r.Most, _ = strconv.ParseFloat(tag.Get("maximum"), 64)
		out = append(out, r)
	}
	return out
}

// Fault describes how the rule's value is out of range, or returns "" if it is in range.
func (r Rule) Fault(rules *Rules) string {
	number := func(x float64) string {
		if x >= r.Least && x <= r.Most { // false for NaN
			return ""
		}
		text := func(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }
		return fmt.Sprintf("%s: want %s to %s", text(x), text(r.Least), text(r.Most))
	}
	switch p := r.Of(rules).(type) {
	case *int:
		return number(float64(*p))
	case *float64:
		return number(*p)
	case *[]string:
		return r.wrongWord(*p)
	case *[]concordat.Kind:
		var words []string
		for _, k := range *p {
			words = append(words, string(k))
		}
		return r.wrongWord(words)
	}
	return ""
}

// wrongWord returns a message that names a list element unknown to the rule, or "" if there is none or the rule accepts any text.
func (r Rule) wrongWord(words []string) string {
	for _, w := range words {
		if r.Words != nil && !slices.Contains(r.Words, w) {
			return fmt.Sprintf("%s: want %s", w, strings.Join(r.Words, ", "))
		}
	}
	return ""
}

// Over returns r with the rules for whole reports that are set in over: true flags, nonzero numbers, and additional list elements.
func (r Rules) Over(over Rules) Rules {
	for _, rule := range RuleTable() {
		switch to := rule.Of(&r).(type) {
		case *bool:
			*to = *to || *rule.Of(&over).(*bool)
		case *int:
			*to = cmp.Or(*rule.Of(&over).(*int), *to)
		case *float64:
			*to = cmp.Or(*rule.Of(&over).(*float64), *to)
		case *[]string:
			*to = slices.Concat(*to, *rule.Of(&over).(*[]string))
		case *[]concordat.Kind:
			*to = slices.Concat(*to, *rule.Of(&over).(*[]concordat.Kind))
		}
	}
	return r
}

// Validate returns an error listing everything invalid in r: shares outside 0 to 1, empty spans, unknown kinds. Build accepts invalid
// rules: impossible ones exclude nothing, or everything.
func (r *Rules) Validate() error {
	var errs []error
	fault := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf(format+": %w", append(args, concordat.ErrInvalid)...))
	}
	for _, rule := range RuleTable() {
		if wrong := rule.Fault(r); wrong != "" {
			fault("%s %s", rule.Name, wrong)
		}
	}
	for _, s := range slices.Concat(r.ExcludeSources, r.OwnWork, r.NotOwnWork) {
		if s.Site == "" || s.Library == "" && s.Document != "" {
			fault("source %q is missing its site or library", s)
		}
	}
	for i, p := range r.ExcludePassages {
		if p.Span.Start < 0 || p.Span.End <= p.Span.Start {
			fault("excluded passage %d: span %d to %d", i, p.Span.Start, p.Span.End)
		}
	}
	for i, w := range r.CountWording {
		if w.Span.Start < 0 || w.Span.End <= w.Span.Start {
			fault("counted wording %d: span %d to %d", i, w.Span.Start, w.Span.End)
		}
	}
	for i, d := range slices.Concat(r.CountLeads, r.SetAsideLeads) {
		if d.Span.Start < 0 || d.Span.End <= d.Span.Start || d.Source.Start < 0 || d.Source.End <= d.Source.Start {
			fault("decision %d on a lead: span %d to %d, source span %d to %d", i, d.Span.Start, d.Span.End, d.Source.Start, d.Source.End)
		}
	}
	return errors.Join(errs...)
}

// InPoints returns the rules in their external form: spans of the submission in code points, and no nil lists except OwnWork and
// NotOwnWork.
func (r Rules) InPoints(count *Counter) Rules { return r.place(count.Points) }

// InBytes is the inverse of InPoints.
func (r Rules) InBytes(count *Counter) Rules { return r.place(count.Bytes) }

func (r Rules) place(at func(concordat.Span) concordat.Span) Rules {
	r.ExcludeSources, r.ExcludeKinds = append([]concordat.Ref{}, r.ExcludeSources...), append([]concordat.Kind{}, r.ExcludeKinds...)
	r.ExcludeGroups = append([]string{}, r.ExcludeGroups...)
	r.ExcludeSections, r.ExcludeTemplate = append([]string{}, r.ExcludeSections...), append([]string{}, r.ExcludeTemplate...)
	for _, list := range []*[]Ruling{&r.ExcludePassages, &r.CountWording} {
		*list = append([]Ruling{}, *list...)
		for i := range *list {
			(*list)[i].Span = at((*list)[i].Span)
		}
	}
	for _, list := range []*[]LeadRuling{&r.CountLeads, &r.SetAsideLeads} {
		*list = append([]LeadRuling{}, *list...)
		for i := range *list {
			(*list)[i].Span = at((*list)[i].Span)
		}
	}
	return r
}

// Decided returns r as a replacement for earlier rules; existing rulings keep their author and time, and new ones get the given author
// and time.
func (r Rules) Decided(before Rules, by string, at time.Time) Rules {
	own := func(list, old []Ruling) (out []Ruling) {
		for _, x := range list {
			x.Comment, x.By, x.At = strings.TrimSpace(x.Comment), by, at
			if i := slices.IndexFunc(old, func(o Ruling) bool { return o.Span == x.Span && o.Comment == x.Comment }); i >= 0 {
				x = old[i]
			}
			out = append(out, x)
		}
		return out
	}
	leads := func(list, old []LeadRuling) (out []LeadRuling) {
		for _, x := range list {
			x.Comment, x.By, x.At = strings.TrimSpace(x.Comment), by, at
			same := func(o LeadRuling) bool { return o.Span == x.Span && o.Source == x.Source && o.Comment == x.Comment }
			if i := slices.IndexFunc(old, same); i >= 0 {
				x = old[i]
			}
			out = append(out, x)
		}
		return out
	}
	r.ExcludePassages, r.CountWording = own(r.ExcludePassages, before.ExcludePassages), own(r.CountWording, before.CountWording)
	r.CountLeads, r.SetAsideLeads = leads(r.CountLeads, before.CountLeads), leads(r.SetAsideLeads, before.SetAsideLeads)
	return r
}
