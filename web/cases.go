package web

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"concordat"
	"concordat/store"
	"concordat/web/message"
)

// caseFilter selects the checks that the list shows. Its links are addresses that people can keep and share.
type caseFilter struct {
	View  string // one of caseViews
	Query string
	Mine  bool // assigned to the visitor
}

// caseViews are the views of the list of checks, in the order of their life; the first shows all.
var caseViews = []string{"all", "waiting", "new", "review", "decided", "signed", "failed"}

// caseLink is a view to choose.
type caseLink struct {
	Key, Path string
	Current   bool
}

func caseFilterOf(q url.Values) caseFilter {
	f := caseFilter{View: q.Get("view"), Query: strings.TrimSpace(q.Get("q")), Mine: q.Get("mine") != ""}
	if !slices.Contains(caseViews, f.View) {
		f.View = caseViews[0]
	}
	if runes := []rune(f.Query); len(runes) > 200 {
		f.Query = string(runes[:200])
	}
	return f
}

// narrow makes the filter of tasks what f shows to the visitor.
func (f caseFilter) narrow(t *store.TaskFilter, v *Visitor) {
	t.Query = f.Query
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

// Path is the address of the list as f shows it, before a check; 0: from the newest.
func (f caseFilter) Path(before int64) string {
	q := url.Values{}
	if f.View != caseViews[0] {
		q.Set("view", f.View)
	}
	if f.Query != "" {
		q.Set("q", f.Query)
	}
	if f.Mine {
		q.Set("mine", "yes")
	}
	if before > 0 {
		q.Set("before", strconv.FormatInt(before, 10))
	}
	if len(q) == 0 {
		return "/checks"
	}
	return "/checks?" + q.Encode()
}

// Links are the views. Those of review are for who sees the checks of all.
func (f caseFilter) Links(reviewer bool) (out []caseLink) {
	for _, view := range caseViews {
		if !reviewer && slices.Contains([]string{"new", "review", "decided", "signed"}, view) {
			continue
		}
		to := f
		to.View = view
		out = append(out, caseLink{"cases." + view, to.Path(0), view == f.View})
	}
	return out
}

// reviewers are the accounts that decide about checks, for the list to assign them from.
func (w *Web) reviewers(ctx context.Context) (out []string, err error) {
	all, err := w.o.Store.Accounts(ctx)
	for _, a := range all {
		if !a.Disabled && (&Visitor{Account: a}).MayReview() {
			out = append(out, a.Name)
		}
	}
	return out, err
}

// changeCases assigns the checks that were chosen to somebody, or sets the day by which they are to be decided: all, or none
// where one is not there.
func (w reportPages) changeCases(rw http.ResponseWriter, r *http.Request, v *Visitor) {
	err := ParseForm(rw, r)
	var n store.Review
	if err == nil {
		n, err = w.caseNote(r.Context(), v, r.PostForm)
	}
	var ids []concordat.TaskID
	for _, id := range r.PostForm["check"] {
		if err == nil {
			_, err = w.Visible(r.Context(), v, concordat.TaskID(id))
			ids = append(ids, concordat.TaskID(id))
		}
	}
	if err == nil && (len(ids) == 0 || len(ids) > TaskPage) {
		err = message.Invalid("cases.nothing")
	}
	if err == nil {
		err = w.Change(r.Context(), v.Name, "review_"+string(n.Kind), map[string]any{"tasks": ids, "to": n.Text}, func(tx *store.DB) error {
			for _, id := range ids {
				if _, err := tx.AppendReview(r.Context(), id, n); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err != nil {
		w.Fail(rw, r, v, err)
		return
	}
	to := "/checks"
	if len(ids) == 1 && r.PostForm.Get("at") == "report" {
		to += "/" + string(ids[0]) + "#notes"
	} else if back, err := url.ParseQuery(r.PostForm.Get("list")); err == nil {
		to = caseFilterOf(back).Path(0)
	}
	http.Redirect(rw, r, to, http.StatusSeeOther)
}

// caseNote returns the fields that a form sets: the reviewer, or the due date.
func (w reportPages) caseNote(ctx context.Context, v *Visitor, f url.Values) (store.Review, error) {
	n := store.Review{At: w.o.Now(), By: v.Name}
	switch f.Get("action") {
	case "assign":
		n.Kind, n.Text = store.ReviewAssign, f.Get("assignee")
		all, err := w.reviewers(ctx)
		if err != nil {
			return n, err
		}
		if n.Text != "" && !slices.Contains(all, n.Text) {
			return n, message.Invalid("cases.nobody", n.Text)
		}
	case "due":
		n.Kind, n.Text = store.ReviewDue, f.Get("due")
		if _, err := time.Parse(time.DateOnly, n.Text); n.Text != "" && err != nil {
			return n, message.Invalid("wrong.date", n.Text)
		}
	default:
		return n, fmt.Errorf("action %q: %w", f.Get("action"), concordat.ErrInvalid)
	}
	var err error
	n.Data, err = json.Marshal(n.Text)
	return n, err
}
