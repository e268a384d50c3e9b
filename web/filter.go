package web

import (
	"cmp"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"concordat"
	"concordat/report"
	"concordat/report/html"
	"concordat/web/message"
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
func (f sourceFilter) page(got *reading, from int, l html.Links) sourceList {
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
func (f sourceFilter) rest(got *reading, l html.Links) sourceList {
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

// The address parameters of a lead filter.
const (
	leadKind      = "lead-kind"
	leadLanguages = "lead-languages"
	leadLikely    = "lead-likelihood"
	leadState     = "lead-state"
)

// leadNames are the parameter names of a lead filter in addresses and forms, in display order.
var leadNames = []string{leadState, leadKind, leadLanguages, leadLikely}

// leadFilterOf parses a lead filter and ignores unparsable values.
func leadFilterOf(q url.Values) (f report.LeadFilter) {
	if k := report.LeadKind(q.Get(leadKind)); slices.Contains(report.LeadKinds(), k) {
		f.Kind = k
	}
	if s := report.LeadState(q.Get(leadState)); slices.Contains(report.LeadStates(), s) {
		f.State = s
	}
	if least, err := strconv.ParseFloat(q.Get(leadLikely), 64); err == nil && slices.Contains(report.LikelihoodSteps(), least) {
		f.Least = least
	}
	if p := q.Get(leadLanguages); len(p) <= maxLanguagePair {
		f.Languages = p
	}
	return f
}

// maxLanguagePair is the maximum length of a language pair in an address, in bytes.
const maxLanguagePair = 20

// leadQuery is the inverse of leadFilterOf.
func leadQuery(f report.LeadFilter) url.Values {
	q := url.Values{}
	set := func(name, value string) {
		if value != "" {
			q.Set(name, value)
		}
	}
	set(leadKind, string(f.Kind))
	set(leadLanguages, f.Languages)
	set(leadState, string(f.State))
	if f.Least > 0 {
		q.Set(leadLikely, strconv.FormatFloat(f.Least, 'f', -1, 64))
	}
	return q
}

// leadBar offers lead filters as links, each with the number of leads that would remain.
type leadBar struct {
	Facets     []leadFacet
	Shown, All int
	Filtered   bool
	Clear      string // address of the page without filters
	Chosen     string // description of the active filters
}

// leadFacet is a property for filtering leads.
type leadFacet struct {
	Name    string
	Options []leadOption
}

// leadOption is one value of a facet. Its link selects the value, or deselects it if it is active.
type leadOption struct {
	Label string
	Count int // number of leads that match this value and the other filters
	On    bool
	URL   string
}

// filterable is a lead with the decision about it.
type filterable struct {
	report.Lead
	State report.LeadState
}

// newLeadBar returns filters for all leads at an address and preserves the address's other parameters. It omits filters that would leave
// all leads or none.
func newLeadBar(l message.Language, all []filterable, f report.LeadFilter, at *url.URL) *leadBar {
	b := &leadBar{All: len(all), Filtered: f != report.LeadFilter{}}
	count := func(f report.LeadFilter) (n int) {
		for _, x := range all {
			if f.Has(x.Lead, x.State) {
				n++
			}
		}
		return n
	}
	address := func(f report.LeadFilter) string {
		q := at.Query()
		for _, name := range leadNames {
			q.Del(name)
		}
		q.Del("changed") // a message about an action is shown only once
		for name, values := range leadQuery(f) {
			q[name] = values
		}
		return (&url.URL{Path: at.Path, RawQuery: q.Encode(), Fragment: "leads"}).String()
	}
	b.Shown, b.Clear = count(f), address(report.LeadFilter{})
	facet := func(name string, now string, values []string, label func(string) string, with func(value string) report.LeadFilter) {
		one := leadFacet{Name: l.Say("leads.by." + name)}
		without := count(with(""))
		for _, v := range values {
			o := leadOption{Label: label(v), On: v == now, Count: count(with(v)), URL: address(with(v))}
			if o.On {
				o.URL = address(with(""))
			}
			if o.On || o.Count > 0 && o.Count < without {
				one.Options = append(one.Options, o)
			}
		}
		if len(one.Options) > 0 {
			b.Facets = append(b.Facets, one)
		}
	}
	words := func(name string) func(string) string {
		return func(v string) string { return l.Say("leads." + name + "." + v) }
	}
	facet("state", string(f.State), texts(report.LeadStates()), words("state"),
		func(v string) report.LeadFilter { g := f; g.State = report.LeadState(v); return g })
	facet("kind", string(f.Kind), texts(report.LeadKinds()), words("kind"),
		func(v string) report.LeadFilter { g := f; g.Kind = report.LeadKind(v); return g })
	facet("languages", f.Languages, pairsOf(all, f.Languages), l.Report().PairWords,
		func(v string) report.LeadFilter { g := f; g.Languages = v; return g })
	facet("likelihood", leadQuery(report.LeadFilter{Least: f.Least}).Get(leadLikely), likelihoods(),
		func(v string) string { return l.Say("leads.likely", v) },
		func(v string) report.LeadFilter { g := f; g.Least, _ = strconv.ParseFloat(v, 64); return g }) // no value means any
	b.Chosen = strings.Join(l.Report().LeadFilterWords(f), l.Report().Say(", "))
	return b
}

// texts converts named strings to plain strings.
func texts[T ~string](all []T) (out []string) {
	for _, x := range all {
		out = append(out, string(x))
	}
	return out
}

// pairsOf returns the sorted language pairs of leads, including the requested pair.
func pairsOf(all []filterable, asked string) (out []string) {
	for _, x := range all {
		out = append(out, report.LanguagePair(x.Languages))
	}
	if asked != "" {
		out = append(out, asked)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func likelihoods() (out []string) {
	for _, x := range report.LikelihoodSteps() {
		out = append(out, strconv.FormatFloat(x, 'f', -1, 64))
	}
	return out
}

// filterLeads reads the lead filter from the address of the page or of part of it.
func (w reportPages) filterLeads(r *http.Request, p *checkPage) {
	if len(p.Report.Leads) == 0 {
		return
	}
	at := *r.URL
	at.Path = "/checks/" + string(p.ID)
	p.LeadFilter = leadFilterOf(at.Query())
	var all []filterable
	for _, l := range p.Report.Leads {
		all = append(all, filterable{l.Lead, l.State})
	}
	p.LeadBar = newLeadBar(message.LanguageOf(r), all, p.LeadFilter, &at)
}

// ShowsLead reports whether a lead matches the filter of the request.
func (p *checkPage) ShowsLead(l report.RuledLead) bool { return p.LeadFilter.Has(l.Lead, l.State) }

// LeadQuery returns the lead filter as part of an address.
func (p *checkPage) LeadQuery() template.URL { return template.URL(leadQuery(p.LeadFilter).Encode()) }
