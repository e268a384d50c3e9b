package checks

import (
	"net/http"
	"net/url"

	"concordat"
	"concordat/store"
	"concordat/web/message"
	"concordat/web/pages"
)

// changeCases assigns the selected checks to a reviewer or sets the due date of their decisions. It changes all of them, or none if one
// does not exist.
func (w Checks) changeCases(rw http.ResponseWriter, r *http.Request, v *pages.Visitor) {
	err := pages.ParseForm(rw, r)
	var n store.Review
	if err == nil {
		n, err = w.o.Reviews.CaseNote(r.Context(), v, r.PostForm)
	}
	var ids []concordat.TaskID
	for _, id := range r.PostForm["check"] {
		if err == nil {
			_, err = w.o.Control.Visible(r.Context(), v, concordat.TaskID(id))
			ids = append(ids, concordat.TaskID(id))
		}
	}
	if err == nil && (len(ids) == 0 || len(ids) > onPage) {
		err = message.Invalid("cases.nothing")
	}
	if err == nil {
		detail := map[string]any{"tasks": ids, "to": n.Text}
		err = pages.Change(r.Context(), w.o.Control.Store, v.Name, "review_"+string(n.Kind), detail, func(tx *store.DB) error {
			for _, id := range ids {
				if _, err := tx.Checks.AppendReview(r.Context(), id, n); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err != nil {
		w.frame.Fail(rw, r, v, err)
		return
	}
	to := "/checks"
	if len(ids) == 1 && r.PostForm.Get("at") == "report" {
		to += "/" + string(ids[0]) + "#notes"
	} else if back, err := url.ParseQuery(r.PostForm.Get("list")); err == nil {
		show := caseFilterOf(back, v)
		to = show.Path(show.From)
	}
	http.Redirect(rw, r, to, http.StatusSeeOther)
}
