package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"concordat"
	"concordat/site"
	"concordat/site/batch"
	"concordat/store"
	"concordat/web/message"
	"concordat/web/pages"
	"concordat/web/pages/deletions"
	"concordat/web/progress"
	"concordat/web/review"
)

// batchPages serves the pages of batches and scheduled rechecks.
type batchPages struct{ *Web }

func (w batchPages) batchesRoutes() {
	w.AddPage("GET /batches", pages.Everyone, w.batchesPage)
	w.AddPage("GET /batches/new", pages.Checkers, w.newBatchPage)
	w.AddPage("POST /batches", pages.Checkers, w.submitBatch)
	w.AddPage("GET /batches/{id}", pages.Everyone, w.batchPage)
	w.AddPage("GET /batches/{id}/events", pages.Everyone, w.batchEvents)
	w.AddPage("GET /batches/{id}/charts", pages.Everyone, w.batchCharts)
	w.AddPage("GET /batches/{id}/tables/{name}", pages.Everyone, w.batchTable)
	w.AddPage("GET /batches/{id}/pairs/{a}/{b}", pages.Everyone, w.batchPairPage)
	w.AddPage("POST /batches/{id}/pairs/{a}/{b}", pages.Officers, w.decidePair)
	w.AddPage("POST /batches/{id}/leads/{a}/{b}", pages.Officers, w.decideBatchLead)
	w.AddPage("GET /batches/{id}/wording/{n}", pages.Everyone, w.batchWordingPage)
	w.AddPage("POST /batches/{id}/wording/{n}", pages.Officers, w.countBatchWording)
	w.AddPage("POST /batches/{id}/cancel", pages.Checkers, w.cancelBatch)
	w.AddPage("POST /batches/{id}/again", pages.Checkers, w.batchAgain)
	w.AddPage("POST /batches/{id}/lineage", pages.Officers, w.setLineage)
	w.recheckRoutes()
}

// errNoBatches is returned on a site without a batch queue.
var errNoBatches = fmt.Errorf("batches: %w", concordat.ErrUnavailable)

type batchesPage struct {
	Batches []store.Batch
	Older   int64
	Busy    bool
	People  pages.Names
	Deleted deletions.Now
}

func (w batchPages) batchesPage(rw http.ResponseWriter, r *http.Request, v *Visitor) {
	before, _ := strconv.ParseInt(r.URL.Query().Get("before"), 10, 64) // an invalid value starts at the newest batch
	bs, err := w.o.Store.Batches.Batches(r.Context(), v.OwnOnly(), before, TaskPage)
	var people pages.Names
	if err == nil {
		people, err = w.Names(r.Context())
	}
	var deleted deletions.Now
	if err == nil {
		deleted, err = deletions.Just(r, w.o.Store, v)
	}
	if err != nil {
		w.Fail(rw, r, v, err)
		return
	}
	p := batchesPage{People: people, Deleted: deleted, Batches: bs,
		Busy: slices.ContainsFunc(bs, func(b store.Batch) bool { return !b.State.Ended() })}
	if len(bs) == TaskPage {
		p.Older = bs[len(bs)-1].Seq
	}
	w.Show(rw, r, v, http.StatusOK, "batches", "title.batches", p)
}

// VisibleBatch returns a batch if the visitor may see it; for other visitors it does not exist.
func (w batchPages) VisibleBatch(ctx context.Context, v *Visitor, id string) (store.Batch, error) {
	b, err := w.o.Store.Batches.Batch(ctx, id)
	if err == nil && !v.SeesAll() && b.Owner != v.Name {
		err = fmt.Errorf("batch %s: %w", id, concordat.ErrNotFound)
	}
	return b, err
}

func (w batchPages) newBatchPage(rw http.ResponseWriter, r *http.Request, v *Visitor) {
	w.showNewBatch(rw, r, v, http.StatusOK, refused{})
}

func (w batchPages) showNewBatch(rw http.ResponseWriter, r *http.Request, v *Visitor, code int, was refused) {
	p := newCheck{Templates: w.o.Templates(), MaxMiB: w.o.MaxUpload >> 20, MaxFiles: pages.MaxFiles}
	p.tell(was, message.LanguageOf(r))
	var err error
	if p.Libraries, err = w.o.Store.Catalogue.Libraries(r.Context()); err == nil {
		p.Partners, err = w.o.Partners(r.Context())
	}
	if err != nil {
		w.Fail(rw, r, v, err)
		return
	}
	p.Purposes, p.AnyOther = purposesOf(p.Partners)
	w.Show(rw, r, v, code, "batches_new", "title.batches.new", p)
}

func (w batchPages) submitBatch(rw http.ResponseWriter, r *http.Request, v *Visitor) {
	u, err := w.ReadUpload(rw, r, v)
	var id string
	if err == nil {
		if id, err = w.HandBatch(r.Context(), v, u); err != nil {
			w.Lose(r.Context(), v, u)
		}
	}
	var untaken *untakenError
	switch {
	case errors.Is(err, errNothing):
		w.showNewBatch(rw, r, v, http.StatusBadRequest, refused{problem: "batch.nothing", sent: u.Fields})
	case errors.As(err, &untaken):
		w.showNewBatch(rw, r, v, http.StatusBadRequest, refused{problem: "new.untaken", faults: untaken.faults(), sent: u.Fields})
	case errors.Is(err, concordat.ErrInvalid) && u != nil:
		w.showNewBatch(rw, r, v, http.StatusBadRequest, refused{problem: "error.invalid", err: err, sent: u.Fields})
	case err != nil:
		w.Fail(rw, r, v, err)
	default:
		http.Redirect(rw, r, "/batches/"+id, http.StatusSeeOther)
	}
}

// HandBatch queues the uploaded files as one batch and returns its ID. It fails if the site keeps no texts, if a quota is
// exceeded, or if a public account names partners.
func (w batchPages) HandBatch(ctx context.Context, v *Visitor, u *Upload) (string, error) {
	if w.o.Batches == nil {
		return "", errNoBatches
	}
	if err := checkJobs(u.Jobs); err != nil {
		return "", err
	}
	if w.o.Policy.NoStore {
		return "", message.Refused("barred.store")
	}
	j, err := w.batchJob(ctx, u)
	if err != nil {
		return "", err
	}
	if v.Public && len(j.Partners) > 0 {
		return "", message.Refused("barred.partners")
	}
	done, err := w.People.Spend(ctx, v.Account, v.Address, len(taken(u.Jobs)), u.bytes)
	if err != nil {
		return "", err
	}
	defer done()
	var inputs []store.BatchInput
	for _, one := range u.Jobs {
		inputs = append(inputs, store.BatchInput{Name: one.Name, Place: one.File})
		if !one.Fault.IsZero() {
			if j.Faults == nil {
				j.Faults = map[string]string{}
			}
			j.Faults[one.Name] = one.Fault.String()
		}
	}
	title := strings.TrimSpace(u.Field("title"))
	if title == "" {
		title = inputs[0].Name
	}
	if runes := []rune(title); len(runes) > 200 {
		title = string(runes[:200])
	}
	return w.o.Batches.Submit(ctx, v.Name, strings.ToValidUTF8(title, "\ufffd"), j, inputs, func(tx *store.DB, id string) error {
		if err := w.plan(ctx, tx, v, store.RecheckBatch, id); err != nil {
			return err
		}
		return tx.Audit.Note(ctx, v.Name, "batch_submitted", map[string]any{"batch": id, "files": len(inputs)})
	})
}

func (w batchPages) batchJob(ctx context.Context, u *Upload) (batch.Job, error) {
	j := batch.Job{Template: u.Field("template"), Purpose: strings.TrimSpace(u.Field("purpose")), NoLibraries: u.Field("alone") != ""}
	if !w.Checks.IsTemplate(j.Template) {
		return j, message.Absent("wrong.template", j.Template)
	}
	for _, name := range u.Fields["library"] {
		l, err := w.o.Store.Catalogue.Library(ctx, concordat.LibraryID(name))
		if err != nil {
			return j, message.Absent("wrong.library", name)
		}
		j.Libraries = append(j.Libraries, l.ID)
	}
	var err error
	if j.Partners, err = w.chosen(ctx, u.Fields["partner"], j.Purpose); err != nil {
		return j, err
	}
	if t := u.Field("threshold"); t != "" {
		percent, err := strconv.ParseFloat(t, 64)
		if err != nil || !(percent > 0 && percent <= 100) {
			return j, message.Invalid("wrong.threshold", t)
		}
		j.Threshold = percent / 100
	}
	if m := u.Field("manifest"); m != "" {
		if j.Manifest, err = batch.ParseManifest(strings.NewReader(m)); err != nil {
			return j, err
		}
	}
	return j, nil
}

// chosen returns the partners selected in a form, and an error if one of them cannot be asked.
func (w batchPages) chosen(ctx context.Context, names []string, purpose string) ([]concordat.SiteID, error) {
	j := site.Job{Purpose: purpose}
	err := w.Checks.partnerWishes(ctx, &j, names)
	if err == nil && len(j.PartnerLibraries) > 0 {
		err = message.Absent("wrong.partner", j.PartnerLibraries[0])
	}
	return j.Partners, err
}

// mayChangeBatch reports whether the visitor may cancel a batch or schedule rechecks of it.
func (w batchPages) mayChangeBatch(v *Visitor, b store.Batch) bool {
	return v.Role != store.RoleAuditor && (b.Owner == v.Name || v.MayReview())
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

func (w batchPages) batchTable(rw http.ResponseWriter, r *http.Request, v *Visitor) {
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
		results.leads, err = view.Leads(r.Context(), w.o.Store, w.o.Rules())
		if err == nil {
			results.wording, err = batch.WordingLines(r.Context(), w.o.Site, view)
		}
	}
	if err != nil {
		w.Fail(rw, r, v, err)
		return
	}
	w.Audit(r.Context(), v.Name, "batch_read", map[string]any{"batch": view.ID, "table": name})
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

func (w batchPages) cancelBatch(rw http.ResponseWriter, r *http.Request, v *Visitor) {
	w.changeBatch(rw, r, v, w.StopBatch)
}

func (w batchPages) batchAgain(rw http.ResponseWriter, r *http.Request, v *Visitor) {
	w.changeBatch(rw, r, v, w.RepeatBatch)
}

// changeBatch changes a batch and redirects to its page, or back to the page of a pair.
func (w batchPages) changeBatch(rw http.ResponseWriter, r *http.Request, v *Visitor,
	do func(context.Context, *Visitor, store.Batch) error) {
	b, err := w.VisibleBatch(r.Context(), v, r.PathValue("id"))
	if err == nil {
		err = pages.ParseForm(rw, r)
	}
	if err == nil {
		err = do(r.Context(), v, b)
	}
	if err != nil {
		w.Fail(rw, r, v, err)
		return
	}
	to := "/batches/" + b.ID
	if back := r.PostForm.Get("back"); pairAddress.MatchString(back) {
		http.Redirect(rw, r, back, http.StatusSeeOther)
		return
	}
	if kept := pages.LeadQuery(pages.LeadFilterOf(r.PostForm)); len(kept) > 0 {
		to += "?" + kept.Encode() + "#leads"
	}
	http.Redirect(rw, r, to, http.StatusSeeOther)
}

func (w batchPages) StopBatch(ctx context.Context, v *Visitor, b store.Batch) error {
	if !w.mayChangeBatch(v, b) {
		return fmt.Errorf("cancel %s: %w", b.ID, concordat.ErrRefused)
	}
	if w.o.Batches == nil {
		return errNoBatches
	}
	return w.o.Batches.Cancel(ctx, b.ID, store.Cause{Code: store.CauseCancelled, Who: v.Name},
		v.Note("batch_cancelled", map[string]any{"batch": b.ID}))
}

// Rest stops a batch unless it has ended, and returns once no process is working on it.
func (w batchPages) Rest(ctx context.Context, v *Visitor, b store.Batch) error {
	if !b.State.Ended() {
		if err := w.StopBatch(ctx, v, b); err != nil {
			return err
		}
	}
	if w.o.Batches == nil {
		return nil
	}
	return w.o.Batches.Await(ctx, b.ID)
}

func (w batchPages) RepeatBatch(ctx context.Context, v *Visitor, b store.Batch) error {
	switch {
	case !w.mayChangeBatch(v, b):
		return fmt.Errorf("repeat %s: %w", b.ID, concordat.ErrRefused)
	case w.o.Batches == nil:
		return errNoBatches
	}
	return w.o.Batches.Again(ctx, b.ID, v.Note("batch_again", map[string]any{"batch": b.ID}))
}

func (w batchPages) setLineage(rw http.ResponseWriter, r *http.Request, v *Visitor) {
	w.changeBatch(rw, r, v, func(ctx context.Context, v *Visitor, b store.Batch) error {
		f := r.PostForm
		rules := batch.LineageRules{Author: f.Get("author") != "", Group: f.Get("group") != "", Draft: f.Get("draft") != "",
			Metadata: f.Get("metadata") != ""}
		return w.ApplyLineage(ctx, v, b, rules)
	})
}

func (w batchPages) ApplyLineage(ctx context.Context, v *Visitor, b store.Batch, rules batch.LineageRules) error {
	return batch.SetLineage(ctx, w.o.Site, w.o.Store, b.ID, v.Name, rules, w.o.Rules(),
		v.Note("batch_lineage", map[string]any{"batch": b.ID, "rules": rules}))
}

func (w batchPages) ApplyVerdict(ctx context.Context, v *Visitor, b store.Batch, first, second, verdict, why string) error {
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
	return batch.SetVerdict(ctx, w.o.Site, w.o.Store, b.ID, v.Name, x, y, verdict, why, w.o.Rules(),
		v.Note("batch_pair", map[string]any{"batch": b.ID, "a": x + 1, "b": y + 1, "verdict": verdict}))
}

// batchBeat is the interval at which a batch's events are read. They are read from the store, so they survive a restart and include
// batches that a command is processing.
const batchBeat = time.Second

// batchEvents sends the progress of a batch until it ends.
func (w batchPages) batchEvents(rw http.ResponseWriter, r *http.Request, v *Visitor) {
	b, err := w.VisibleBatch(r.Context(), v, r.PathValue("id"))
	if err != nil {
		w.Fail(rw, r, v, err)
		return
	}
	l := message.LanguageOf(r)
	err = w.Streams.Follow(rw, r, v, nil, batchBeat, func(ctx context.Context) (progress.Shown, error) {
		now, err := w.o.Store.Batches.Batch(ctx, b.ID)
		return batchProgress(now, l), err
	})
	if err != nil {
		w.Fail(rw, r, v, err)
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
