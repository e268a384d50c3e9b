package web

import (
	"cmp"
	"html/template"
	"net/url"
	"slices"
	"strings"

	"concordat"
	"concordat/report"
	"concordat/report/html"
)

// sourceOrders are the ways in which the sources of a report can be sorted.
var sourceOrders = []string{"share", "date", "library", "title"}

// sourceFilter says which sources of a report are listed, and how.
type sourceFilter struct {
	Query string
	Order string // of sourceOrders
	Small bool   // those under one percent are left out
}

func sourceFilterOf(q url.Values) sourceFilter {
	f := sourceFilter{Query: strings.TrimSpace(q.Get("q")), Order: q.Get("sort"), Small: q.Get("small") != ""}
	if !slices.Contains(sourceOrders, f.Order) {
		f.Order = sourceOrders[0]
	}
	return f
}

// Encode is the filter as part of an address.
func (f sourceFilter) Encode() string {
	q := url.Values{}
	if f.Query != "" {
		q.Set("q", f.Query)
	}
	if f.Order != sourceOrders[0] {
		q.Set("sort", f.Order)
	}
	if f.Small {
		q.Set("small", "on")
	}
	return q.Encode()
}

// list returns the indices of the sources of r in the order of the filter.
func (f sourceFilter) list(r *report.Report) []int {
	words := strings.ToLower(f.Query)
	var out []int
	for i, s := range r.Sources {
		if f.Small && s.Share < 0.01 || !strings.Contains(strings.ToLower(s.Letter()+" "+s.Title+" "+r.Place(s.Ref)), words) {
			continue
		}
		out = append(out, i)
	}
	dates := datesOf(r)
	key := func(i int) string {
		switch s := r.Sources[i]; f.Order {
		case "date":
			return cmp.Or(string(dates[s.Ref]), "~") // unknown ones last
		case "library":
			return r.Place(concordat.Ref{Site: s.Site, Library: s.Library})
		case "title":
			return strings.ToLower(cmp.Or(s.Title, string(s.Document)))
		}
		return ""
	}
	slices.SortStableFunc(out, func(i, j int) int { return cmp.Compare(key(i), key(j)) })
	return out
}

// datesOf returns the dates of those sources that have one.
func datesOf(r *report.Report) map[concordat.Ref]concordat.Date {
	out := map[concordat.Ref]concordat.Date{}
	for _, e := range r.Evidence {
		for _, s := range e.Sources {
			if s.Date != "" {
				out[s.Ref] = s.Date
			}
		}
	}
	return out
}

// page returns the sources of the filter from the one of an index on, and where to go on; 0: that is all.
func (f sourceFilter) page(got *reading, from int, l html.Links) (out template.HTML, next int) {
	all := f.list(got.Report)
	from = min(from, len(all))
	for _, i := range all[from:min(from+fewSources, len(all))] {
		out += got.view.Sources(i, 1, l)
	}
	if from+fewSources < len(all) {
		next = from + fewSources
	}
	return out, next
}
