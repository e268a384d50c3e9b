package web

import (
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
)

// Bounds of wording that is given with the rules of one report.
const (
	maxTemplates     = 20
	maxTemplateBytes = 200 << 10
)

// changeRules changes the rules of one report; the former ones stay and can be had back.
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
	seq := 0
	if now, err := w.Review(r.Context(), t); err == nil && len(now.Log) > 0 {
		seq = now.Log[len(now.Log)-1].Seq
	}
	http.Redirect(rw, r, w.afterRules(r, t, rules, seq), http.StatusSeeOther)
}

// ApplyRules keeps what a form makes of the rules in force.
func (w reportPages) ApplyRules(ctx context.Context, v *Visitor, t store.Task, now *Review, f url.Values) (report.Rules, error) {
	rules, subject, err := w.NewRules(ctx, v, t.ID, now.Rules, f)
	if err == nil {
		err = w.AppendRules(ctx, v, t.ID, rules, f.Get("action"), subject, store.AnyRules)
	}
	return rules, err
}

// shortened bounds what a line of the audit says of a change.
func shortened(s string) string {
	if runes := []rune(s); len(runes) > 200 {
		return string(runes[:200]) + "…"
	}
	return s
}

// afterRules is the page on which a change of the rules was asked for, where it shows; seq is the change, of which it tells.
func (w reportPages) afterRules(r *http.Request, t store.Task, rules report.Rules, seq int) string {
	to := url.URL{Path: "/checks/" + string(t.ID)}
	f := r.PostForm
	q := leadQuery(leadFilterOf(f))
	if seq > 0 {
		q.Set("changed", strconv.Itoa(seq))
	}
	to.RawQuery = q.Encode()
	switch at := f.Get("at"); at {
	case "passage", "text":
		// Passages fall apart and together with the rules; the place stays.
		start, err := strconv.Atoi(f.Get("start"))
		got, err2 := w.Reading(r.Context(), t.ID, rules, message.LanguageOf(r).Report(), SeeEverything)
		if err == nil && err2 == nil {
			if i := slices.IndexFunc(got.Report.Evidence, func(e concordat.Evidence) bool { return e.Span.End > start }); i >= 0 {
				if n := got.Report.Number(i); at == "text" {
					to.Fragment = "m" + n
				} else {
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

// NewRules applies the form f to the rules in force. It returns the new rules and the subject of the change.
func (w reportPages) NewRules(ctx context.Context, v *Visitor, id concordat.TaskID, rules report.Rules,
	f url.Values) (report.Rules, string, error) {
	ref := refOf(f)
	name := strings.TrimRight(ref.String(), "/")
	var err error
	switch action := f.Get("action"); action {
	case "set":
		rules, err = setRules(rules, f)
		return rules, "", err
	case "exclude-source":
		rules.ExcludeSources = with(rules.ExcludeSources, ref)
		return rules, name, nil
	case "include-source":
		rules.ExcludeSources = without(rules.ExcludeSources, ref)
		return rules, name, nil
	case "own-work":
		rules.OwnWork = with(rules.OwnWork, ref)
		return rules, name, nil
	case "not-own-work":
		rules.OwnWork = without(rules.OwnWork, ref)
		return rules, name, nil
	case "exclude-passage", "include-passage":
		return w.passageRules(v, rules, f)
	case "count-wording", "uncount-wording":
		return w.wordingRules(v, rules, f)
	case "count-lead", "set-aside-lead", "open-lead":
		return w.leadRules(ctx, v, id, rules, f)
	case "template-passage":
		return w.passageTemplate(ctx, id, rules, f)
	case "add-template":
		rules, err = addTemplate(rules, f.Get("text"))
		return rules, "", err
	case "clear-templates":
		rules.ExcludeTemplate = nil
		return rules, "", nil
	case "undo":
		seq, _ := strconv.Atoi(f.Get("change")) // none: the latest
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

func without(refs []concordat.Ref, ref concordat.Ref) []concordat.Ref {
	return slices.DeleteFunc(slices.Clone(refs), func(one concordat.Ref) bool { return one == ref })
}

// setRules takes the rules that hold for the whole report from a form. What the form does not have of
// numbers stays as it is.
func setRules(rules report.Rules, f url.Values) (report.Rules, error) {
	least, err := strconv.Atoi(f.Get("min_characters"))
	if err != nil {
		return rules, message.Invalid("wrong.number", f.Get("min_characters"))
	}
	share, err := strconv.ParseFloat(f.Get("min_source"), 64)
	if err != nil {
		return rules, message.Invalid("wrong.number", f.Get("min_source"))
	}
	if s := f.Get("common_above"); s != "" {
		if rules.CommonAbove, err = strconv.Atoi(s); err != nil || rules.CommonAbove < 1 {
			return rules, message.Invalid("wrong.number", s)
		}
	}
	if f.Get("count_common") != "" {
		rules.CommonAbove = -1
	} else if rules.CommonAbove < 0 {
		rules.CommonAbove = 0
	}
	rules.ExcludeQuotes, rules.ExcludeBibliography, rules.ExcludeCitations = f.Get("quotes") != "", f.Get("bibliography") != "",
		f.Get("citations") != ""
	rules.CountTemplates, rules.CountForms, rules.CountSentences = f.Get("count_templates") != "", f.Get("count_forms") != "",
		f.Get("count_sentences") != ""
	rules.MinCharacters, rules.MinSourceShare = least, share/100
	rules.ExcludeKinds, rules.ExcludeSections = nil, f["section"]
	for _, k := range f["kind"] {
		rules.ExcludeKinds = append(rules.ExcludeKinds, concordat.Kind(k))
	}
	return rules, nil
}

// spanOf reads the place of a passage from a form.
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
	why, err := checkReason(f.Get("comment"), true)
	if err != nil {
		return rules, "", err
	}
	rules.ExcludePassages = append(slices.Clone(rules.ExcludePassages),
		report.ExcludedPassage{Span: s, Comment: why, By: v.Name, At: w.o.Now()})
	return rules, place + ": " + why, nil
}

// wordingRules counts a stretch of shared wording, or does so no longer.
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
	why, err := checkReason(f.Get("comment"), true)
	if err != nil {
		return rules, "", err
	}
	rules.CountWording = append(slices.Clone(rules.CountWording), report.CountedWording{Span: s, Comment: why, By: v.Name, At: w.o.Now()})
	return rules, place + ": " + why, nil
}

// leadRules decides about a lead: that it counts, that it is none, or neither.
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
	if one.Comment, err = checkReason(f.Get("comment"), true); err != nil {
		return rules, "", err
	}
	if action == "count-lead" {
		rules.CountLeads = append(rules.CountLeads, one)
	} else {
		rules.SetAsideLeads = append(rules.SetAsideLeads, one)
	}
	return rules, subject + ": " + one.Comment, nil
}

// passageTemplate makes the wording of a passage that of a template, wherever else it stands.
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
		refuse = message.Conflict // it would fit beside less
	}
	if text == "" || size > maxTemplateBytes || len(rules.ExcludeTemplate) >= maxTemplates {
		return rules, refuse("wrong.wording", maxTemplateBytes>>10, maxTemplates)
	}
	rules.ExcludeTemplate = append(slices.Clone(rules.ExcludeTemplate), text)
	return rules, nil
}
