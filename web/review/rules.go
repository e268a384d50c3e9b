package review

import (
	"context"
	"fmt"
	"net/url"
	"regexp"
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

// ApplyRules applies a form to the current rules and saves the result.
func (w *Reviews) ApplyRules(ctx context.Context, v *pages.Visitor, t store.Task, now *Review, f url.Values) (report.Rules, error) {
	rules, subject, err := w.NewRules(ctx, v, t.ID, now.Rules, f)
	if err == nil {
		err = w.AppendRules(ctx, v, t.ID, rules, f.Get("action"), subject, store.AnyRules)
	}
	return rules, err
}

// Shortened cuts s to the maximum length for the audit entry of a change.
func Shortened(s string) string {
	if runes := []rune(s); len(runes) > 200 {
		return string(runes[:200]) + "…"
	}
	return s
}

// NewRules applies form f to the current rules. It returns the new rules and a description of what was changed.
func (w *Reviews) NewRules(ctx context.Context, v *pages.Visitor, id concordat.TaskID, rules report.Rules,
	f url.Values) (report.Rules, string, error) {
	ref := RefOf(f)
	name := strings.TrimRight(ref.String(), "/")
	var err error
	switch action := f.Get("action"); action {
	case "set":
		rules, err = ReadRules(rules, f)
		return rules, "", err
	case "exclude-source":
		rules.ExcludeSources = with(rules.ExcludeSources, ref)
		return rules, name, nil
	case "include-source":
		all, err := w.placesOf(ctx, id, rules, ref)
		rules.ExcludeSources = without(rules.ExcludeSources, all)
		return rules, name, err
	case "own-work":
		all, err := w.placesOf(ctx, id, rules, ref)
		rules.OwnWork, rules.NotOwnWork = with(rules.OwnWork, ref), without(rules.NotOwnWork, all)
		return rules, name, err
	case "not-own-work":
		all, err := w.placesOf(ctx, id, rules, ref)
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
func (w *Reviews) placesOf(ctx context.Context, id concordat.TaskID, rules report.Rules, ref concordat.Ref) ([]concordat.Ref, error) {
	got, err := w.o.Reports.Report(ctx, id, rules)
	if err != nil {
		return nil, err
	}
	if i := got.Source(ref); i >= 0 {
		return got.Sources[i].AllPlaces(), nil
	}
	return []concordat.Ref{ref}, nil
}

// SpanOf reads the span of a passage from a form.
func SpanOf(f url.Values) (s concordat.Span, err error) {
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

// passageNumber matches the results of report.Report.Number.
var passageNumber = regexp.MustCompile(`^[0-9]{1,9}[a-z]{0,4}$`)

// PassageNumber returns the number of the passage on whose page a form was, or "" if it was on another page.
func PassageNumber(f url.Values) string {
	if n := f.Get("number"); passageNumber.MatchString(n) {
		return n
	}
	return ""
}

func (w *Reviews) passageRules(v *pages.Visitor, rules report.Rules, f url.Values) (report.Rules, string, error) {
	s, err := SpanOf(f)
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
func (w *Reviews) wordingRules(v *pages.Visitor, rules report.Rules, f url.Values) (report.Rules, string, error) {
	s, err := SpanOf(f)
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

// leadRules records a decision that a lead counts, is not a lead, or is undecided again.
func (w *Reviews) leadRules(ctx context.Context, v *pages.Visitor, id concordat.TaskID, rules report.Rules,
	f url.Values) (report.Rules, string, error) {
	at, err := SpanOf(f)
	if err != nil {
		return rules, "", err
	}
	there, err := SpanOf(url.Values{"start": f["source_start"], "end": f["source_end"]})
	if err != nil {
		return rules, "", err
	}
	got, err := w.o.Reports.Report(ctx, id, rules)
	if err != nil {
		return rules, "", err
	}
	one := report.LeadRuling{Span: at, Source: there, By: v.Name, At: w.o.Now()}
	i := slices.IndexFunc(got.Leads, func(l report.RuledLead) bool { return one.Of(l.Lead) })
	if i < 0 {
		return rules, "", message.Absent("wrong.lead")
	}
	lead, subject := got.Leads[i], got.Leads[i].Number
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
func (w *Reviews) passageTemplate(ctx context.Context, id concordat.TaskID, rules report.Rules,
	f url.Values) (report.Rules, string, error) {
	s, err := SpanOf(f)
	if err != nil {
		return rules, "", err
	}
	got, err := w.o.Reports.Report(ctx, id, rules)
	if err != nil {
		return rules, "", err
	}
	text := got.Submission.Text
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

func RefOf(f url.Values) concordat.Ref {
	return concordat.Ref{Site: concordat.SiteID(f.Get("site")), Library: concordat.LibraryID(f.Get("library")),
		Document: concordat.DocumentID(f.Get("document"))}
}
