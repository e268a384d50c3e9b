package batches

import (
	"context"
	"fmt"
	"net/http"
	"strconv"

	"concordat"
	"concordat/site/batch"
	"concordat/store"
	"concordat/web/message"
	"concordat/web/pages"
	"concordat/web/review"
)

const (
	batchShownWording = 50    // shared passages on a batch page
	wordingExcerpt    = 120   // code points of each passage on the batch page
	wordingWhole      = 20000 // code points of a passage on its own page
	wordingDocuments  = 500   // documents listed on a passage's page
)

// shownWording is wording shared by several documents of a batch.
type shownWording struct {
	*batch.ViewedWording
	Held    int
	Text    string
	Reads   string // what kind of form it resembles; empty if it does not resemble a form
	Members []*store.BatchMember
	More    int // number of omitted documents
}

func (w Batches) showWording(ctx context.Context, v *batch.View, all []batch.ViewedWording, runes int,
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

func (w Batches) wordingOf(ctx context.Context, v *pages.Visitor, id, n string) (*batch.View, *batch.ViewedWording, error) {
	view, see, err := w.SeenBatch(ctx, v, id)
	if err == nil && !see.Shows(review.SeeReport) {
		err = review.ErrNotShown
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

// batchWordingPage shows wording shared by several documents of a batch, and lists these documents.
func (w Batches) batchWordingPage(rw http.ResponseWriter, r *http.Request, v *pages.Visitor) {
	p := &wordingPage{MayReview: v.MayReview()}
	view, one, err := w.wordingOf(r.Context(), v, r.PathValue("id"), r.PathValue("n"))
	var shown []shownWording
	if err == nil {
		shown, err = w.showWording(r.Context(), view, []batch.ViewedWording{*one}, wordingWhole, message.LanguageOf(r))
	}
	if err != nil {
		w.frame.Fail(rw, r, v, err)
		return
	}
	p.View, p.One = view, shown[0]
	w.o.Auditor.Audit(r.Context(), v.Name, "batch_read", map[string]any{"batch": view.ID, "wording": one.Number})
	w.frame.Show(rw, r, v, http.StatusOK, "wording", "title.wording", p)
}

func (w Batches) countBatchWording(rw http.ResponseWriter, r *http.Request, v *pages.Visitor) {
	w.changeBatch(rw, r, v, func(ctx context.Context, v *pages.Visitor, b store.Batch) error {
		return w.ApplyWording(ctx, v, b, r.PathValue("n"), r.PostForm.Get("action") != "uncount-wording", r.PostForm.Get("comment"))
	})
}

// ApplyWording records whether wording that documents of a batch share counts. n is the number of the wording.
func (w Batches) ApplyWording(ctx context.Context, v *pages.Visitor, b store.Batch, n string, count bool, why string) error {
	number, err := strconv.Atoi(n)
	if err != nil {
		return fmt.Errorf("wording %q: %w", n, concordat.ErrNotFound)
	}
	if why, err = pages.Reason(why, count); err != nil {
		return err
	}
	return batch.CountWording(ctx, w.o.Site, w.Store, b.ID, v.Name, number, count, why, w.o.Checks.Rules(),
		v.Note("batch_wording", map[string]any{"batch": b.ID, "wording": number, "count": count}))
}
