package checks

import (
	"fmt"
	"net/http"
	"strconv"

	"concordat"
	"concordat/store"
	"concordat/web/message"
	"concordat/web/pages"
	"concordat/web/pages/admin"
	"concordat/web/progress"
)

type adminTasks struct {
	pages.Administration
	People pages.Names
	State  concordat.State // state of the listed tasks; empty for any
	Owner  string          // owner of the listed tasks; empty for any
	States []concordat.State
	Counts map[concordat.State]int
	Rows   []adminTask
	Older  string // address of the next page; empty on the last page
	Busy   bool
}

type adminTask struct {
	store.Task
	Now progress.Shown
}

func (w Checks) adminTasksPage(rw http.ResponseWriter, r *http.Request, v *pages.Visitor) {
	q := r.URL.Query()
	p := adminTasks{Administration: pages.AdministrationFor(v), States: admin.TaskStates,
		State: concordat.State(q.Get("state")), Owner: q.Get("owner")}
	before, _ := strconv.ParseInt(q.Get("before"), 10, 64) // an invalid value starts at the newest task
	f := store.TaskFilter{States: pages.OneState(p.State), Owner: p.Owner}
	tasks, err := w.o.Control.Store.Checks.FilterTasks(r.Context(), f, before, onPage)
	if err == nil {
		p.Counts, err = w.o.Control.Store.Checks.TaskCounts(r.Context())
	}
	if err == nil {
		p.People, err = w.frame.Names(r.Context())
	}
	way := w.o.Progress.For(v, message.LanguageOf(r))
	for _, t := range tasks {
		one := adminTask{Task: t}
		if err == nil && !t.State.Ended() {
			p.Busy = true
			one.Now, err = way.Now(r.Context(), t)
		}
		p.Rows = append(p.Rows, one)
	}
	if err != nil {
		w.frame.Fail(rw, r, v, err)
		return
	}
	if len(tasks) == onPage {
		q.Set("before", strconv.FormatInt(tasks[onPage-1].Seq, 10))
		p.Older = "/admin/tasks?" + q.Encode()
	}
	w.frame.Show(rw, r, v, http.StatusOK, "admin_tasks", "title.admin", p)
}

// changeTask restarts a failed task, or cancels one that has not ended.
func (w Checks) changeTask(rw http.ResponseWriter, r *http.Request, v *pages.Visitor) {
	t, err := w.task(r, v)
	if err == nil {
		err = pages.ParseForm(rw, r)
	}
	if err == nil {
		switch action := r.PostForm.Get("action"); action {
		case "retry":
			err = w.o.Control.RetryTask(r.Context(), v, t)
		case "cancel":
			err = w.o.Control.CancelTask(r.Context(), v, t)
		default:
			err = fmt.Errorf("action %q: %w", action, concordat.ErrInvalid)
		}
	}
	if err != nil {
		w.frame.Fail(rw, r, v, err)
		return
	}
	http.Redirect(rw, r, "/admin/tasks", http.StatusSeeOther)
}
