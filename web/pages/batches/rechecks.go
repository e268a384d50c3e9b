package batches

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"concordat"
	"concordat/site/batch"
	"concordat/store"
	"concordat/web/message"
	"concordat/web/pages"
)

// shownRecheck is a recheck in the form shown to people and programs.
type shownRecheck struct {
	store.Recheck
	Title string
	Link  string // link to its latest result
	New   []batch.FreshSource
	// Withheld reports whether new sources are hidden from the visitor.
	Withheld bool
}

// Rechecks returns the rechecks that the visitor may see.
func (w Batches) Rechecks(ctx context.Context, v *pages.Visitor) ([]shownRecheck, error) {
	all, err := w.Store.Alerts.Rechecks(ctx)
	if err != nil {
		return nil, err
	}
	var out []shownRecheck
	for _, r := range all {
		if !v.SeesAll() && r.Owner != v.Name {
			continue
		}
		one := shownRecheck{Recheck: r}
		if err := json.Unmarshal(r.Fresh, &one.New); err != nil {
			return nil, fmt.Errorf("new sources of %s: %w: %v", r.Target, concordat.ErrCorrupt, err)
		}
		told, err := w.seesFresh(ctx, v, r)
		if !told {
			one.New, one.Withheld = nil, true
		}
		if errors.Is(err, concordat.ErrNotFound) {
			continue // deleted in the meantime
		}
		if err != nil {
			return nil, err
		}
		if r.Kind == store.RecheckBatch {
			var b store.Batch
			b, err = w.Store.Batches.Batch(ctx, r.Target)
			one.Title, one.Link = b.Title, "/batches/"+r.Target
		} else {
			var t store.Task
			t, err = w.Store.Checks.Task(ctx, concordat.TaskID(r.Target))
			one.Title, one.Link = t.Title, "/checks/"+r.Target
			if r.Latest != "" {
				one.Link = "/checks/" + r.Latest
			}
		}
		if errors.Is(err, concordat.ErrNotFound) {
			continue // deleted in the meantime
		}
		if err != nil {
			return nil, err
		}
		out = append(out, one)
	}
	return out, nil
}

type rechecksPage struct {
	Rechecks []shownRecheck
	Check    *store.Task // the check that the form concerns
	Now      *store.Recheck
	Today    string
	People   pages.Names
}

func (w Batches) rechecksPage(rw http.ResponseWriter, r *http.Request, v *pages.Visitor) {
	p := rechecksPage{Today: w.o.Now().Format(time.DateOnly)}
	var err error
	if p.People, err = w.frame.Names(r.Context()); err == nil {
		p.Rechecks, err = w.Rechecks(r.Context(), v)
	}
	if err == nil {
		if id := r.URL.Query().Get("check"); id != "" {
			var t store.Task
			t, err = w.o.Checks.Visible(r.Context(), v, concordat.TaskID(id))
			p.Check = &t
			if err == nil {
				var now store.Recheck
				now, err = w.Store.Alerts.Recheck(r.Context(), store.RecheckCheck, id)
				if p.Now = &now; errors.Is(err, concordat.ErrNotFound) {
					p.Now, err = nil, nil
				}
			}
		}
	}
	if err != nil {
		w.frame.Fail(rw, r, v, err)
		return
	}
	w.frame.Show(rw, r, v, http.StatusOK, "rechecks", "title.rechecks", p)
}

func (w Batches) setRecheck(rw http.ResponseWriter, r *http.Request, v *pages.Visitor) {
	err := pages.ParseForm(rw, r)
	kind, target := r.PostForm.Get("kind"), r.PostForm.Get("target")
	if err == nil {
		every := 0
		if text := r.PostForm.Get("every"); text != "" {
			if every, err = strconv.Atoi(text); err != nil {
				err = message.Invalid("wrong.days", text)
			}
		}
		switch {
		case err != nil:
		case r.PostForm.Get("action") == "never":
			err = w.DropRecheck(r.Context(), v, kind, target)
		default:
			err = w.PutRecheck(r.Context(), v, kind, target, every, r.PostForm.Get("on"))
		}
	}
	if err != nil {
		w.frame.Fail(rw, r, v, err)
		return
	}
	to := "/rechecks"
	if kind == store.RecheckBatch {
		to = "/batches/" + target
	}
	http.Redirect(rw, r, to, http.StatusSeeOther)
}

// mayRecheck returns nil if the visitor may schedule rechecks of the check or batch.
func (w Batches) mayRecheck(ctx context.Context, v *pages.Visitor, kind, target string) error {
	if w.Queue == nil {
		return ErrNone
	}
	may := false
	if kind == store.RecheckBatch {
		b, err := w.VisibleBatch(ctx, v, target)
		if err != nil {
			return err
		}
		may = w.mayChangeBatch(v, b)
	} else {
		t, err := w.o.Checks.Visible(ctx, v, concordat.TaskID(target))
		if err != nil {
			return err
		}
		if !pages.HasReport(t) {
			return message.Invalid("wrong.nofinding")
		}
		may = v.MayChange(t)
	}
	if !may {
		return fmt.Errorf("%s %s: %w", kind, target, concordat.ErrRefused)
	}
	return nil
}

// PutRecheck schedules a recheck at an interval in days. The first takes place on the given day or, if the day is empty, after one
// interval.
func (w Batches) PutRecheck(ctx context.Context, v *pages.Visitor, kind, target string, every int, on string) error {
	if err := w.mayRecheck(ctx, v, kind, target); err != nil {
		return err
	}
	next, err := batch.RecheckTime(w.o.Now(), every, on)
	switch {
	case errors.Is(err, concordat.ErrInvalid) && every == 0 && on == "":
		return message.Invalid("wrong.again")
	case errors.Is(err, concordat.ErrInvalid) && (every < 0 || on == ""):
		return message.Invalid("wrong.days", strconv.Itoa(every))
	case errors.Is(err, concordat.ErrInvalid):
		return message.Invalid("wrong.date", on)
	case err != nil:
		return err
	}
	detail := map[string]any{"kind": kind, "target": target, "every": every, "next": next}
	return pages.Change(ctx, w.Store, v.Name, "recheck_set", detail, func(tx *store.DB) error {
		now, err := tx.Alerts.Recheck(ctx, kind, target)
		if errors.Is(err, concordat.ErrNotFound) {
			now, err = store.Recheck{Kind: kind, Target: target, Owner: v.Name}, nil
		}
		if err != nil {
			return err
		}
		now.Every, now.Next = every, next
		return tx.Alerts.PutRecheck(ctx, now)
	})
}

func (w Batches) DropRecheck(ctx context.Context, v *pages.Visitor, kind, target string) error {
	if err := w.mayRecheck(ctx, v, kind, target); err != nil {
		return err
	}
	return pages.Change(ctx, w.Store, v.Name, "recheck_dropped", map[string]any{"kind": kind, "target": target}, func(tx *store.DB) error {
		return tx.Alerts.DeleteRecheck(ctx, kind, target)
	})
}

// Plan schedules a recheck of a submission if so configured. The submission is valid without it, so a failure is only logged.
func (w Batches) Plan(ctx context.Context, tx *store.DB, v *pages.Visitor, kind, target string) error {
	days := w.o.Checks.AgainDays()
	if days <= 0 || w.Queue == nil {
		return nil
	}
	r := store.Recheck{Kind: kind, Target: target, Owner: v.Name, Every: days, Next: w.o.Now().AddDate(0, 0, days)}
	return tx.Alerts.PutRecheck(ctx, r)
}
