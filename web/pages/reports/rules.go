package reports

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"concordat"
	"concordat/report"
	"concordat/store"
	"concordat/web/message"
	"concordat/web/pages"
	"concordat/web/review"
)

// changeRules changes the rules of one report. Earlier rules are kept and can be restored.
func (w Reports) changeRules(rw http.ResponseWriter, r *http.Request, v *pages.Visitor) {
	t, now, err := w.reviewForm(rw, r, v)
	var rules report.Rules
	if err == nil {
		rules, err = w.o.Reviews.ApplyRules(r.Context(), v, t, now, r.PostForm)
	}
	if err != nil {
		w.frame.Fail(rw, r, v, err)
		return
	}
	var log []review.Change
	if now, err := w.o.Reviews.Of(r.Context(), t); err == nil {
		log = now.Log
	}
	http.Redirect(rw, r, w.afterRules(r, t, rules, log), http.StatusSeeOther)
}

// afterRules returns the address of the page on which the rules were changed, at the place of the change. The page describes the last
// change of the log.
func (w Reports) afterRules(r *http.Request, t store.Task, rules report.Rules, log []review.Change) string {
	to := url.URL{Path: "/checks/" + string(t.ID)}
	f := r.PostForm
	q := pages.LeadQuery(pages.LeadFilterOf(f))
	if len(log) > 0 {
		q.Set("changed", strconv.Itoa(log[len(log)-1].Seq))
	}
	to.RawQuery = q.Encode()
	at, place := f.Get("at"), f.Get("start")
	if at != "" && f.Get("action") == "undo" { // from the notice of the change, not from the log
		for _, c := range log {
			if strconv.Itoa(c.Seq) == f.Get("change") {
				start, id := c.Place()
				at, place = cmp.Or(id, at), start
			}
		}
	}
	switch at {
	case "passage", "text", "pages":
		// Rules split and join passages, but the place stays the same.
		start, err := strconv.Atoi(place)
		got, err2 := w.o.Cache.Reading(r.Context(), t.ID, rules, message.LanguageOf(r).Report(), review.SeeEverything)
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
		to.RawQuery = refQuery(review.RefOf(f)).Encode()
	case "":
		if a := f.Get("action"); a == "set" || a == "undo" {
			to.Fragment = "rules"
		}
	default:
		to.Fragment = at
	}
	return to.String()
}
