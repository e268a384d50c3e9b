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
	"concordat/report"
	"concordat/site"
	"concordat/site/batch"
	"concordat/store"
	"concordat/web/message"
)

// batchPages has the pages of batches and of what is checked again.
type batchPages struct{ *Web }

func (w batchPages) batchesRoutes() {
	w.page("GET /batches", everyone, w.batchesPage)
	w.page("GET /batches/new", checkers, w.newBatchPage)
	w.page("POST /batches", checkers, w.submitBatch)
	w.page("GET /batches/{id}", everyone, w.batchPage)
	w.page("GET /batches/{id}/events", everyone, w.batchEvents)
	w.page("GET /batches/{id}/charts", everyone, w.batchCharts)
	w.page("GET /batches/{id}/tables/{name}", everyone, w.batchTable)
	w.page("GET /batches/{id}/pairs/{a}/{b}", everyone, w.batchPairPage)
	w.page("POST /batches/{id}/pairs/{a}/{b}", officers, w.decidePair)
	w.page("GET /batches/{id}/wording/{n}", everyone, w.batchWordingPage)
	w.page("POST /batches/{id}/wording/{n}", officers, w.countBatchWording)
	w.page("POST /batches/{id}/cancel", checkers, w.cancelBatch)
	w.page("POST /batches/{id}/again", checkers, w.batchAgain)
	w.page("POST /batches/{id}/lineage", officers, w.setLineage)
	w.recheckRoutes()
}

// errNoBatches is what a site without a queue of batches answers.
var errNoBatches = fmt.Errorf("batches: %w", concordat.ErrUnavailable)

// ownerOf is whose things the visitor sees; nil: everyone's.
func ownerOf(v *visitor) *string {
	if v.seesAll() {
		return nil
	}
	return &v.Name
}

type batchesPage struct {
	Batches []store.Batch
	Older   int64
	Busy    bool
}

func (w batchPages) batchesPage(rw http.ResponseWriter, r *http.Request, v *visitor) {
	before, _ := strconv.ParseInt(r.URL.Query().Get("before"), 10, 64) // nonsense begins at the newest
	bs, err := w.o.Store.Batches(r.Context(), ownerOf(v), before, taskPage)
	if err != nil {
		w.fail(rw, r, v, err)
		return
	}
	p := batchesPage{Batches: bs, Busy: slices.ContainsFunc(bs, func(b store.Batch) bool { return !ended(b.State) })}
	if len(bs) == taskPage {
		p.Older = bs[len(bs)-1].Seq
	}
	w.show(rw, r, v, http.StatusOK, "batches", "title.batches", p)
}

// visibleBatch returns a batch that the visitor may see; another does not exist for them.
func (w batchPages) visibleBatch(ctx context.Context, v *visitor, id string) (store.Batch, error) {
	b, err := w.o.Store.Batch(ctx, id)
	if err == nil && !v.seesAll() && b.Owner != v.Name {
		err = fmt.Errorf("batch %s: %w", id, concordat.ErrNotFound)
	}
	return b, err
}

func (w batchPages) newBatchPage(rw http.ResponseWriter, r *http.Request, v *visitor) {
	w.showNewBatch(rw, r, v, http.StatusOK, refused{})
}

func (w batchPages) showNewBatch(rw http.ResponseWriter, r *http.Request, v *visitor, code int, was refused) {
	p := newCheck{Templates: w.o.Templates(), MaxMiB: w.o.MaxUpload >> 20, MaxFiles: mostFiles}
	p.tell(was, message.LanguageOf(r))
	var err error
	if p.Libraries, err = w.o.Store.Libraries(r.Context()); err == nil {
		p.Partners, err = w.o.Partners(r.Context())
	}
	if err != nil {
		w.fail(rw, r, v, err)
		return
	}
	p.Purposes, p.AnyOther = purposesOf(p.Partners)
	w.show(rw, r, v, code, "batches_new", "title.batches.new", p)
}

func (w batchPages) submitBatch(rw http.ResponseWriter, r *http.Request, v *visitor) {
	u, err := w.readUpload(rw, r, v)
	var id string
	if err == nil {
		if id, err = w.handBatch(r.Context(), v, u); err != nil {
			w.lose(r.Context(), v, u)
		}
	}
	var untaken *untakenError
	switch {
	case errors.Is(err, errNothing):
		w.showNewBatch(rw, r, v, http.StatusBadRequest, refused{problem: "batch.nothing", sent: u.fields})
	case errors.As(err, &untaken):
		w.showNewBatch(rw, r, v, http.StatusBadRequest, refused{problem: "new.untaken", faults: untaken.faults(), sent: u.fields})
	case errors.Is(err, concordat.ErrInvalid) && u != nil:
		w.showNewBatch(rw, r, v, http.StatusBadRequest, refused{problem: "error.invalid", err: err, sent: u.fields})
	case err != nil:
		w.fail(rw, r, v, err)
	default:
		http.Redirect(rw, r, "/batches/"+id, http.StatusSeeOther)
	}
}

// handBatch puts what a form handed in into the queue of batches.
func (w batchPages) handBatch(ctx context.Context, v *visitor, u *upload) (string, error) {
	if w.o.Batches == nil {
		return "", errNoBatches
	}
	if err := checkJobs(u.jobs); err != nil {
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
	done, err := w.people.Spend(ctx, v.Account, v.address, len(taken(u.jobs)), u.bytes)
	if err != nil {
		return "", err
	}
	defer done()
	var inputs []store.BatchInput
	for _, one := range u.jobs {
		inputs = append(inputs, store.BatchInput{Name: one.Name, Place: one.File})
		if one.Fault != "" {
			if j.Faults == nil {
				j.Faults = map[string]string{}
			}
			j.Faults[one.Name] = one.Fault
		}
	}
	title := strings.TrimSpace(u.field("title"))
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
		return tx.Note(ctx, v.Name, "batch_submitted", map[string]any{"batch": id, "files": len(inputs)})
	})
}

func (w batchPages) batchJob(ctx context.Context, u *upload) (batch.Job, error) {
	j := batch.Job{Template: u.field("template"), Purpose: strings.TrimSpace(u.field("purpose")), NoLibraries: u.field("alone") != ""}
	if !w.checks.isTemplate(j.Template) {
		return j, message.Absent("wrong.template", j.Template)
	}
	for _, name := range u.fields["library"] {
		l, err := w.o.Store.Library(ctx, concordat.LibraryID(name))
		if err != nil {
			return j, message.Absent("wrong.library", name)
		}
		j.Libraries = append(j.Libraries, l.ID)
	}
	var err error
	if j.Partners, err = w.chosen(ctx, u.fields["partner"], j.Purpose); err != nil {
		return j, err
	}
	if t := u.field("threshold"); t != "" {
		percent, err := strconv.ParseFloat(t, 64)
		if err != nil || !(percent > 0 && percent <= 100) {
			return j, message.Invalid("wrong.threshold", t)
		}
		j.Threshold = percent / 100
	}
	if m := u.field("manifest"); m != "" {
		if j.Manifest, err = batch.ParseManifest(strings.NewReader(m)); err != nil {
			return j, err
		}
	}
	return j, nil
}

// chosen returns the partners of a form, each of which must be one that can be asked.
func (w batchPages) chosen(ctx context.Context, names []string, purpose string) ([]concordat.SiteID, error) {
	j := site.Job{Purpose: purpose}
	err := w.checks.partnerWishes(ctx, &j, names)
	if err == nil && len(j.PartnerLibraries) > 0 {
		err = message.Absent("wrong.partner", j.PartnerLibraries[0])
	}
	return j.Partners, err
}

// mayChangeBatch reports whether the visitor may cancel a batch or have it done again.
func (w batchPages) mayChangeBatch(v *visitor, b store.Batch) bool {
	return v.Role != store.RoleAuditor && (b.Owner == v.Name || v.mayReview())
}

// batchTables are the tables of a batch by the names of their files.
var batchTables = map[string]func(*batch.View, http.ResponseWriter) error{
	"pairs.csv":     func(v *batch.View, rw http.ResponseWriter) error { return v.WritePairs(rw) },
	"documents.csv": func(v *batch.View, rw http.ResponseWriter) error { return v.WriteMembers(rw) },
	"matrix.csv":    func(v *batch.View, rw http.ResponseWriter) error { return v.WriteMatrix(rw) },
	"batch.json": func(v *batch.View, rw http.ResponseWriter) error {
		rw.Header().Set("Content-Type", "application/json")
		return json.NewEncoder(rw).Encode(map[string]any{"id": v.ID, "title": v.Title, "state": v.State, "threshold": v.Job.PairThreshold(),
			"documents": v.MemberLines(), "pairs": v.PairLines(), "clusters": v.ClusterLines()})
	},
}

func (w batchPages) batchTable(rw http.ResponseWriter, r *http.Request, v *visitor) {
	view, see, err := w.seenBatch(r.Context(), v, r.PathValue("id"))
	name := r.PathValue("name")
	switch {
	case err != nil:
	case batchTables[name] == nil:
		err = fmt.Errorf("table %q: %w", name, concordat.ErrNotFound)
	case !shows(see, SeeReport) && name != "documents.csv": // an empty table would say that nothing was found
		err = errNotShown
	}
	if err != nil {
		w.fail(rw, r, v, err)
		return
	}
	w.audit(r.Context(), v.Name, "batch_read", map[string]any{"batch": view.ID, "table": name})
	rw.Header().Set("Content-Type", "text/csv; charset=utf-8")
	rw.Header().Set("Content-Disposition", `attachment; filename="`+name+`"`)
	if err := batchTables[name](view, rw); err != nil {
		w.o.Logger.Info("table", "batch", view.ID, "error", err)
	}
}

// pairOf returns the numbers of a pair's members from the path, where people count from 1.
func pairOf(a, b string) (x, y int, err error) {
	x, errX := strconv.Atoi(a)
	y, errY := strconv.Atoi(b)
	if errX != nil || errY != nil || x < 1 || y < 1 || x == y {
		return 0, 0, fmt.Errorf("pair %q, %q: %w", a, b, concordat.ErrNotFound)
	}
	return x - 1, y - 1, nil
}

// batchPairPage sets two documents of a batch side by side: what the first has in common with the second.
func (w batchPages) batchPairPage(rw http.ResponseWriter, r *http.Request, v *visitor) {
	b, see, err := w.seenBatch(r.Context(), v, r.PathValue("id"))
	var x, y int
	if err == nil {
		x, y, err = pairOf(r.PathValue("a"), r.PathValue("b"))
	}
	if err == nil && !shows(see, SeeReport) {
		err = errNotShown
	}
	var rep *report.Report
	if err == nil {
		rep, err = batch.PairReport(r.Context(), w.o.Site, w.o.Store, b.ID, x, y, w.o.Rules())
	}
	if err != nil {
		w.fail(rw, r, v, err)
		return
	}
	w.audit(r.Context(), v.Name, "report_read", map[string]any{"task": rep.Task, "batch": b.ID, "with": y + 1})
	rep = seen(rep, see)
	rep.Language = message.LanguageOf(r).Report()
	rw.Header().Set("Content-Type", "text/html; charset=utf-8")
	// The page stands alone and carries the stricter policy of its own style and script.
	rw.Header().Set("Content-Security-Policy", "frame-ancestors 'none'; base-uri 'none'; form-action 'none'")
	if err := w.reportHTML(rw, rep); err != nil {
		w.o.Logger.Error("pair", "batch", b.ID, "error", err)
	}
}

func (w batchPages) cancelBatch(rw http.ResponseWriter, r *http.Request, v *visitor) {
	w.changeBatch(rw, r, v, w.stopBatch)
}

func (w batchPages) batchAgain(rw http.ResponseWriter, r *http.Request, v *visitor) {
	w.changeBatch(rw, r, v, w.repeatBatch)
}

// changeBatch does something to a batch and shows it.
func (w batchPages) changeBatch(rw http.ResponseWriter, r *http.Request, v *visitor,
	do func(context.Context, *visitor, store.Batch) error) {
	b, err := w.visibleBatch(r.Context(), v, r.PathValue("id"))
	if err == nil {
		err = form(rw, r)
	}
	if err == nil {
		err = do(r.Context(), v, b)
	}
	if err != nil {
		w.fail(rw, r, v, err)
		return
	}
	http.Redirect(rw, r, "/batches/"+b.ID, http.StatusSeeOther)
}

func (w batchPages) stopBatch(ctx context.Context, v *visitor, b store.Batch) error {
	if !w.mayChangeBatch(v, b) {
		return fmt.Errorf("cancel %s: %w", b.ID, concordat.ErrRefused)
	}
	if w.o.Batches == nil {
		return errNoBatches
	}
	return w.o.Batches.Cancel(ctx, b.ID, store.Cause{Code: store.CauseCancelled, Who: v.Name}.String(),
		v.note("batch_cancelled", map[string]any{"batch": b.ID}))
}

func (w batchPages) repeatBatch(ctx context.Context, v *visitor, b store.Batch) error {
	switch {
	case !w.mayChangeBatch(v, b):
		return fmt.Errorf("repeat %s: %w", b.ID, concordat.ErrRefused)
	case w.o.Batches == nil:
		return errNoBatches
	}
	return w.o.Batches.Again(ctx, b.ID, v.note("batch_again", map[string]any{"batch": b.ID}))
}

func (w batchPages) setLineage(rw http.ResponseWriter, r *http.Request, v *visitor) {
	w.changeBatch(rw, r, v, func(ctx context.Context, v *visitor, b store.Batch) error {
		f := r.PostForm
		rules := batch.LineageRules{Author: f.Get("author") != "", Group: f.Get("group") != "", Draft: f.Get("draft") != "",
			Metadata: f.Get("metadata") != ""}
		return w.applyLineage(ctx, v, b, rules)
	})
}

func (w batchPages) applyLineage(ctx context.Context, v *visitor, b store.Batch, rules batch.LineageRules) error {
	return batch.SetLineage(ctx, w.o.Site, w.o.Store, b.ID, v.Name, rules, w.o.Rules(),
		v.note("batch_lineage", map[string]any{"batch": b.ID, "rules": rules}))
}

func (w batchPages) decidePair(rw http.ResponseWriter, r *http.Request, v *visitor) {
	w.changeBatch(rw, r, v, func(ctx context.Context, v *visitor, b store.Batch) error {
		return w.applyVerdict(ctx, v, b, r.PathValue("a"), r.PathValue("b"), r.PostForm.Get("verdict"),
			strings.TrimSpace(r.PostForm.Get("reason")))
	})
}

func (w batchPages) applyVerdict(ctx context.Context, v *visitor, b store.Batch, first, second, verdict, why string) error {
	if verdict == "rules" {
		verdict = ""
	}
	if len(why) > mostNote {
		return message.Invalid("wrong.reason", mostNote)
	}
	x, y, err := pairOf(first, second)
	if err != nil {
		return err
	}
	return batch.SetVerdict(ctx, w.o.Site, w.o.Store, b.ID, v.Name, x, y, verdict, why, w.o.Rules(),
		v.note("batch_pair", map[string]any{"batch": b.ID, "a": x + 1, "b": y + 1, "verdict": verdict}))
}

// batchBeat is how often the events of a batch are looked up. They come from the store, so that they go on
// after a restart, and for a batch that a command works on.
const batchBeat = time.Second

// batchEvents sends how far a batch is until it ends.
func (w batchPages) batchEvents(rw http.ResponseWriter, r *http.Request, v *visitor) {
	b, err := w.visibleBatch(r.Context(), v, r.PathValue("id"))
	if err != nil {
		w.fail(rw, r, v, err)
		return
	}
	l := message.LanguageOf(r)
	w.checks.follow(rw, r, v, nil, batchBeat, func(ctx context.Context) (progress, error) {
		now, err := w.o.Store.Batch(ctx, b.ID)
		return batchProgress(now, l), err
	})
}

func batchProgress(b store.Batch, l message.Language) progress {
	switch {
	case ended(b.State):
		return progress{State: b.State, Finally: true}
	case b.Stage == "":
		return progress{State: b.State, Words: l.Say("batch.waits")}
	}
	return progress{State: b.State, Words: l.Say("batch.stage", l.Say("stage."+b.Stage), b.Done, b.Total), Done: b.Done, Total: b.Total}
}
