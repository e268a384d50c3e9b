package reports

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"concordat"
	"concordat/store"
	"concordat/web/message"
	"concordat/web/pages"
	"concordat/web/pages/batches"
	"concordat/web/review"
)

// reviewForm parses a form about a task visible to the visitor, and reads the decisions about it so far.
func (w Reports) reviewForm(rw http.ResponseWriter, r *http.Request, v *pages.Visitor) (store.Task, *review.Review, error) {
	t, err := w.task(r, v)
	if err == nil {
		err = pages.ParseForm(rw, r)
	}
	if err != nil {
		return t, nil, err
	}
	now, err := w.o.Reviews.Of(r.Context(), t)
	return t, now, err
}

// addNote saves a comment, a verdict, or a sign-off.
func (w Reports) addNote(rw http.ResponseWriter, r *http.Request, v *pages.Visitor) {
	t, now, err := w.reviewForm(rw, r, v)
	f := r.PostForm
	number, bad := strconv.Atoi(f.Get("comment"))
	switch kind := f.Get("kind"); {
	case err != nil:
	case kind != "edit" && kind != "remove":
		_, err = w.o.Reviews.KeepNote(r.Context(), v, t, now, f)
	case bad != nil || kind == "edit" && strings.TrimSpace(f.Get("text")) == "":
		err = message.Invalid("wrong.comment")
	case kind == "remove":
		err = w.o.Reviews.ChangeComment(r.Context(), v, t, number, "")
	default:
		err = w.o.Reviews.ChangeComment(r.Context(), v, t, number, f.Get("text"))
	}
	if err != nil {
		w.frame.Fail(rw, r, v, err)
		return
	}
	to := "/checks/" + string(t.ID) + "#notes"
	if back := f.Get("back"); batches.IsPair(back) {
		http.Redirect(rw, r, back+"#verdicts", http.StatusSeeOther)
		return
	}
	if n := review.PassageNumber(f); n != "" {
		to = "/checks/" + string(t.ID) + "/passages/" + n
		if f.Get("at") == "text" {
			to = "/checks/" + string(t.ID) + "#m" + n
		}
	}
	http.Redirect(rw, r, to, http.StatusSeeOther)
}

// changeLibrary adds the submission of a case to a library or removes it.
func (w Reports) changeLibrary(rw http.ResponseWriter, r *http.Request, v *pages.Visitor) {
	t, _, err := w.reviewForm(rw, r, v)
	if err == nil && !pages.HasReport(t) {
		err = fmt.Errorf("report of %s: %w", t.ID, concordat.ErrNotFound)
	}
	if err == nil {
		switch action := r.PostForm.Get("action"); action {
		case "add":
			err = w.o.Reviews.AddCase(r.Context(), v, t, concordat.LibraryID(r.PostForm.Get("library")))
		case "remove":
			err = w.o.Reviews.RemoveCase(r.Context(), v, t)
		default:
			err = fmt.Errorf("action %q: %w", action, concordat.ErrInvalid)
		}
	}
	var now *review.Review
	if err == nil {
		now, err = w.o.Reviews.Of(r.Context(), t)
	}
	if err != nil {
		w.frame.Fail(rw, r, v, err)
		return
	}
	http.Redirect(rw, r, fmt.Sprintf("/checks/%s?changed=%d#notes", t.ID, now.Latest), http.StatusSeeOther)
}
