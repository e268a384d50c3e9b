package retain

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"concordat"
	"concordat/report"
	"concordat/site"
	"concordat/site/answer"
	"concordat/store"
)

// finish erases deleted data from disk, in one pass for all receipts, and issues the receipts. If part of the index or a fingerprint set
// cannot be reached, the receipts remain open.
func (e *Eraser) finish(ctx context.Context, rs ...*Receipt) error {
	if len(rs) == 0 {
		return nil
	}
	if e.o.Remains != nil {
		if err := e.o.Remains(); err != nil {
			return fmt.Errorf("remove leftovers of interrupted work: %w", err)
		}
	}
	indexed := slices.ContainsFunc(rs, func(r *Receipt) bool { return len(r.Documents) > 0 })
	if err := e.purgeIndexes(ctx, rs, indexed); err != nil {
		return err
	}
	purged, err := e.o.Store.Purge(ctx, true)
	if err != nil {
		return err
	}
	state := "left"
	if purged {
		state = "purged"
	} else {
		for _, r := range rs {
			if !slices.Contains(r.Stays, "log") {
				r.Stays = append(r.Stays, "log")
			}
		}
	}
	for _, r := range rs {
		r.place("store", 0, state)
		r.Done = e.s.Options().Now()
		if e.o.Sign != nil {
			sum, err := r.Sum()
			if err == nil {
				r.Signature, err = e.o.Sign(sum)
			}
			if err != nil {
				return fmt.Errorf("sign receipt %s: %w", r.ID, err)
			}
		}
		public := *r
		public.Reason = "" // free text that the audit would keep forever
		// The audit comes first, because a duplicate entry after a crash is better than none.
		if err := e.audit(ctx, r.Actor, "erased", public); err != nil {
			return err
		}
		if err := e.step(ctx, r, store.ErasureDone); err != nil {
			return err
		}
	}
	return nil
}

func (e *Eraser) purgeIndexes(ctx context.Context, rs []*Receipt, indexed bool) error {
	if !indexed {
		return nil
	}
	state, err := answer.PurgeIndex(ctx, e.s.Options().Index)
	if err != nil {
		return err
	}
	for _, r := range rs {
		if len(r.Documents) > 0 {
			r.place("index", len(r.Documents), state)
		}
	}
	return e.purgeSets(ctx, rs)
}

// purgeSets erases deleted documents from the fingerprint sets for partners.
func (e *Eraser) purgeSets(ctx context.Context, rs []*Receipt) error {
	if e.o.Answers == nil {
		return nil
	}
	var libraries []concordat.LibraryID
	for _, r := range rs {
		libraries = append(libraries, librariesOf(r)...)
	}
	touched := func(epoch concordat.Epoch) bool { // touched by interrupted work
		return slices.ContainsFunc(rs, func(r *Receipt) bool { return r.names(setName(epoch)) })
	}
	slices.Sort(libraries)
	purged, err := e.o.Answers.Sets.Purge(ctx, slices.Compact(libraries), touched)
	for _, p := range purged {
		name := setName(p.Epoch)
		for _, r := range rs {
			for _, lib := range librariesOf(r) {
				if n := p.Left[lib]; n > 0 {
					r.place(name, n, "deleted")
				}
			}
			if p.State == "" || !r.names(name) {
				continue
			}
			r.place(name, 0, p.State)
			if !slices.Contains(r.Stays, "names") {
				r.Stays = append(r.Stays, "names", "shown")
			}
		}
	}
	return err
}

func librariesOf(r *Receipt) (out []concordat.LibraryID) {
	for _, d := range r.Documents {
		if !slices.Contains(out, d.Library) {
			out = append(out, d.Library)
		}
	}
	return out
}

// Retention defines how long a site keeps data. Times are measured from the end of a check; 0 means forever.
type Retention struct {
	Reports   time.Duration // checks and everything that belongs to them
	Texts     time.Duration // texts of submissions; see report.Withhold
	Originals time.Duration // submitted files
}

// Swept is the result of a sweep, or the expected result with dry.
type Swept struct {
	Resumed   int `json:"resumed"`   // deletions requested earlier and resumed
	Reports   int `json:"reports"`   // deleted checks, older than Retention.Reports
	Texts     int `json:"texts"`     // withheld texts of submissions
	Originals int `json:"originals"` // checks with deleted originals
	Documents int `json:"documents"` // expired library documents
	Cases     int `json:"cases"`     // shared cases whose document is deleted because its term after the decision has ended
	Files     int `json:"files"`     // orphaned files
	Accounts  int `json:"accounts"`  // accounts never used
	// Receipts lists the ids of deletions by the sweep.
	Receipts []string `json:"receipts"`
}

const (
	sweepPage = 500
	// orphanTime is the minimum age of orphaned files, because people can take minutes to fill in a form.
	orphanTime = 24 * time.Hour
	// UnjoinedTime is how long a name requested at a public site is reserved while no password is set.
	UnjoinedTime = time.Hour
	// scrubTime is the maximum time to wait, after each check, for the store's log to be emptied.
	scrubTime = 5 * time.Second
	// quotaTime is how long submissions are recorded for quotas.
	quotaTime = 48 * time.Hour
	// SweepActor is the actor of deletions under the site's rules.
	SweepActor = "retention"
)

// Sweep deletes data that must no longer be kept and resumes interrupted deletions. Repeating it has no further effect. With dry, it only
// counts.
func (e *Eraser) Sweep(ctx context.Context, p Retention, dry bool) (*Swept, error) {
	out := &Swept{Receipts: []string{}}
	var errs []error
	do := func(f func(context.Context, Retention, bool, *Swept) error) {
		if ctx.Err() == nil {
			errs = append(errs, f(ctx, p, dry, out)) // a failure for one kind of data does not stop the others
		}
	}
	do(e.sweepDocuments)
	do(e.sweepTasks)
	do(e.sweepCases)
	if dry {
		open, err := e.o.Store.Retention.OpenErasures(ctx)
		out.Resumed = len(open)
		return out, errors.Join(append(errs, err)...)
	}
	n, err := e.Resume(ctx)
	out.Resumed = n
	errs = append(errs, err)
	do(e.sweepRest)
	return out, errors.Join(append(errs, ctx.Err())...)
}

// ask records a deletion under the site's rules; Resume performs it.
func (e *Eraser) ask(ctx context.Context, out *Swept, reason string, t Target) error {
	id, err := Ask(ctx, e.s, e.o.Store, SweepActor, reason, t)
	if err == nil {
		out.Receipts = append(out.Receipts, id)
	}
	return err
}

// pending returns the documents and tasks with a requested deletion that has not begun.
func (e *Eraser) pending(ctx context.Context) (map[concordat.Ref]bool, map[concordat.TaskID]bool, error) {
	open, err := e.o.Store.Retention.OpenErasures(ctx)
	docs, tasks := map[concordat.Ref]bool{}, map[concordat.TaskID]bool{}
	for _, one := range open {
		var t Target
		if one.Target == nil || json.Unmarshal(one.Target, &t) != nil {
			continue
		}
		for _, id := range t.Documents {
			docs[e.s.Ref(t.Library, id)] = true
		}
		for _, id := range t.Tasks {
			tasks[id] = true
		}
	}
	return docs, tasks, err
}

func (e *Eraser) sweepDocuments(ctx context.Context, _ Retention, dry bool, out *Swept) error {
	known, _, err := e.pending(ctx)
	if err != nil {
		return err
	}
	by := map[concordat.LibraryID][]concordat.DocumentID{}
	add := func(lib concordat.LibraryID, id concordat.DocumentID) {
		if r := e.s.Ref(lib, id); !known[r] {
			known[r] = true
			by[lib] = append(by[lib], id)
			out.Documents++
		}
	}
	now := e.s.Options().Now()
	expired, err := e.o.Store.Retention.ExpiredDocuments(ctx, now, MaxTargets)
	if err != nil {
		return err
	}
	for _, t := range expired {
		add(t.Library, t.Document)
	}
	libraries, err := e.s.Options().Store.Catalogue.Libraries(ctx)
	if err != nil {
		return err
	}
	for _, l := range libraries {
		if l.Policy.KeepDays == 0 {
			continue
		}
		rows, err := e.o.Store.Retention.OldDocuments(ctx, l.ID, now.Add(-time.Duration(l.Policy.KeepDays)*answer.Day), MaxTargets)
		if err != nil {
			return err
		}
		for _, r := range rows {
			add(l.ID, r.ID)
		}
	}
	if dry {
		return nil
	}
	for _, l := range libraries {
		for part := range slices.Chunk(by[l.ID], MaxTargets) {
			if err := e.ask(ctx, out, "documents expired", Target{Library: l.ID, Documents: part}); err != nil {
				return err
			}
		}
	}
	return nil
}

func (e *Eraser) sweepTasks(ctx context.Context, p Retention, dry bool, out *Swept) error {
	_, known, err := e.pending(ctx)
	if err != nil {
		return err
	}
	now := e.s.Options().Now()
	var old []concordat.TaskID
	for after := int64(0); ; {
		tasks, err := e.o.Store.Retention.EndedTasks(ctx, now, after, sweepPage)
		if err != nil {
			return err
		}
		for _, t := range tasks {
			after = t.Seq
			age := now.Sub(t.Finished)
			if p.Reports > 0 && age > p.Reports {
				if !known[t.ID] {
					old = append(old, t.ID)
				}
				continue
			}
			if err := e.thin(ctx, p, t, age, dry, out); err != nil {
				return err
			}
		}
		if len(tasks) < sweepPage {
			break
		}
	}
	out.Reports += len(old)
	if dry {
		return nil
	}
	for part := range slices.Chunk(old, MaxTargets) {
		if err := e.ask(ctx, out, "reports expired", Target{Tasks: part}); err != nil {
			return err
		}
	}
	return nil
}

// thin removes the parts of a check that are no longer kept.
func (e *Eraser) thin(ctx context.Context, p Retention, t store.Task, age time.Duration, dry bool, out *Swept) error {
	var j site.Job
	if json.Unmarshal(t.Request, &j) != nil {
		return nil // from the command line, without a stored request
	}
	text := j.HasText() || t.Cause.IsZero() && !j.NoStore
	switch {
	case j.NoStore && (j.HasText() || j.HasOriginals()), text && p.Texts > 0 && age > p.Texts:
		changed, err := e.discard(ctx, t, j, true, dry)
		if changed {
			out.Texts++
		}
		return err
	case p.Originals > 0 && age > p.Originals && j.HasOriginals():
		changed, err := e.discard(ctx, t, j, false, dry)
		if changed {
			out.Originals++
		}
		return err
	}
	return nil
}

// Discard removes the text and the original of a finished check, and keeps its report. It does nothing if the check has not ended,
// because another worker may have taken it over.
func (e *Eraser) Discard(ctx context.Context, id concordat.TaskID) error {
	e.at.Lock()
	defer e.at.Unlock()
	t, err := e.s.Options().Store.Checks.Task(ctx, id)
	if err != nil || !t.State.Ended() {
		return err
	}
	var j site.Job
	if err := json.Unmarshal(t.Request, &j); err != nil {
		return fmt.Errorf("task %s: %w: %v", id, concordat.ErrCorrupt, err)
	}
	if _, err = e.discard(ctx, t, j, true, false); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, scrubTime)
	defer cancel()
	if _, err := e.o.Store.Purge(ctx, false); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return err // otherwise, readers are holding the log, which is emptied the next time
	}
	return nil
}

// discard removes a check's original, and its text too if text is set, and reports whether it removed any.
func (e *Eraser) discard(ctx context.Context, t store.Task, j site.Job, text, dry bool) (bool, error) {
	changed := j.HasOriginals() || text && j.HasText()
	if text {
		if err := e.unwrite(ctx, t.ID, dry); err != nil {
			return false, err
		}
		withheld, err := e.withhold(ctx, t.ID, dry)
		if err != nil {
			return false, err
		}
		changed = changed || withheld
	}
	if dry || !changed {
		return changed, nil
	}
	files, err := e.o.Store.Retention.Originals(ctx, t.ID)
	if err != nil {
		return false, err
	}
	// The files come before the request, which lists them, so that they can be found again after an interruption.
	var others []string
	for _, f := range files {
		shared, err := e.o.Store.Retention.OriginalShared(ctx, f, t.ID)
		if err != nil {
			return false, err
		}
		if !shared {
			others = append(others, f)
		}
	}
	if err := e.eraseFrom(ctx, nil, t.ID, others); err != nil {
		return false, err
	}
	j.File = ""
	for i := range j.Parts {
		j.Parts[i].File = ""
	}
	if text {
		j.Text, j.LeftOut.Names = "", nil // a lock file's name contains the name of a document
		for i := range j.Parts {
			j.Parts[i].Text = "" // the names of the parts and of the whole remain
		}
	}
	request, err := json.Marshal(j)
	if err != nil {
		return false, err
	}
	if err := e.o.Store.Retention.SetRequest(ctx, t.ID, request); err != nil {
		return false, err
	}
	what := "original"
	if text {
		what = "text"
	}
	return true, e.audit(ctx, SweepActor, "discarded", map[string]any{"task": t.ID, "what": what, "files": others})
}

// withhold removes the text from a task's findings, and ends its standing check, which has nothing left to compare; it reports whether
// there was any text.
func (e *Eraser) withhold(ctx context.Context, id concordat.TaskID, dry bool) (bool, error) {
	defer e.s.HoldFindings()()
	f, err := e.s.KeptFindings(ctx, id)
	if errors.Is(err, concordat.ErrNotFound) {
		return false, nil
	}
	if err != nil || f.Withheld != nil || f.Submission.Text == "" || dry {
		return err == nil && f.Withheld == nil && f.Submission.Text != "", err
	}
	if err := e.s.ChangeFindings(ctx, id, report.Withhold); err != nil {
		return false, err
	}
	if err := e.s.Options().Store.Alerts.EndStanding(ctx, id); err != nil && !errors.Is(err, concordat.ErrNotFound) {
		return false, err
	}
	return true, nil
}

// sweepRest deletes orphans.
func (e *Eraser) sweepRest(ctx context.Context, _ Retention, _ bool, out *Swept) error {
	now := e.s.Options().Now()
	var errs []error
	n, err := e.tidy(ctx)
	out.Files = n
	errs = append(errs, err)
	n, err = e.o.Store.People.DeleteUnjoined(ctx, now.Add(-UnjoinedTime))
	out.Accounts = n
	errs = append(errs, err, e.o.Store.People.ForgetQuota(ctx, now.Add(-quotaTime)))
	if purge := out.Texts > 0 && out.Resumed == 0; purge { // otherwise finish has done it
		_, err := e.o.Store.Purge(ctx, true)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// audit adds an entry for an action.
func (e *Eraser) audit(ctx context.Context, actor, action string, detail any) error {
	b, err := json.Marshal(detail)
	if err != nil {
		return fmt.Errorf("audit %s: %w", action, err)
	}
	_, err = e.o.Store.Audit.AppendAudit(context.WithoutCancel(ctx), actor, action, b)
	return err
}
