package checks

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"concordat"
	"concordat/store"
	"concordat/web/pages"
)

// caseFilter selects the listed checks. Its links can be bookmarked and shared.
type caseFilter struct {
	View  string // one of caseViews
	Query string
	Mine  bool // only checks assigned to the visitor
	Order store.TaskOrder
	Least int    // minimum counted share in per cent; 0 for no minimum
	In    string // batch or archive whose checks are listed; empty for the whole list
	From  int    // index of the first row
	// Figures reports whether the visitor may see all reports and can therefore sort and filter by their figures.
	Figures bool
}

// caseOrders are the sort orders of the list, the default first. ownOrders are the sort orders for visitors who may not see all reports
// and therefore cannot sort by their figures.
var (
	caseOrders = []store.TaskOrder{"", store.TasksByShare, store.TasksByFlags, store.TasksByLeads, store.TasksByState, store.TasksByTitle}
	ownOrders  = []store.TaskOrder{"", store.TasksByTitle}
)

// caseLeasts are the selectable minimum shares, in per cent.
var caseLeasts = []int{1, 5, 10, 20, 30, 50}

// Grouped reports whether the list shows each batch or archive as one row. It does so unless it shows a group's checks or search results.
func (f caseFilter) Grouped() bool { return f.In == "" && f.Query == "" && !f.Mine }

// Orders returns the selectable sort orders.
func (f caseFilter) Orders() []store.TaskOrder {
	if f.Figures {
		return caseOrders
	}
	return ownOrders
}

// Leasts returns the selectable minimum shares, or nil if the visitor may not filter by share.
func (f caseFilter) Leasts() []int {
	if f.Figures {
		return caseLeasts
	}
	return nil
}

// caseViews are the views of the list of checks, in the order in which a check passes through them. The first shows all checks.
var caseViews = []string{"all", "waiting", "new", "review", "decided", "signed", "failed"}

// caseLink is a link to a view.
type caseLink struct {
	Key, Path string
	Current   bool
}

func caseFilterOf(q url.Values, v *pages.Visitor) caseFilter {
	f := caseFilter{View: q.Get("view"), Query: strings.TrimSpace(q.Get("q")), Mine: q.Get("mine") != "", In: q.Get("in"),
		Order: store.TaskOrder(q.Get("sort")), Figures: v.SeesAll()}
	if f.Figures {
		f.Least, _ = strconv.Atoi(q.Get("least")) // an unparsable value filters nothing
	}
	if f.Least < 0 || f.Least > 100 {
		f.Least = 0
	}
	f.From, _ = strconv.Atoi(q.Get("from")) // an unparsable value starts at the first row
	f.From = max(f.From, 0)
	if !slices.Contains(f.Orders(), f.Order) {
		f.Order = ""
	}
	if !slices.Contains(caseViews, f.View) {
		f.View = caseViews[0]
	}
	if runes := []rune(f.Query); len(runes) > 200 {
		f.Query = string(runes[:200])
	}
	return f
}

// narrow restricts a filter to the tasks that f selects for the visitor.
func (f caseFilter) narrow(t *store.TaskFilter, v *pages.Visitor) {
	t.Query, t.Within, t.Heads, t.Least = f.Query, f.In, f.Grouped(), float64(f.Least)/100
	if f.Mine {
		t.Assigned = v.Name
	}
	switch f.View {
	case "waiting":
		t.States = []concordat.State{concordat.TaskQueued, concordat.TaskRunning}
	case "failed":
		t.States = []concordat.State{concordat.TaskFailed}
	case "new", "review", "decided", "signed":
		t.Stage = store.CaseStage(f.View)
	}
}

// Path returns the address of the list selected by f, starting at an index.
func (f caseFilter) Path(from int) string {
	q := url.Values{}
	if f.Order != "" {
		q.Set("sort", string(f.Order))
	}
	if f.Least > 0 {
		q.Set("least", strconv.Itoa(f.Least))
	}
	if f.In != "" {
		q.Set("in", f.In)
	}
	if f.View != caseViews[0] {
		q.Set("view", f.View)
	}
	if f.Query != "" {
		q.Set("q", f.Query)
	}
	if f.Mine {
		q.Set("mine", "yes")
	}
	if from > 0 {
		q.Set("from", strconv.Itoa(from))
	}
	if len(q) == 0 {
		return "/checks"
	}
	return "/checks?" + q.Encode()
}

// Links returns the links to the views. Only visitors who may see everyone's checks get the review views.
func (f caseFilter) Links(reviewer bool) (out []caseLink) {
	for _, view := range caseViews {
		if !reviewer && slices.Contains([]string{"new", "review", "decided", "signed"}, view) {
			continue
		}
		to := f
		to.View, to.From = view, 0
		out = append(out, caseLink{"cases." + view, to.Path(0), view == f.View})
	}
	return out
}
