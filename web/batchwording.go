package web

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"concordat"
	"concordat/site/batch"
	"concordat/store"
	"concordat/web/message"
)

const (
	batchShownWording = 50    // stretches that a page of a batch shows
	wordingExcerpt    = 120   // code points of each there
	wordingWhole      = 20000 // code points of one on its own page
	wordingDocuments  = 500   // documents that its page lists
)

// shownWording is wording that several documents of a batch hold.
type shownWording struct {
	*batch.ViewedWording
	Held    int
	Text    string
	Reads   string // what it reads like; empty: not like a form
	Members []*store.BatchMember
	More    int // documents that are left out
}

// Counts reports whether it counts by the rules of a site.
func (s *shownWording) Counts() bool { return !s.Common && s.Why == "" }

func (w batchPages) showWording(ctx context.Context, v *batch.View, all []batch.ViewedWording, runes int,
	l message.Language) ([]shownWording, error) {
	texts, err := batch.WordingTexts(ctx, w.o.Site, v, all, runes)
	out := make([]shownWording, len(all))
	for i := range all {
		members := all[i].Documents()
		out[i] = shownWording{ViewedWording: &all[i], Held: len(members), Reads: l.Report().FormReason(all[i].Why)}
		if err == nil {
			out[i].Text = texts[i]
		}
		for _, m := range members[:min(len(members), wordingDocuments)] {
			out[i].Members = append(out[i].Members, &v.Members[m])
		}
		out[i].More = len(members) - len(out[i].Members)
	}
	return out, err
}

type wordingPage struct {
	*batch.View
	One       shownWording
	MayReview bool
}

func (w batchPages) wordingOf(ctx context.Context, v *Visitor, id, n string) (*batch.View, *batch.ViewedWording, error) {
	view, see, err := w.SeenBatch(ctx, v, id)
	if err == nil && !shows(see, SeeReport) {
		err = ErrNotShown
	}
	if err != nil {
		return nil, nil, err
	}
	number, err := strconv.Atoi(n)
	if err != nil {
		return nil, nil, fmt.Errorf("wording %q: %w", n, concordat.ErrNotFound)
	}
	one, err := view.WordingOf(number)
	return view, one, err
}

// batchWordingPage shows wording that several documents of a batch hold, and which do.
func (w batchPages) batchWordingPage(rw http.ResponseWriter, r *http.Request, v *Visitor) {
	p := &wordingPage{MayReview: v.MayReview()}
	view, one, err := w.wordingOf(r.Context(), v, r.PathValue("id"), r.PathValue("n"))
	var shown []shownWording
	if err == nil {
		shown, err = w.showWording(r.Context(), view, []batch.ViewedWording{*one}, wordingWhole, message.LanguageOf(r))
	}
	if err != nil {
		w.Fail(rw, r, v, err)
		return
	}
	p.View, p.One = view, shown[0]
	w.Audit(r.Context(), v.Name, "batch_read", map[string]any{"batch": view.ID, "wording": one.Number})
	w.Show(rw, r, v, http.StatusOK, "wording", "title.wording", p)
}

func (w batchPages) countBatchWording(rw http.ResponseWriter, r *http.Request, v *Visitor) {
	w.changeBatch(rw, r, v, func(ctx context.Context, v *Visitor, b store.Batch) error {
		return w.ApplyWording(ctx, v, b, r.PathValue("n"), r.PostForm.Get("action") != "uncount-wording", r.PostForm.Get("comment"))
	})
}

func (w batchPages) ApplyWording(ctx context.Context, v *Visitor, b store.Batch, n string, count bool, why string) error {
	number, err := strconv.Atoi(n)
	if err != nil {
		return fmt.Errorf("wording %q: %w", n, concordat.ErrNotFound)
	}
	why = strings.TrimSpace(why)
	if count && why == "" || len(why) > maxNote {
		return message.Invalid("wrong.reason", maxNote)
	}
	return batch.CountWording(ctx, w.o.Site, w.o.Store, b.ID, v.Name, number, count, why, w.o.Rules(),
		v.Note("batch_wording", map[string]any{"batch": b.ID, "wording": number, "count": count}))
}
