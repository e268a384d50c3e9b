package intake

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"concordat"
	"concordat/site"
	"concordat/site/batch"
	"concordat/store"
	"concordat/web/message"
	"concordat/web/pages"
	"concordat/web/pages/batches"
)

func (w Intake) newBatchPage(rw http.ResponseWriter, r *http.Request, v *pages.Visitor) {
	w.showNewBatch(rw, r, v, http.StatusOK, refused{})
}

func (w Intake) showNewBatch(rw http.ResponseWriter, r *http.Request, v *pages.Visitor, code int, was refused) {
	p := newCheck{Templates: w.o.Choices.Templates(), MaxMiB: w.o.MaxUpload >> 20, MaxFiles: pages.MaxFiles}
	p.tell(was, message.LanguageOf(r))
	var err error
	if p.Libraries, err = w.o.Store.Catalogue.Libraries(r.Context()); err == nil {
		p.Partners, err = w.o.Choices.Partners(r.Context())
	}
	if err != nil {
		w.frame.Fail(rw, r, v, err)
		return
	}
	p.Purposes, p.AnyOther = purposesOf(p.Partners)
	w.frame.Show(rw, r, v, code, "batches_new", "title.batches.new", p)
}

func (w Intake) submitBatch(rw http.ResponseWriter, r *http.Request, v *pages.Visitor) {
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
		w.frame.Fail(rw, r, v, err)
	default:
		http.Redirect(rw, r, "/batches/"+id, http.StatusSeeOther)
	}
}

// HandBatch queues the uploaded files as one batch and returns its ID. It fails if the site keeps no texts, if a quota is
// exceeded, or if a public account names partners.
func (w Intake) HandBatch(ctx context.Context, v *pages.Visitor, u *Upload) (string, error) {
	if w.o.Batches.Queue == nil {
		return "", batches.ErrNone
	}
	if err := checkJobs(u.Jobs); err != nil {
		return "", err
	}
	if w.o.NoStore {
		return "", message.Refused("barred.store")
	}
	j, err := w.batchJob(ctx, u)
	if err != nil {
		return "", err
	}
	if v.Public && len(j.Partners) > 0 {
		return "", message.Refused("barred.partners")
	}
	done, err := w.o.People.Spend(ctx, v.Account, v.Address, len(taken(u.Jobs)), u.bytes)
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
	return w.o.Batches.Queue.Submit(ctx, v.Name, strings.ToValidUTF8(title, "\ufffd"), j, inputs, func(tx *store.DB, id string) error {
		if err := w.o.Batches.Plan(ctx, tx, v, store.RecheckBatch, id); err != nil {
			return err
		}
		return tx.Audit.Note(ctx, v.Name, "batch_submitted", map[string]any{"batch": id, "files": len(inputs)})
	})
}

func (w Intake) batchJob(ctx context.Context, u *Upload) (batch.Job, error) {
	j := batch.Job{Template: u.Field("template"), Purpose: strings.TrimSpace(u.Field("purpose")), NoLibraries: u.Field("alone") != ""}
	if !w.IsTemplate(j.Template) {
		return j, message.Absent("wrong.template", j.Template)
	}
	for _, name := range u.Fields["library"] {
		l, err := w.o.Store.Catalogue.Library(ctx, concordat.LibraryID(name))
		if err != nil {
			return j, message.Absent("wrong.library", name)
		}
		j.Libraries = append(j.Libraries, l.ID)
	}
	asked := site.Job{Purpose: j.Purpose}
	if err := w.partnerWishes(ctx, &asked, u.Fields["partner"]); err != nil {
		return j, err
	}
	if len(asked.PartnerLibraries) > 0 {
		return j, message.Absent("wrong.partner", asked.PartnerLibraries[0])
	}
	j.Partners = asked.Partners
	if t := u.Field("threshold"); t != "" {
		percent, err := strconv.ParseFloat(t, 64)
		if err != nil || !(percent > 0 && percent <= 100) {
			return j, message.Invalid("wrong.threshold", t)
		}
		j.Threshold = percent / 100
	}
	if m := u.Field("manifest"); m != "" {
		var err error
		if j.Manifest, err = batch.ParseManifest(strings.NewReader(m)); err != nil {
			return j, err
		}
	}
	return j, nil
}
