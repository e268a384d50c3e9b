package batches

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"concordat"
	"concordat/screen"
	"concordat/site/batch"
	"concordat/store"
	"concordat/web/message"
	"concordat/web/pages"
	"concordat/web/progress"
	"concordat/web/review"
)

// These constants limit the rows that a batch's page initially shows; the tables contain all rows.
const (
	batchShownClusters  = 50
	batchShownMatrices  = 3   // clusters shown with a matrix and a picture
	batchShownDocuments = 100 // rows of the document table
)

type batchPage struct {
	*batch.View
	MayCancel, MayReview, MayDelete bool
	MoreClusters                    int
	Shown                           []shownCluster
	All                             *shownMatrix // matrix of all documents; nil if there are too many
	List                            pairList
	Charted                         bool // there are, or may be, pairs to chart
	Least                           int  // threshold in per cent, for the slider
	Documents                       []shownMember
	Listed, Asked                   bool           // whether the document table is shown, and whether it was requested
	Rest                            bool           // one of the smaller clusters is open
	Held                            []shownWording // wording that several documents share
	Open                            []shownWording // entries of Held that a person must decide about
	MoreHeld                        int
	LeadRows                        []shownLead
	LeadBar                         *pages.LeadBar
	LeadKept                        url.Values // the active lead filter
	FoundLeads, MoreLeads           int
	Many                            []shownMany
	Events                          []store.BatchEvent
	Strays                          []string
	LeftOut                         concordat.LeftOut
	Recheck                         *store.Recheck
	Today                           string
	People                          pages.Names
	Limited                         review.See     // the visitor's level of access to the findings; empty if unlimited
	Now                             progress.Shown // progress of an unfinished batch
}

// ShowsPairs reports whether the visitor may see which documents share wording.
func (p *batchPage) ShowsPairs() bool { return p.Limited == "" || p.Limited.Shows(review.SeeReport) }

// ShowsShares reports whether the visitor may see the shares.
func (p *batchPage) ShowsShares() bool { return p.Limited == "" || p.Limited.Shows(review.SeeScore) }

// Address returns the address of the page.
func (p *batchPage) Address() string { return "/batches/" + p.ID }

type shownMember struct {
	store.BatchMember
	Cluster int
	Fresh   []batch.FreshSource
}

// Member returns the document under the name that templates use.
func (m *shownMember) Member() *store.BatchMember { return &m.BatchMember }

type shownPair struct {
	batch.ViewedPair
	First, Second *store.BatchMember
	Cluster       int
	Sections      []batch.SectionLine // shared sections that put it in the list
}

type shownCluster struct {
	Number  int
	Members []shownBelongs
	Largest float64        // largest share of a pair within it
	Words   []shownWording // wording found only in this cluster's documents
	Bridges int            // counted pairs with documents in other clusters
	Open    bool
	Picture template.HTML
	Matrix  *shownMatrix // set together with Picture; nil unless requested or the cluster is one of the largest
}

// shownBelongs is a document in a cluster.
type shownBelongs struct {
	*store.BatchMember
	In batch.ClusterDocument
}

// shownMatrix is a table of shares; nil cells were not measured.
type shownMatrix struct {
	Label   string // unique on a page
	Members []*store.BatchMember
	Cells   [][]*float64
	More    int // number of omitted documents
}

func matrixOf(v *batch.View, label string, docs []int, all int) *shownMatrix {
	m := &shownMatrix{Label: label, More: all - len(docs)}
	for _, i := range docs {
		m.Members = append(m.Members, &v.Members[i])
		var row []*float64
		for _, j := range docs {
			var cell *float64
			if share, ok := v.Shares[[2]int{i, j}]; ok {
				cell = &share
			} else if i != j {
				cell = new(float64) // compared, but without common wording
			}
			row = append(row, cell)
		}
		m.Cells = append(m.Cells, row)
	}
	return m
}

// Named reports whether the batch is small enough for the heat map and the table of all pairs to name the documents.
func (p *batchPage) Named() bool { return len(p.Members) <= batch.MaxMatrix }

// Large returns the number of largest clusters whose pictures are shown. The other clusters are collapsed.
func (p *batchPage) Large() int { return batchShownMatrices }

func (w Batches) batchPage(rw http.ResponseWriter, r *http.Request, v *pages.Visitor) {
	q := r.URL.Query()
	cluster, _ := strconv.Atoi(q.Get("cluster")) // an unparsable value becomes 0, which is not a cluster number
	p, err := w.viewBatch(r.Context(), v, r.PathValue("id"), message.LanguageOf(r), cluster, r.URL)
	if err == nil {
		p.People, err = w.frame.Names(r.Context())
	}
	if err == nil && p.ShowsPairs() {
		err = w.listPairs(r.Context(), q, p)
		p.Charted = len(p.Pairs) > 0 || !p.Batch.State.Ended()
		if err == nil && !p.Charted {
			err = p.EachPair(r.Context(), w.Store, chartLeast, func(batch.ViewedPair) bool {
				p.Charted = true
				return false
			})
		}
	}
	if err != nil {
		w.frame.Fail(rw, r, v, err)
		return
	}
	p.Asked = q.Get("documents") != ""
	p.Listed = p.Asked || len(p.Documents) <= batchShownDocuments
	w.frame.Show(rw, r, v, http.StatusOK, "batch", "title.batch", p)
}

// viewBatch prepares the page of a batch. The cluster with the given number, from 1, is shown with its matrix and chart, like the largest
// clusters.
func (w Batches) viewBatch(ctx context.Context, v *pages.Visitor, id string, l message.Language, cluster int,
	at *url.URL) (*batchPage, error) {
	view, see, err := w.SeenBatch(ctx, v, id)
	if err != nil {
		return nil, err
	}
	b := view.Batch
	hidden := at.Query().Get("hide") != ""
	if hidden {
		hideNames(l, view)
	}
	p := &batchPage{View: view, MayCancel: w.mayChangeBatch(v, b), MayReview: v.MayReview(), MayDelete: v.MayReview() &&
		w.o.MayDelete, Today: w.o.Now().Format(time.DateOnly), Now: batchProgress(b, l)}
	p.LeftOut = view.Job.AllLeftOut()
	if hidden {
		p.LeftOut.Names = nil
	}
	if see != review.SeeEverything {
		p.Limited = see
	}
	if err := p.fill(l, cluster); err != nil {
		return nil, err
	}
	if p.ShowsPairs() {
		some := view.Wording[:min(len(view.Wording), batchShownWording)]
		p.MoreHeld = len(view.Wording) - len(some)
		if p.Held, err = w.showWording(ctx, view, some, wordingExcerpt, l); err != nil {
			return nil, err
		}
		for _, x := range p.Held {
			if x.Open {
				p.Open = append(p.Open, x)
			}
		}
		p.wordsOfClusters()
		if err := w.showLeads(ctx, p, l, at); err != nil {
			return nil, err
		}
	}
	if b.State.Ended() && !hidden {
		p.Strays = batch.Strays(view.Job.Manifest, view.Members)
	}
	if p.Limited == "" && !hidden { // only officers may see what officers wrote, including names of documents
		if p.Events, err = w.Store.Batches.BatchEvents(ctx, b.ID); err != nil {
			return nil, err
		}
	}
	again, err := w.Store.Alerts.Recheck(ctx, store.RecheckBatch, b.ID)
	if err == nil {
		p.Recheck = &again
	} else if !errors.Is(err, concordat.ErrNotFound) {
		return nil, err
	}
	return p, nil
}

// fill computes the data that the page shows.
func (p *batchPage) fill(l message.Language, cluster int) error {
	details := p.Details()
	p.MoreClusters = max(0, len(details)-batchShownClusters)
	for n := range details[:len(details)-p.MoreClusters] {
		one, err := showCluster(p.View, n+1, details[n], l, n < batchShownMatrices || n+1 == cluster)
		if err != nil {
			return err
		}
		one.Open = n < batchShownMatrices && cluster == 0 || n+1 == cluster
		p.Shown = append(p.Shown, one)
		p.Rest = p.Rest || one.Open && n >= batchShownMatrices
	}
	if docs := p.Matrix(0); len(docs) > 1 && p.ShowsPairs() {
		p.All = matrixOf(p.View, l.Say("batch.table", l.Say("batch.all")), docs, len(docs))
	}
	p.Least = max(1, int(100*p.Job.PairThreshold()+0.5))
	for i, m := range p.Members {
		one := shownMember{BatchMember: m, Cluster: p.Cluster(i)}
		if err := json.Unmarshal(m.Fresh, &one.Fresh); err != nil {
			return fmt.Errorf("new sources of %s: %w: %v", m.Name, concordat.ErrCorrupt, err)
		}
		p.Documents = append(p.Documents, one)
	}
	return nil
}

// clusterWords is the number of shared passages shown with a cluster.
const clusterWords = 3

// wordsOfClusters assigns to each cluster the counted wording that at least two of its documents share and that no other cluster's
// documents contain.
func (p *batchPage) wordsOfClusters() {
	for _, h := range p.Held {
		of, several := 0, false
		for i, m := range h.Documents() {
			n := p.Cluster(m)
			several = several || i > 0 && n != of
			of = n
		}
		if of == 0 || several || of > len(p.Shown) || !h.Counts() || h.Text == "" {
			continue
		}
		if c := &p.Shown[of-1]; len(c.Words) < clusterWords {
			c.Words = append(c.Words, h)
		}
	}
}

// shown returns a row of the pair table.
func (p *batchPage) shown(pair batch.ViewedPair) shownPair {
	return shownPair{ViewedPair: pair, First: &p.Members[pair.A], Second: &p.Members[pair.B], Cluster: p.PairCluster(pair),
		Sections: p.SectionsOf(pair)}
}

func showCluster(v *batch.View, n int, d batch.Cluster, l message.Language, whole bool) (shownCluster, error) {
	one := shownCluster{Number: n, Bridges: len(d.Bridges)}
	of := map[int]batch.ClusterDocument{}
	for _, x := range d.Documents {
		of[x.Member] = x
	}
	for _, x := range d.Pairs {
		one.Largest = max(one.Largest, x.Share())
	}
	for _, i := range v.Clusters[n-1] { // same order as the chart
		one.Members = append(one.Members, shownBelongs{&v.Members[i], of[i]})
	}
	if !whole {
		return one, nil
	}
	size := len(v.Clusters[n-1])
	name := l.Say("batch.cluster", n, l.Report().Plural(size, "document", "documents"))
	one.Matrix = matrixOf(v, l.Say("batch.table", name), v.Matrix(n), size)
	var b strings.Builder
	nodes, links := v.Picture(n)
	err := screen.WriteCluster(&b, l.Say("batch.picture", n, len(nodes)), nodes, links)
	one.Picture = template.HTML(b.String()) // from package screen, which escapes texts
	return one, err
}
