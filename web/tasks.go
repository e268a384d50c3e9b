package web

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"concordat"
	"concordat/report"
	"concordat/report/html"
	"concordat/site"
	"concordat/store"
)

// taskPage is how many checks a page of the list shows.
const taskPage = 50

// row is a check in the list.
type row struct {
	store.Task
	Queued, Running int // before it
	MayCancel       bool
}

type checksPage struct {
	Rows  []row
	Older int64 // Seq to go on from; 0: these are the last
	Busy  bool  // something is still to come
}

func (w *Web) checksPage(rw http.ResponseWriter, r *http.Request, v *visitor) {
	before, _ := strconv.ParseInt(r.URL.Query().Get("before"), 10, 64) // nonsense begins at the newest
	var tasks []store.Task
	var err error
	if v.seesAll() {
		tasks, err = w.o.Store.Tasks(r.Context(), before, taskPage)
	} else {
		tasks, err = w.o.Store.OwnTasks(r.Context(), v.Name, before, taskPage)
	}
	var p checksPage
	for _, t := range tasks {
		if err == nil {
			var one row
			one, err = w.row(r.Context(), v, t)
			p.Rows = append(p.Rows, one)
			p.Busy = p.Busy || !ended(t.State)
		}
	}
	if err != nil {
		w.fail(rw, r, v, err)
		return
	}
	if len(tasks) == taskPage {
		p.Older = tasks[len(tasks)-1].Seq
	}
	w.show(rw, r, v, http.StatusOK, "checks", "title.checks", p)
}

func ended(s concordat.State) bool { return s != concordat.TaskQueued && s != concordat.TaskRunning }

func (w *Web) row(ctx context.Context, v *visitor, t store.Task) (row, error) {
	one := row{Task: t, MayCancel: !ended(t.State) && w.mayChange(v, t)}
	if t.State == concordat.TaskQueued {
		var err error
		if one.Queued, one.Running, err = w.o.Store.Ahead(ctx, t); err != nil {
			return one, err
		}
	}
	return one, nil
}

// mayChange reports whether the visitor may cancel a task.
func (w *Web) mayChange(v *visitor, t store.Task) bool {
	return t.Owner == v.Name || v.Role == store.RoleAdministrator || v.Role == store.RoleOfficer
}

// task returns the task of the request if the visitor may see it; else it does not exist for them.
func (w *Web) task(r *http.Request, v *visitor) (store.Task, error) {
	return w.visible(r.Context(), v, concordat.TaskID(r.PathValue("id")))
}

func (w *Web) visible(ctx context.Context, v *visitor, id concordat.TaskID) (store.Task, error) {
	t, err := w.o.Store.Task(ctx, id)
	if err == nil && !v.seesAll() && t.Owner != v.Name {
		err = fmt.Errorf("task %s: %w", t.ID, concordat.ErrNotFound)
	}
	return t, err
}

// hasReport reports whether a check has ended with findings: an archive was split into others.
func hasReport(t store.Task) bool {
	return (t.State == concordat.TaskDone || t.State == concordat.TaskPartial) && t.Cause == ""
}

// errNotShown refuses a report that the policy of the site does not show to submitters, or not yet.
var errNotShown = fmt.Errorf("%w: the policy of the site does not show this report, or not yet", concordat.ErrRefused)

// currentReport is the report by the rules in force, with what was decided about it, and notes who has
// read it.
func (w *Web) currentReport(ctx context.Context, v *visitor, t store.Task, in report.Language) (*report.Report, error) {
	if !hasReport(t) {
		return nil, fmt.Errorf("report of %s: %w", t.ID, concordat.ErrNotFound)
	}
	now, err := w.review(ctx, t.ID)
	if err != nil {
		return nil, err
	}
	see := w.sees(v, now)
	got, err := w.reading(ctx, t.ID, now.Rules, in, see)
	if err != nil {
		return nil, err
	}
	w.noteRead(ctx, v, t.ID, false)
	rep := *got.report
	if see == SeeEverything {
		rep.Review = now.inReport() // what officers wrote is theirs
	}
	return &rep, nil
}

func (w *Web) reportPage(rw http.ResponseWriter, r *http.Request, v *visitor) {
	t, err := w.task(r, v)
	var rep *report.Report
	if err == nil {
		rep, err = w.currentReport(r.Context(), v, t, languageOf(r).report())
	}
	if err != nil {
		w.fail(rw, r, v, err)
		return
	}
	h := rw.Header()
	switch r.URL.Query().Get("format") {
	case "json":
		h.Set("Content-Type", "application/json")
		h.Set("Content-Disposition", attachment(t, "json"))
		if err := w.o.ReportJSON(rw, rep); err != nil {
			h.Del("Content-Disposition")
			w.fail(rw, r, v, err)
			return
		}
	case "csv":
		h.Set("Content-Type", "text/csv; charset=utf-8")
		h.Set("Content-Disposition", attachment(t, "csv"))
		err = report.WriteCSV(rw, rep, report.CSVOptions{BOM: true})
	default:
		h.Set("Content-Type", "text/html; charset=utf-8")
		// The page stands alone and carries the stricter policy of its own style and script.
		h.Set("Content-Security-Policy", "frame-ancestors 'none'; base-uri 'none'; form-action 'none'")
		err = html.Write(rw, rep)
	}
	if err != nil {
		w.o.Logger.Error("report", "task", t.ID, "error", err)
	}
}

// attachment names the file of a download (RFC 6266, section 4).
func attachment(t store.Task, ending string) string {
	return "attachment; filename*=UTF-8''" + url.PathEscape(cleanName(t.Title)+"."+ending)
}

func (w *Web) cancel(rw http.ResponseWriter, r *http.Request, v *visitor) {
	t, err := w.task(r, v)
	if err == nil {
		err = w.cancelTask(r.Context(), v, t)
	}
	if err != nil {
		w.fail(rw, r, v, err)
		return
	}
	http.Redirect(rw, r, "/checks/"+string(t.ID), http.StatusSeeOther)
}

func (w *Web) cancelTask(ctx context.Context, v *visitor, t store.Task) error {
	if !w.mayChange(v, t) {
		return fmt.Errorf("cancel %s: %w", t.ID, concordat.ErrRefused)
	}
	if err := w.o.Queue.Cancel(ctx, t.ID, "cancelled by "+v.Name); err != nil {
		return err
	}
	w.audit(ctx, v.Name, "check_cancelled", map[string]any{"task": t.ID})
	return nil
}

// heartBeat keeps a connection open that has nothing to say.
const heartBeat = 15 * time.Second

// progress is one event of a check as a page reads it.
type progress struct {
	State   concordat.State `json:"state"`
	Words   string          `json:"words"`
	Done    int             `json:"done"`
	Total   int             `json:"total"`
	Finally bool            `json:"finally"` // it has ended: read the page again
}

// events sends what happens to a check until it ends (HTML living standard, server-sent events).
func (w *Web) events(rw http.ResponseWriter, r *http.Request, v *visitor) {
	t, err := w.task(r, v)
	if err != nil {
		w.fail(rw, r, v, err)
		return
	}
	events, stop := w.o.Queue.Watch(t.ID)
	defer stop()
	c := http.NewResponseController(rw)
	if err := c.SetWriteDeadline(time.Time{}); err != nil {
		w.o.Logger.Debug("events", "error", err) // such as a recorder in a test: it has no deadline
	}
	rw.Header().Set("Content-Type", "text/event-stream")
	l := languageOf(r)
	send := func(p progress) bool {
		b, err := json.Marshal(p)
		if err == nil {
			_, err = fmt.Fprintf(rw, "data: %s\n\n", b)
		}
		return err == nil && c.Flush() == nil && !p.Finally
	}
	beat := time.NewTicker(heartBeat)
	defer beat.Stop()
	for {
		// What the store says counts: an event may have been before we watched.
		if t, err = w.o.Store.Task(r.Context(), t.ID); err != nil {
			return // deleted, or the browser has gone
		}
		if ended(t.State) {
			send(progress{State: t.State, Finally: true})
			return
		}
		p := progress{State: t.State}
		if t.State == concordat.TaskQueued {
			queued, running, err := w.o.Store.Ahead(r.Context(), t)
			if err != nil {
				return
			}
			p.Words = l.say("state.position", queued+1, running)
		}
		if p.Words != "" && !send(p) {
			return
		}
		select {
		case <-r.Context().Done():
			return
		case <-beat.C:
			if _, err := fmt.Fprint(rw, ": still here\n\n"); err != nil || c.Flush() != nil {
				return
			}
		case e := <-events:
			if e.Stage != site.StageEnded && !send(progress{State: e.State, Words: l.say("stage." + e.Stage), Done: e.Done, Total: e.Total}) {
				return
			}
		}
	}
}

func (w *Web) librariesPage(rw http.ResponseWriter, r *http.Request, v *visitor) {
	libraries, err := w.o.Store.Libraries(r.Context())
	if err != nil {
		w.fail(rw, r, v, err)
		return
	}
	w.show(rw, r, v, http.StatusOK, "libraries", "title.libraries", libraries)
}

// audit notes what somebody did. A page is not refused because its line cannot be written; the
// operator is told.
func (w *Web) audit(ctx context.Context, actor, action string, detail map[string]any) {
	b, err := json.Marshal(detail)
	if err == nil {
		_, err = w.o.Store.AppendAudit(context.WithoutCancel(ctx), actor, action, b)
	}
	if err != nil {
		w.o.Logger.Error("audit", "action", action, "error", err)
	}
}
