// Package batches serves the pages of batches, whose documents are compared with one another, and of scheduled rechecks, with the
// operations that the API shares. Batches are submitted in package intake. Start with New.
package batches

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"time"

	"concordat"
	"concordat/report"
	"concordat/site"
	"concordat/site/batch"
	"concordat/store"
	"concordat/web/message"
	"concordat/web/pages"
	"concordat/web/pages/deletions"
	"concordat/web/progress"
	"concordat/web/review"
)

// Checks provides the checks of the site and the rules for new ones. It is safe for concurrent use.
type Checks interface {
	// Visible returns a check that the visitor may see.
	Visible(ctx context.Context, v *pages.Visitor, id concordat.TaskID) (store.Task, error)
	// SendReport answers with a report as a self-contained page.
	SendReport(rw http.ResponseWriter, rep *report.Report) error
	// Rules returns the rules of new reports.
	Rules() report.Rules
	// AgainDays returns the number of days after which submissions are checked again, or 0 if this happens only on schedule.
	AgainDays() int
}

// Options configures the pages.
type Options struct {
	Site      *site.Site
	Checks    Checks
	Reviews   *review.Reviews
	Streams   *progress.Streams
	Auditor   pages.Auditor
	MayDelete bool // the pages can delete permanently
	Logger    *slog.Logger
	Now       func() time.Time
}

// Batches shows batches and scheduled rechecks, and records what people decide about them. It is safe for concurrent use.
type Batches struct {
	Control
	frame pages.Frame
	o     Options
}

// New adds the pages to a site.
func New(frame pages.Frame, c Control, o Options) Batches {
	w := Batches{c, frame, o}
	frame.AddPage("GET /batches", pages.Everyone, w.batchesPage)
	frame.AddPage("GET /batches/{id}", pages.Everyone, w.batchPage)
	frame.AddPage("GET /batches/{id}/events", pages.Everyone, w.batchEvents)
	frame.AddPage("GET /batches/{id}/charts", pages.Everyone, w.batchCharts)
	frame.AddPage("GET /batches/{id}/tables/{name}", pages.Everyone, w.batchTable)
	frame.AddPage("GET /batches/{id}/pairs/{a}/{b}", pages.Everyone, w.batchPairPage)
	frame.AddPage("POST /batches/{id}/pairs/{a}/{b}", pages.Officers, w.decidePair)
	frame.AddPage("POST /batches/{id}/leads/{a}/{b}", pages.Officers, w.decideBatchLead)
	frame.AddPage("GET /batches/{id}/wording/{n}", pages.Everyone, w.batchWordingPage)
	frame.AddPage("POST /batches/{id}/wording/{n}", pages.Officers, w.countBatchWording)
	frame.AddPage("POST /batches/{id}/cancel", pages.Checkers, w.cancelBatch)
	frame.AddPage("POST /batches/{id}/again", pages.Checkers, w.batchAgain)
	frame.AddPage("POST /batches/{id}/lineage", pages.Officers, w.setLineage)
	frame.AddPage("GET /rechecks", pages.Everyone, w.rechecksPage)
	frame.AddPage("POST /rechecks", pages.Checkers, w.setRecheck)
	return w
}

// onPage is the number of batches on a page of the list.
const onPage = 50

type batchesPage struct {
	Batches []store.Batch
	Older   int64
	Busy    bool
	People  pages.Names
	Deleted deletions.Now
}

func (w Batches) batchesPage(rw http.ResponseWriter, r *http.Request, v *pages.Visitor) {
	before, _ := strconv.ParseInt(r.URL.Query().Get("before"), 10, 64) // an invalid value starts at the newest batch
	bs, err := w.Store.Batches.Batches(r.Context(), v.OwnOnly(), before, onPage)
	var people pages.Names
	if err == nil {
		people, err = w.frame.Names(r.Context())
	}
	var deleted deletions.Now
	if err == nil {
		deleted, err = deletions.Just(r, w.Store, v)
	}
	if err != nil {
		w.frame.Fail(rw, r, v, err)
		return
	}
	p := batchesPage{People: people, Deleted: deleted, Batches: bs,
		Busy: slices.ContainsFunc(bs, func(b store.Batch) bool { return !b.State.Ended() })}
	if len(bs) == onPage {
		p.Older = bs[len(bs)-1].Seq
	}
	w.frame.Show(rw, r, v, http.StatusOK, "batches", "title.batches", p)
}

// batchResults contains the findings of a batch.
type batchResults struct {
	*batch.View
	leads   *batch.ViewedLeads
	wording []batch.WordingLine
}

// batchTables maps file names to the functions that write a batch's tables.
var batchTables = map[string]func(*batchResults, http.ResponseWriter) error{
	"pairs.csv":     func(b *batchResults, rw http.ResponseWriter) error { return b.WritePairs(rw) },
	"documents.csv": func(b *batchResults, rw http.ResponseWriter) error { return b.WriteMembers(rw) },
	"matrix.csv":    func(b *batchResults, rw http.ResponseWriter) error { return b.WriteMatrix(rw) },
	"wording.csv":   func(b *batchResults, rw http.ResponseWriter) error { return batch.WriteWording(rw, b.wording) },
	"leads.csv":     func(b *batchResults, rw http.ResponseWriter) error { return b.WriteLeads(rw, b.leads) },
	"batch.json": func(b *batchResults, rw http.ResponseWriter) error {
		rw.Header().Set("Content-Type", "application/json")
		return json.NewEncoder(rw).Encode(map[string]any{"id": b.ID, "title": b.Title, "state": b.State, "threshold": b.Job.PairThreshold(),
			"documents": b.MemberLines(), "pairs": b.PairLines(), "clusters": b.ClusterLines(), "leads": b.LeadLines(b.leads),
			"many": b.ManyLines(b.leads), "wording": b.wording})
	},
}

func (w Batches) batchTable(rw http.ResponseWriter, r *http.Request, v *pages.Visitor) {
	view, see, err := w.SeenBatch(r.Context(), v, r.PathValue("id"))
	name := r.PathValue("name")
	switch {
	case err != nil:
	case batchTables[name] == nil:
		err = fmt.Errorf("table %q: %w", name, concordat.ErrNotFound)
	case !see.Shows(review.SeeReport) && name != "documents.csv": // an empty table would suggest that nothing was found
		err = review.ErrNotShown
	}
	results := &batchResults{View: view, leads: &batch.ViewedLeads{}}
	if err == nil && see.Shows(review.SeeReport) {
		results.leads, err = view.Leads(r.Context(), w.Store, w.o.Checks.Rules())
		if err == nil {
			results.wording, err = batch.WordingLines(r.Context(), w.o.Site, view)
		}
	}
	if err != nil {
		w.frame.Fail(rw, r, v, err)
		return
	}
	w.o.Auditor.Audit(r.Context(), v.Name, "batch_read", map[string]any{"batch": view.ID, "table": name})
	rw.Header().Set("Content-Type", "text/csv; charset=utf-8")
	rw.Header().Set("Content-Disposition", `attachment; filename="`+name+`"`)
	if err := batchTables[name](results, rw); err != nil {
		w.o.Logger.Info("table", "batch", view.ID, "error", err)
	}
}

// pairOf returns the indices of a pair's members from their numbers in the path, which start at 1.
func pairOf(a, b string) (x, y int, err error) {
	x, errX := strconv.Atoi(a)
	y, errY := strconv.Atoi(b)
	if errX != nil || errY != nil || x < 1 || y < 1 || x == y {
		return 0, 0, fmt.Errorf("pair %q, %q: %w", a, b, concordat.ErrNotFound)
	}
	return x - 1, y - 1, nil
}

func (w Batches) cancelBatch(rw http.ResponseWriter, r *http.Request, v *pages.Visitor) {
	w.changeBatch(rw, r, v, w.StopBatch)
}

func (w Batches) batchAgain(rw http.ResponseWriter, r *http.Request, v *pages.Visitor) {
	w.changeBatch(rw, r, v, w.RepeatBatch)
}

// changeBatch changes a batch and redirects to its page, or back to the page of a pair.
func (w Batches) changeBatch(rw http.ResponseWriter, r *http.Request, v *pages.Visitor,
	do func(context.Context, *pages.Visitor, store.Batch) error) {
	b, err := w.VisibleBatch(r.Context(), v, r.PathValue("id"))
	if err == nil {
		err = pages.ParseForm(rw, r)
	}
	if err == nil {
		err = do(r.Context(), v, b)
	}
	if err != nil {
		w.frame.Fail(rw, r, v, err)
		return
	}
	to := "/batches/" + b.ID
	if back := r.PostForm.Get("back"); IsPair(back) {
		http.Redirect(rw, r, back, http.StatusSeeOther)
		return
	}
	if kept := pages.LeadQuery(pages.LeadFilterOf(r.PostForm)); len(kept) > 0 {
		to += "?" + kept.Encode() + "#leads"
	}
	http.Redirect(rw, r, to, http.StatusSeeOther)
}

func (w Batches) setLineage(rw http.ResponseWriter, r *http.Request, v *pages.Visitor) {
	w.changeBatch(rw, r, v, func(ctx context.Context, v *pages.Visitor, b store.Batch) error {
		f := r.PostForm
		rules := batch.LineageRules{Author: f.Get("author") != "", Group: f.Get("group") != "", Draft: f.Get("draft") != "",
			Metadata: f.Get("metadata") != ""}
		return w.ApplyLineage(ctx, v, b, rules)
	})
}

// ApplyLineage sets the rules for which pairs of a batch can legitimately share wording.
func (w Batches) ApplyLineage(ctx context.Context, v *pages.Visitor, b store.Batch, rules batch.LineageRules) error {
	return batch.SetLineage(ctx, w.o.Site, w.Store, b.ID, v.Name, rules, w.o.Checks.Rules(),
		v.Note("batch_lineage", map[string]any{"batch": b.ID, "rules": rules}))
}

// ApplyVerdict records whether a pair counts; the verdict "rules" leaves that to the rules. Documents are identified by number, from 1.
func (w Batches) ApplyVerdict(ctx context.Context, v *pages.Visitor, b store.Batch, first, second, verdict, why string) error {
	if verdict == "rules" {
		verdict = ""
	}
	why, err := pages.Reason(why, false)
	if err != nil {
		return err
	}
	x, y, err := pairOf(first, second)
	if err != nil {
		return err
	}
	return batch.SetVerdict(ctx, w.o.Site, w.Store, b.ID, v.Name, x, y, verdict, why, w.o.Checks.Rules(),
		v.Note("batch_pair", map[string]any{"batch": b.ID, "a": x + 1, "b": y + 1, "verdict": verdict}))
}

// batchBeat is the interval at which a batch's events are read. They are read from the store, so they survive a restart and include
// batches that a command is processing.
const batchBeat = time.Second

// batchEvents sends the progress of a batch until it ends.
func (w Batches) batchEvents(rw http.ResponseWriter, r *http.Request, v *pages.Visitor) {
	b, err := w.VisibleBatch(r.Context(), v, r.PathValue("id"))
	if err != nil {
		w.frame.Fail(rw, r, v, err)
		return
	}
	l := message.LanguageOf(r)
	err = w.o.Streams.Follow(rw, r, v, nil, batchBeat, func(ctx context.Context) (progress.Shown, error) {
		now, err := w.Store.Batches.Batch(ctx, b.ID)
		return batchProgress(now, l), err
	})
	if err != nil {
		w.frame.Fail(rw, r, v, err)
	}
}

func batchProgress(b store.Batch, l message.Language) progress.Shown {
	switch {
	case b.State.Ended():
		return progress.Shown{State: b.State, Finally: true}
	case b.Stage == "":
		return progress.Shown{State: b.State, Words: l.Say("batch.waits")}
	}
	return progress.Shown{State: b.State, Words: l.Say("batch.stage", l.Say("stage."+b.Stage), b.Done, b.Total), Done: b.Done, Total: b.Total}
}
