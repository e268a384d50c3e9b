package web

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"concordat"
	"concordat/report"
	"concordat/store"
	"concordat/web/message"
	"concordat/web/pages"
)

// Bounds on template wording in the rules of one report.
const (
	maxTemplates     = 20
	maxTemplateBytes = 200 << 10
)

// changeRules changes the rules of one report. Earlier rules are kept and can be restored.
func (w reportPages) changeRules(rw http.ResponseWriter, r *http.Request, v *Visitor) {
	t, now, err := w.reviewForm(rw, r, v)
	var rules report.Rules
	if err == nil {
		rules, err = w.ApplyRules(r.Context(), v, t, now, r.PostForm)
	}
	if err != nil {
		w.Fail(rw, r, v, err)
		return
	}
	var log []change
	if now, err := w.Review(r.Context(), t); err == nil {
		log = now.Log
	}
	http.Redirect(rw, r, w.afterRules(r, t, rules, log), http.StatusSeeOther)
}

// ApplyRules applies a form to the current rules and saves the result.
func (w reportPages) ApplyRules(ctx context.Context, v *Visitor, t store.Task, now *Review, f url.Values) (report.Rules, error) {
	rules, subject, err := w.NewRules(ctx, v, t.ID, now.Rules, f)
	if err == nil {
		err = w.AppendRules(ctx, v, t.ID, rules, f.Get("action"), subject, store.AnyRules)
	}
	return rules, err
}

// shortened cuts s to the maximum length for the audit entry of a change.
func shortened(s string) string {
	if runes := []rune(s); len(runes) > 200 {
		return string(runes[:200]) + "…"
	}
	return s
}

// afterRules returns the address of the page on which the rules were changed, at the place of the change. The page describes the last
// change of the log.
func (w reportPages) afterRules(r *http.Request, t store.Task, rules report.Rules, log []change) string {
	to := url.URL{Path: "/checks/" + string(t.ID)}
	f := r.PostForm
	q := leadQuery(leadFilterOf(f))
	if len(log) > 0 {
		q.Set("changed", strconv.Itoa(log[len(log)-1].Seq))
	}
	to.RawQuery = q.Encode()
	at, place := f.Get("at"), f.Get("start")
	if at != "" && f.Get("action") == "undo" { // from the notice of the change, not from the log
		for _, c := range log {
			if strconv.Itoa(c.Seq) == f.Get("change") {
				start, id := c.place()
				at, place = cmp.Or(id, at), start
			}
		}
	}
	switch at {
	case "passage", "text", "pages":
		// Rules split and join passages, but the place stays the same.
		start, err := strconv.Atoi(place)
		got, err2 := w.Reading(r.Context(), t.ID, rules, message.LanguageOf(r).Report(), SeeEverything)
		if err == nil && err2 == nil {
			if i := slices.IndexFunc(got.Report.Evidence, func(e concordat.Evidence) bool { return e.Span.End > start }); i >= 0 {
				switch n := got.Report.Number(i); at {
				case "text":
					to.Fragment = "m" + n
				case "pages":
					to.Path += "/pages"
					q.Set("passage", n)
					to.RawQuery = q.Encode()
				default:
					to.Path += "/passages/" + n
				}
			}
		}
	case "list":
		to.Path += "/sources"
	case "beside":
		to.Path += "/compare"
		to.RawQuery = refQuery(refOf(f)).Encode()
	case "":
		if a := f.Get("action"); a == "set" || a == "undo" {
			to.Fragment = "rules"
		}
	default:
		to.Fragment = at
	}
	return to.String()
}

// NewRules applies form f to the current rules. It returns the new rules and a description of what was changed.
func (w reportPages) NewRules(ctx context.Context, v *Visitor, id concordat.TaskID, rules report.Rules,
	f url.Values) (report.Rules, string, error) {
	ref := refOf(f)
	name := strings.TrimRight(ref.String(), "/")
	var err error
	switch action := f.Get("action"); action {
	case "set":
		rules, err = readRules(rules, f)
		return rules, "", err
	case "exclude-source":
		rules.ExcludeSources = with(rules.ExcludeSources, ref)
		return rules, name, nil
	case "include-source":
		all, err := placesOf(ctx, w, id, rules, ref)
		rules.ExcludeSources = without(rules.ExcludeSources, all)
		return rules, name, err
	case "own-work":
		all, err := placesOf(ctx, w, id, rules, ref)
		rules.OwnWork, rules.NotOwnWork = with(rules.OwnWork, ref), without(rules.NotOwnWork, all)
		return rules, name, err
	case "not-own-work":
		all, err := placesOf(ctx, w, id, rules, ref)
		rules.OwnWork = without(rules.OwnWork, all)
		return rules, name, err
	case "dismiss-own-work":
		rules.NotOwnWork = with(rules.NotOwnWork, ref)
		return rules, name, nil
	case "exclude-passage", "include-passage":
		return w.passageRules(v, rules, f)
	case "count-wording", "uncount-wording":
		return w.wordingRules(v, rules, f)
	case "count-lead", "set-aside-lead", "open-lead":
		return w.leadRules(ctx, v, id, rules, f)
	case "exclude-group", "include-group":
		g := concordat.Group(f.Get("group"))
		if !slices.Contains(report.Groups(), g) {
			return rules, "", fmt.Errorf("group %q: %w", g, concordat.ErrInvalid)
		}
		return report.WithGroup(rules, g, action == "include-group"), string(g), nil
	case "template-passage":
		return w.passageTemplate(ctx, id, rules, f)
	case "add-template":
		rules, err = addTemplate(rules, f.Get("text"))
		return rules, "", err
	case "clear-templates":
		rules.ExcludeTemplate = nil
		return rules, "", nil
	case "undo":
		seq, _ := strconv.Atoi(f.Get("change")) // without a number, the latest change
		return w.undoOwn(ctx, v, id, seq)
	default:
		return rules, "", fmt.Errorf("action %q: %w", action, concordat.ErrInvalid)
	}
}

func with(refs []concordat.Ref, ref concordat.Ref) []concordat.Ref {
	if slices.Contains(refs, ref) {
		return refs
	}
	return append(slices.Clone(refs), ref)
}

func without(refs, some []concordat.Ref) []concordat.Ref {
	return slices.DeleteFunc(slices.Clone(refs), func(one concordat.Ref) bool { return slices.Contains(some, one) })
}

// placesOf returns the documents that are texts of the same work as a source; a rule can refer to any of them.
func placesOf(ctx context.Context, w reportPages, id concordat.TaskID, rules report.Rules, ref concordat.Ref) ([]concordat.Ref, error) {
	got, err := w.Reading(ctx, id, rules, report.English, SeeEverything)
	if err != nil {
		return nil, err
	}
	if i := got.Report.Source(ref); i >= 0 {
		return got.Report.Sources[i].AllPlaces(), nil
	}
	return []concordat.Ref{ref}, nil
}

// ruleField is a form field for a rule about a whole report.
type ruleField struct {
	Name, Label string // field name, also the message key of its label
	Kind        string // box, words, texts, number or percent
	On          bool   // state of a checkbox
	Value       string // value of a number
	Least, Most string
	Hint        string // for a number: the value used if the field is empty
	Options     []ruleOption
}

// ruleOption is an option in a list.
type ruleOption struct {
	Value string
	On    bool
}

// ticked returns the name of the field in which a tick means that something counts. Rules that exclude something have their own field
// name for this, so that every tick in a form has the same meaning.
func ticked(r report.Rule) string {
	if rest, ok := strings.CutPrefix(r.Name, "exclude_"); ok {
		return "counts_" + rest
	}
	return r.Name
}

// ruleFields returns the rules of report.RuleTable as form fields: checkboxes, lists, then numbers. A tick means that something counts.
// The fields show the rules or, if sent is not nil, the values sent before. Sections are the report's sections; a form without a report
// has no such list.
func ruleFields(rules report.Rules, sent url.Values, sections []string) []ruleField {
	var boxes, lists, numbers []ruleField
	on := func(name, value string, is bool) bool {
		if sent != nil {
			return slices.Contains(sent[name], value)
		}
		return is
	}
	option := func(f ruleField, value string, excluded bool) ruleOption {
		return ruleOption{value, on(f.Name, value, !excluded)}
	}
	for _, r := range report.RuleTable() {
		f := ruleField{Name: ticked(r), Label: r.Label, Least: strconv.FormatFloat(r.Least, 'f', -1, 64),
			Most: strconv.FormatFloat(r.Most, 'f', -1, 64), Hint: r.Initial}
		switch p := r.Of(&rules).(type) {
		case *bool:
			f.Kind, f.On = "box", on(f.Name, "on", *p == (f.Name == r.Name))
			boxes = append(boxes, f)
		case *[]concordat.Kind:
			f.Kind = "words"
			for _, word := range r.Words {
				f.Options = append(f.Options, option(f, word, slices.Contains(*p, concordat.Kind(word))))
			}
			lists = append(lists, f)
		case *[]string:
			offers := sections
			if f.Kind = "texts"; r.Words != nil {
				f.Kind, offers = "words", r.Words
			}
			for _, s := range offers {
				f.Options = append(f.Options, option(f, s, slices.Contains(*p, s)))
			}
			if len(f.Options) > 0 {
				lists = append(lists, f)
			}
		case *int:
			f.Kind = "number"
			if r.Never != "" {
				boxes = append(boxes, ruleField{Name: r.Never, Label: r.NeverLabel, Kind: "box", On: on(r.Never, "on", *p < 0)})
				f.Least = "1"
			}
			if *p > 0 || r.Never == "" {
				f.Value = strconv.Itoa(*p)
			}
			numbers = append(numbers, f)
		case *float64:
			f.Kind, f.Most, f.Value = "percent", "100", strconv.FormatFloat(100**p, 'g', 4, 64)
			numbers = append(numbers, f)
		}
	}
	if sent != nil {
		for i := range numbers {
			numbers[i].Value = sent.Get(numbers[i].Name)
		}
	}
	return slices.Concat(boxes, lists, numbers)
}

// readRules reads the rules for a whole report from a form made by ruleFields. A number missing from the form remains unchanged.
func readRules(rules report.Rules, f url.Values) (report.Rules, error) {
	for _, r := range report.RuleTable() {
		text := f.Get(r.Name)
		var err error
		switch p := r.Of(&rules).(type) {
		case *bool:
			*p = boxed(f, r.Name)
			if name := ticked(r); name != r.Name && f.Has(name) {
				*p = !boxed(f, name)
			}
		case *[]concordat.Kind:
			*p = unticked(f, ticked(r), chosen(f, r.Name, *p))
		case *[]string:
			*p = unticked(f, ticked(r), chosen(f, r.Name, *p))
		case *int:
			if text != "" {
				*p, err = strconv.Atoi(text)
			}
			switch {
			case r.Never == "":
			case text != "" && *p < 1:
				return rules, message.Invalid("wrong.number", text)
			case boxed(f, r.Never):
				*p = -1
			case *p < 0:
				*p = 0
			}
		case *float64:
			if text != "" {
				*p, err = strconv.ParseFloat(text, 64)
				*p /= 100
			}
		}
		if err != nil {
			return rules, message.Invalid("wrong.number", text)
		}
	}
	return rules, nil
}

// chosen returns the values of a list in a form. A list in a form begins with an empty value; if that is missing, the list remains
// unchanged.
func chosen[T ~string](f url.Values, name string, before []T) (out []T) {
	if !f.Has(name) {
		return before
	}
	for _, s := range f[name] {
		if s != "" {
			out = append(out, T(s))
		}
	}
	return out
}

// boxed reports whether a checkbox is ticked; an empty field of the same name shows that the form contains the checkbox.
func boxed(f url.Values, name string) bool {
	return slices.ContainsFunc(f[name], func(s string) bool { return s != "" })
}

// offered is the suffix of the names of fields that contain the options of a list.
const offered = ".of"

// unticked returns the options of a list that were offered but not ticked, and earlier values that were not offered.
func unticked[T ~string](f url.Values, name string, before []T) []T {
	if !f.Has(name) {
		return before
	}
	var out []T
	for _, x := range before {
		if !slices.Contains(f[name+offered], string(x)) {
			out = append(out, x)
		}
	}
	for _, x := range f[name+offered] {
		if !slices.Contains(f[name], x) {
			out = append(out, T(x))
		}
	}
	return out
}

// RuleForm returns the form from which readRules reads the rules for a whole report; an optional rule is omitted if its value is 0.
func RuleForm(rules report.Rules) url.Values {
	f := url.Values{}
	for _, r := range report.RuleTable() {
		switch p := r.Of(&rules).(type) {
		case *bool:
			if *p {
				f.Set(r.Name, "on")
			}
		case *int:
			switch {
			case r.Never == "" || *p > 0:
				f.Set(r.Name, strconv.Itoa(*p))
			case *p < 0:
				f.Set(r.Never, "on")
			}
		case *float64:
			f.Set(r.Name, strconv.FormatFloat(100**p, 'g', -1, 64))
		case *[]string:
			f[r.Name] = append([]string{""}, *p...)
		case *[]concordat.Kind:
			f[r.Name] = []string{""}
			for _, k := range *p {
				f.Add(r.Name, string(k))
			}
		}
	}
	return f
}

// spanOf reads the span of a passage from a form.
func spanOf(f url.Values) (s concordat.Span, err error) {
	if s.Start, err = strconv.Atoi(f.Get("start")); err == nil {
		s.End, err = strconv.Atoi(f.Get("end"))
	}
	switch {
	case err != nil:
		return s, message.Invalid("wrong.passage")
	case s.Start < 0 || s.End <= s.Start:
		return s, message.Absent("wrong.passage")
	}
	return s, nil
}

func (w reportPages) passageRules(v *Visitor, rules report.Rules, f url.Values) (report.Rules, string, error) {
	s, err := spanOf(f)
	if err != nil {
		return rules, "", err
	}
	place := fmt.Sprintf("%d–%d", s.Start, s.End)
	if f.Get("action") == "include-passage" {
		rules.ExcludePassages = slices.DeleteFunc(slices.Clone(rules.ExcludePassages),
			func(p report.ExcludedPassage) bool { return p.Span.Overlaps(s) })
		return rules, place, nil
	}
	why, err := pages.Reason(f.Get("comment"), true)
	if err != nil {
		return rules, "", err
	}
	rules.ExcludePassages = append(slices.Clone(rules.ExcludePassages),
		report.ExcludedPassage{Span: s, Comment: why, By: v.Name, At: w.o.Now()})
	return rules, place + ": " + why, nil
}

// wordingRules makes shared wording count, or stop counting.
func (w reportPages) wordingRules(v *Visitor, rules report.Rules, f url.Values) (report.Rules, string, error) {
	s, err := spanOf(f)
	if err != nil {
		return rules, "", err
	}
	place := fmt.Sprintf("%d–%d", s.Start, s.End)
	if f.Get("action") == "uncount-wording" {
		rules.CountWording = slices.DeleteFunc(slices.Clone(rules.CountWording), func(c report.CountedWording) bool { return c.Span.Overlaps(s) })
		return rules, place, nil
	}
	why, err := pages.Reason(f.Get("comment"), true)
	if err != nil {
		return rules, "", err
	}
	rules.CountWording = append(slices.Clone(rules.CountWording), report.CountedWording{Span: s, Comment: why, By: v.Name, At: w.o.Now()})
	return rules, place + ": " + why, nil
}

// leadRules records a decision about a lead: it counts, it is not a lead, or undecided.
func (w reportPages) leadRules(ctx context.Context, v *Visitor, id concordat.TaskID, rules report.Rules,
	f url.Values) (report.Rules, string, error) {
	at, err := spanOf(f)
	if err != nil {
		return rules, "", err
	}
	there, err := spanOf(url.Values{"start": f["source_start"], "end": f["source_end"]})
	if err != nil {
		return rules, "", err
	}
	got, err := w.Reading(ctx, id, rules, report.English, SeeEverything)
	if err != nil {
		return rules, "", err
	}
	one := report.LeadRuling{Span: at, Source: there, By: v.Name, At: w.o.Now()}
	i := slices.IndexFunc(got.Report.Leads, func(l report.RuledLead) bool { return one.Of(l.Lead) })
	if i < 0 {
		return rules, "", message.Absent("wrong.lead")
	}
	lead, subject := got.Report.Leads[i], got.Report.Leads[i].Number
	others := func(ds []report.LeadRuling) []report.LeadRuling {
		return slices.DeleteFunc(slices.Clone(ds), func(d report.LeadRuling) bool { return d.Of(lead.Lead) })
	}
	rules.CountLeads, rules.SetAsideLeads = others(rules.CountLeads), others(rules.SetAsideLeads)
	action := f.Get("action")
	if action == "open-lead" {
		return rules, subject, nil
	}
	if one.Comment, err = pages.Reason(f.Get("comment"), true); err != nil {
		return rules, "", err
	}
	if action == "count-lead" {
		rules.CountLeads = append(rules.CountLeads, one)
	} else {
		rules.SetAsideLeads = append(rules.SetAsideLeads, one)
	}
	return rules, subject + ": " + one.Comment, nil
}

// passageTemplate turns the wording of a passage into template wording, wherever it occurs.
func (w reportPages) passageTemplate(ctx context.Context, id concordat.TaskID, rules report.Rules,
	f url.Values) (report.Rules, string, error) {
	s, err := spanOf(f)
	if err != nil {
		return rules, "", err
	}
	got, err := w.Reading(ctx, id, rules, report.English, SeeEverything)
	if err != nil {
		return rules, "", err
	}
	text := got.Report.Submission.Text
	if s.End > len(text) {
		return rules, "", message.Absent("wrong.passage")
	}
	rules, err = addTemplate(rules, strings.ToValidUTF8(s.In(text), ""))
	return rules, fmt.Sprintf("%d–%d", s.Start, s.End), err
}

func addTemplate(rules report.Rules, text string) (report.Rules, error) {
	text = strings.TrimSpace(text)
	size := len(text)
	for _, t := range rules.ExcludeTemplate {
		size += len(t)
	}
	refuse := message.Invalid
	if text != "" && len(text) <= maxTemplateBytes {
		refuse = message.Conflict // the text itself is valid; the earlier templates leave no room for it
	}
	if text == "" || size > maxTemplateBytes || len(rules.ExcludeTemplate) >= maxTemplates {
		return rules, refuse("wrong.wording", maxTemplateBytes>>10, maxTemplates)
	}
	rules.ExcludeTemplate = append(slices.Clone(rules.ExcludeTemplate), text)
	return rules, nil
}
