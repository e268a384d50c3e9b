package reports

import (
	"cmp"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"concordat"
	"concordat/report"
	"concordat/report/html"
	"concordat/web/message"
	"concordat/web/pages"
)

// sourceOrders are the sort orders of a report's sources.
var sourceOrders = []string{"share", "date", "library", "title"}

// sourceFilter selects and sorts the sources of a report.
type sourceFilter struct {
	Query string
	Order string // one of sourceOrders
	Small bool   // omit sources under one per cent
	Rest  bool   // list the collapsed sources instead of the others; a query searches all
}

func sourceFilterOf(q url.Values) sourceFilter {
	f := sourceFilter{Query: strings.TrimSpace(q.Get("q")), Order: q.Get("sort"), Small: q.Get("small") != "", Rest: q.Get("rest") != ""}
	if !slices.Contains(sourceOrders, f.Order) {
		f.Order = sourceOrders[0]
	}
	return f
}

// Encode returns the filter as part of an address.
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
	if f.Rest {
		q.Set("rest", "on")
	}
	return q.Encode()
}

// list returns the indices of the sources of r in the order of the filter.
func (f sourceFilter) list(r *report.Report) []int {
	words := strings.ToLower(f.Query)
	var out []int
	for i, s := range r.Sources {
		if f.Small && s.Share < 0.01 || words == "" && report.Folded(s.Excluded) != f.Rest ||
			!strings.Contains(strings.ToLower(s.Letter()+" "+s.Title+" "+r.Place(s.Ref)), words) {
			continue
		}
		out = append(out, i)
	}
	dates := datesOf(r)
	key := func(i int) string {
		switch s := r.Sources[i]; f.Order {
		case "date":
			return cmp.Or(string(dates[s.Ref]), "~") // unknown dates come last
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

// datesOf returns the known dates of the sources.
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

// sourceList is the part of a report's sources that a page lists.
type sourceList struct {
	Task   concordat.TaskID
	Filter sourceFilter
	Items  template.HTML
	Next   int    // index of the first source on the next page; 0 on the last page
	Words  string // caption of the collapsed list
}

// page returns the sources that match the filter, starting at an index.
func (f sourceFilter) page(got *Reading, from int, l html.Links) sourceList {
	out := sourceList{Task: got.Report.Task, Filter: f}
	all := f.list(got.Report)
	from = min(from, len(all))
	for _, i := range all[from:min(from+fewSources, len(all))] {
		out.Items += got.view.Sources(i, 1, l)
	}
	if from+fewSources < len(all) {
		out.Next = from + fewSources
	}
	return out
}

// rest returns the collapsed sources, which are listed below the others. Its Words are empty if there are no collapsed sources.
func (f sourceFilter) rest(got *Reading, l html.Links) sourceList {
	if f.Rest || f.Query != "" {
		return sourceList{}
	}
	f.Rest = true
	out := f.page(got, 0, l)
	if out.Items != "" {
		out.Words = report.UncountedSources(got.Report)
	}
	return out
}

// filterLeads reads the lead filter from the address of the page or of part of it.
func (w Reports) filterLeads(r *http.Request, p *checkPage) {
	if len(p.Report.Leads) == 0 {
		return
	}
	at := *r.URL
	at.Path = "/checks/" + string(p.ID)
	p.LeadFilter = pages.LeadFilterOf(at.Query())
	var all []pages.FilteredLead
	for _, l := range p.Report.Leads {
		all = append(all, pages.FilteredLead{Lead: l.Lead, State: l.State})
	}
	p.LeadBar = pages.NewLeadBar(message.LanguageOf(r), all, p.LeadFilter, &at)
}

// ShowsLead reports whether a lead matches the filter of the request.
func (p *checkPage) ShowsLead(l report.RuledLead) bool { return p.LeadFilter.Has(l.Lead, l.State) }

// LeadQuery returns the lead filter as part of an address.
func (p *checkPage) LeadQuery() template.URL {
	return template.URL(pages.LeadQuery(p.LeadFilter).Encode())
}
