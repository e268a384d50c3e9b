package batches

import (
	"cmp"
	"context"
	"encoding/json"
	"html/template"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	"concordat"
	"concordat/site/batch"
	"concordat/store"
	"concordat/web/message"
	"concordat/web/pages"
)

const (
	// pairsOnPage is the number of pairs on a batch page.
	pairsOnPage = 15
	// chartPairs is the maximum number of pairs in a chart, and chartLeast is the minimum share of such a pair.
	chartPairs = 50_000
	chartLeast = 0.01
)

// MemberName returns the display name of a batch document: its title or, if it has none, its file name.
func MemberName(m *store.BatchMember) string {
	name := m.Name
	if i := strings.LastIndex(name, "!/"); i >= 0 {
		name = name[i+2:]
	}
	return pages.Visible(cmp.Or(strings.TrimSpace(m.Title), path.Base(name)))
}

// MemberBy returns a document's author and file, which distinguish documents with the same title.
func MemberBy(m *store.BatchMember) string {
	var parts []string
	for _, one := range []string{m.Author, m.Group, cmp.Or(m.Timed.String(), string(m.Dated))} {
		if one != "" {
			parts = append(parts, one)
		}
	}
	if MemberName(m) != pages.Visible(m.Name) {
		parts = append(parts, m.Name)
	}
	return pages.Visible(strings.Join(parts, " · "))
}

// pairOrders are the sort orders of pairs: by the larger share, by the smaller share, and by name.
var pairOrders = []string{"share", "both", "name"}

// pairFilter selects and sorts the pairs of a batch. It is part of page addresses, so opening a pair and returning preserves it.
type pairFilter struct {
	Query string
	Least string  // minimum share in per cent
	least float64 // minimum share, 0 to 1
	New   bool    // only undecided pairs
	Order string  // one of pairOrders
	Hide  bool    // show numbers instead of names
}

// pairFilterOf reads a filter from q; missing values are taken from the batch's settings.
func pairFilterOf(q url.Values, v *batch.View) pairFilter {
	f := pairFilter{Query: strings.TrimSpace(q.Get("q")), Least: q.Get("min"), New: q.Get("new") != "", Order: q.Get("sort"),
		Hide: q.Get("hide") != ""}
	percent, err := strconv.ParseFloat(f.Least, 64)
	if err != nil || !(percent >= 1 && percent <= 100) {
		percent = 100 * v.Job.PairThreshold()
		f.Least = strconv.FormatFloat(percent, 'f', -1, 64)
	}
	f.least = percent / 100
	if !slices.Contains(pairOrders, f.Order) {
		f.Order = pairOrders[0]
	}
	return f
}

// Encode returns the filter as part of an address.
func (f pairFilter) Encode() string { return f.values().Encode() }

// Kept is Encode for templates.
func (f pairFilter) Kept() template.URL { return template.URL(f.Encode()) }

// Fields returns the hidden form fields that preserve the whole filter except the names.
func (f pairFilter) Fields() url.Values {
	v := f.values()
	v.Del("hide")
	return v
}

func (f pairFilter) values() url.Values {
	v := url.Values{"min": {f.Least}}
	for name, on := range map[string]bool{"new": f.New, "hide": f.Hide} {
		if on {
			v.Set(name, "yes")
		}
	}
	if f.Query != "" {
		v.Set("q", f.Query)
	}
	if f.Order != pairOrders[0] {
		v.Set("sort", f.Order)
	}
	return v
}

// each calls do for every pair that matches the filter, in the filter's order.
func (f pairFilter) each(ctx context.Context, db *store.DB, v *batch.View, do func(batch.ViewedPair)) error {
	words := strings.ToLower(f.Query)
	names := make([]string, len(v.Members))
	for i := range v.Members {
		names[i] = strings.ToLower(MemberName(&v.Members[i]) + " " + MemberBy(&v.Members[i]))
	}
	var kept []batch.ViewedPair
	err := v.EachPair(ctx, db, f.least, func(one batch.ViewedPair) bool {
		switch {
		case f.New && one.Verdict != "" || words != "" && !strings.Contains(names[one.A], words) && !strings.Contains(names[one.B], words):
		case f.Order == pairOrders[0]:
			do(one)
		default:
			kept = append(kept, one)
		}
		return true
	})
	slices.SortStableFunc(kept, func(a, b batch.ViewedPair) int {
		if f.Order == "both" {
			return cmp.Compare(min(b.ShareA, b.ShareB), min(a.ShareA, a.ShareB))
		}
		return cmp.Or(cmp.Compare(names[a.A], names[b.A]), cmp.Compare(names[a.B], names[b.B]))
	})
	for _, one := range kept {
		do(one)
	}
	return err
}

// hideNames replaces the names of a batch's documents with numbers, for readers who should not learn whose documents they are.
func hideNames(l message.Language, v *batch.View) {
	for i := range v.Members {
		m := &v.Members[i]
		m.Title, m.Author, m.Group, m.Dated, m.Timed = l.Say("pairs.document", m.Number+1), "", "", "", ""
		m.Name = m.Title
	}
}

// pairList is a page of the pairs of a batch.
type pairList struct {
	pairFilter
	Orders   []string
	Rows     []shownPair
	All      int // number of pairs that match the filter
	From, To int // numbers of the pairs on this page, from 1
	Next     string
	Last     string
}

// listPairs reads the page of pairs that q selects.
func (w Batches) listPairs(ctx context.Context, q url.Values, p *batchPage) error {
	l := pairList{pairFilter: pairFilterOf(q, p.View), Orders: pairOrders}
	n, err := strconv.Atoi(q.Get("pairs"))
	if err != nil || n < 1 || n > chartPairs {
		n = 1
	}
	first := (n - 1) * pairsOnPage
	err = l.each(ctx, w.Store, p.View, func(one batch.ViewedPair) {
		if l.All >= first && len(l.Rows) < pairsOnPage {
			l.Rows = append(l.Rows, p.shown(one))
		}
		l.All++
	})
	l.From, l.To = first+1, first+len(l.Rows)
	address := func(n int) string {
		v := l.values()
		v.Set("pairs", strconv.Itoa(n))
		return "/batches/" + p.ID + "?" + v.Encode() + "#pairs"
	}
	if n > 1 {
		l.Last = address(n - 1)
	}
	if l.To < l.All {
		l.Next = address(n + 1)
	}
	p.List = l
	return err
}

// chartDocument is a document in the chart data.
type chartDocument struct {
	Number  int               `json:"number"` // number in addresses, from 1
	Title   string            `json:"title"`
	Author  string            `json:"author,omitempty"`
	Date    concordat.Date    `json:"date,omitempty"`
	Time    concordat.Instant `json:"time,omitempty"`
	Cluster int               `json:"cluster,omitempty"`
	Path    string            `json:"path,omitempty"` // path of its report
}

// charts contains the data for a batch's charts.
type charts struct {
	Documents []chartDocument `json:"documents"`
	// Order lists the documents by cluster, largest first, and then by name.
	Order []int `json:"order"`
	// Pairs contains, for each pair, the documents a and b, the share of a found in b, the share of b found in a, and whether the pair
	// counts.
	Pairs [][5]any `json:"pairs"`
}

// batchCharts answers with the chart data of a batch as JSON.
func (w Batches) batchCharts(rw http.ResponseWriter, r *http.Request, v *pages.Visitor) {
	view, err := w.PairsOf(r.Context(), v, r.PathValue("id"))
	if err == nil && r.URL.Query().Get("hide") != "" {
		hideNames(message.LanguageOf(r), view)
	}
	out := charts{Documents: []chartDocument{}, Order: []int{}, Pairs: [][5]any{}}
	if err == nil {
		for i := range view.Members {
			m := &view.Members[i]
			d := chartDocument{Number: m.Number + 1, Title: MemberName(m), Author: pages.Visible(m.Author), Date: m.Dated, Time: m.Timed,
				Cluster: view.Cluster(i)}
			if m.Task != "" {
				d.Path = "/checks/" + string(m.Task)
			}
			out.Documents = append(out.Documents, d)
			if m.Cause.IsZero() {
				out.Order = append(out.Order, i)
			}
		}
		slices.SortStableFunc(out.Order, func(a, b int) int {
			x, y := out.Documents[a].Cluster, out.Documents[b].Cluster
			if x == 0 || y == 0 { // documents outside all clusters come last
				return cmp.Compare(y, x)
			}
			return cmp.Compare(x, y)
		})
		short := func(share float64) float64 { return float64(int(share*10000+0.5)) / 10000 }
		err = view.EachPair(r.Context(), w.Store, chartLeast, func(p batch.ViewedPair) bool {
			out.Pairs = append(out.Pairs, [5]any{p.A, p.B, short(p.ShareA), short(p.ShareB), p.Counted()})
			return len(out.Pairs) < chartPairs
		})
	}
	if err != nil {
		w.frame.Fail(rw, r, v, err)
		return
	}
	rw.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(rw).Encode(out) // an error means that the browser has disconnected
}
