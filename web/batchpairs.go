package web

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	"concordat"
	"concordat/site/batch"
	"concordat/store"
)

const (
	// pairsOnPage is how many pairs a page of a batch lists.
	pairsOnPage = 15
	// chartPairs bounds the pairs that pictures are drawn from, and chartLeast is the least share of one.
	chartPairs = 50_000
	chartLeast = 0.01
)

// memberName returns the name of a document of a batch for people: its title, else the name of its file.
func memberName(m *store.BatchMember) string {
	name := m.Name
	if i := strings.LastIndex(name, "!/"); i >= 0 {
		name = name[i+2:]
	}
	return visible(cmp.Or(strings.TrimSpace(m.Title), path.Base(name)))
}

// memberBy is who a document is from, and its file: what tells two of one title apart.
func memberBy(m *store.BatchMember) string {
	var parts []string
	for _, one := range []string{m.Author, m.Group, string(m.Dated)} {
		if one != "" {
			parts = append(parts, one)
		}
	}
	if memberName(m) != visible(m.Name) {
		parts = append(parts, m.Name)
	}
	return visible(strings.Join(parts, " · "))
}

// pairList is a page of the pairs of a batch.
type pairList struct {
	Query    string
	Least    string // per cent
	New      bool   // only undecided pairs
	Rows     []shownPair
	All      int // that fit
	From, To int // of those on this page, from 1
	Next     string
	Last     string
}

// listPairs reads the page of pairs that q asks for; what it does not say is as the batch was made.
func (w batchPages) listPairs(ctx context.Context, q url.Values, p *batchPage) error {
	l := pairList{Query: strings.TrimSpace(q.Get("q")), Least: q.Get("min"), New: q.Get("new") != ""}
	percent, err := strconv.ParseFloat(l.Least, 64)
	if err != nil || !(percent >= 1 && percent <= 100) {
		percent = 100 * p.Job.PairThreshold()
		l.Least = strconv.FormatFloat(percent, 'f', -1, 64)
	}
	n, err := strconv.Atoi(q.Get("pairs"))
	if err != nil || n < 1 || n > chartPairs {
		n = 1
	}
	first := (n - 1) * pairsOnPage
	words := strings.ToLower(l.Query)
	names := make([]string, len(p.Members))
	for i := range p.Members {
		names[i] = strings.ToLower(memberName(&p.Members[i]) + " " + memberBy(&p.Members[i]))
	}
	err = p.EachPair(ctx, w.o.Store, percent/100, func(one batch.ViewedPair) bool {
		if l.New && one.Verdict != "" || words != "" && !strings.Contains(names[one.A], words) && !strings.Contains(names[one.B], words) {
			return true
		}
		if l.All >= first && len(l.Rows) < pairsOnPage {
			l.Rows = append(l.Rows, p.shown(one))
		}
		l.All++
		return true
	})
	l.From, l.To = first+1, first+len(l.Rows)
	address := func(n int) string {
		v := url.Values{"min": {l.Least}, "pairs": {strconv.Itoa(n)}}
		if l.Query != "" {
			v.Set("q", l.Query)
		}
		if l.New {
			v.Set("new", "yes")
		}
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

// chartDocument is a document as pictures have it.
type chartDocument struct {
	Number  int            `json:"number"` // in addresses, from 1
	Title   string         `json:"title"`
	Author  string         `json:"author,omitempty"`
	Date    concordat.Date `json:"date,omitempty"`
	Cluster int            `json:"cluster,omitempty"`
	Path    string         `json:"path,omitempty"` // of its report
}

// charts is the data of the charts of a batch.
type charts struct {
	Documents []chartDocument `json:"documents"`
	// Order are the documents by cluster, the largest first, and by name.
	Order []int `json:"order"`
	// Pairs are documents a and b, how much of a stands in b and of b in a, and whether the pair counts.
	Pairs [][5]any `json:"pairs"`
}

// batchCharts answers what the pictures of a batch are drawn from.
func (w batchPages) batchCharts(rw http.ResponseWriter, r *http.Request, v *Visitor) {
	view, err := w.PairsOf(r.Context(), v, r.PathValue("id"))
	out := charts{Documents: []chartDocument{}, Order: []int{}, Pairs: [][5]any{}}
	if err == nil {
		for i := range view.Members {
			m := &view.Members[i]
			d := chartDocument{Number: m.Number + 1, Title: memberName(m), Author: visible(m.Author), Date: m.Dated, Cluster: view.Cluster(i)}
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
			if x == 0 || y == 0 { // those in no cluster come last
				return cmp.Compare(y, x)
			}
			return cmp.Compare(x, y)
		})
		short := func(share float64) float64 { return float64(int(share*10000+0.5)) / 10000 }
		err = view.EachPair(r.Context(), w.o.Store, chartLeast, func(p batch.ViewedPair) bool {
			out.Pairs = append(out.Pairs, [5]any{p.A, p.B, short(p.ShareA), short(p.ShareB), p.Counted()})
			return len(out.Pairs) < chartPairs
		})
	}
	if err != nil {
		w.Fail(rw, r, v, err)
		return
	}
	rw.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(rw).Encode(out) // a browser that went away misses nothing
}
