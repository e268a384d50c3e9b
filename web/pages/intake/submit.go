package intake

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"concordat"
	"concordat/site"
	"concordat/store"
	"concordat/web/message"
	"concordat/web/pages"
	"concordat/web/pages/libraries"
	"concordat/web/review"
)

// uploadHandler processes the files of an upload, either checking them or adding them to a library.
type uploadHandler struct {
	hand func(ctx context.Context, v *pages.Visitor, u *Upload) ([]concordat.TaskID, error)
	// show shows the form again and explains the rejection. done shows the page that follows the upload of several files.
	show func(was refused)
	done string
}

// submit accepts files or a text and queues a check of each.
func (w Intake) submit(rw http.ResponseWriter, r *http.Request, v *pages.Visitor) {
	w.take(rw, r, v, uploadHandler{hand: w.HandIn, done: "/checks", show: func(was refused) {
		w.showNew(rw, r, v, http.StatusBadRequest, was)
	}})
}

// take reads a submission; the files are on disk before it answers. A script that submits files one by one asks for JSON and sends an
// Idempotency-Key with each.
func (w Intake) take(rw http.ResponseWriter, r *http.Request, v *pages.Visitor, t uploadHandler) {
	if strings.Contains(r.Header.Get("Accept"), "application/json") {
		w.takeScript(rw, r, v, t)
		return
	}
	u, err := w.ReadUpload(rw, r, v)
	var ids []concordat.TaskID
	if err == nil {
		if ids, err = t.hand(r.Context(), v, u); len(ids) == 0 {
			w.Lose(r.Context(), v, u)
		}
	}
	var untaken *untakenError
	switch {
	case errors.Is(err, errNothing):
		t.show(refused{problem: "new.nothing", sent: u.Fields})
	case errors.As(err, &untaken):
		t.show(refused{problem: "new.untaken", faults: untaken.faults(), sent: u.Fields})
	case errors.Is(err, concordat.ErrInvalid) && u != nil && u.Fields != nil:
		t.show(refused{problem: "error.invalid", err: err, sent: u.Fields})
	case err != nil:
		w.frame.Fail(rw, r, v, err)
	case len(ids) == 1 && t.done == "/checks":
		http.Redirect(rw, r, "/checks/"+string(ids[0]), http.StatusSeeOther)
	default:
		http.Redirect(rw, r, t.done, http.StatusSeeOther)
	}
}

var errNothing = fmt.Errorf("%w: a file or text is required", concordat.ErrInvalid)

// untakenError means that none of the files was accepted.
type untakenError struct{ jobs []site.Job }

func (e *untakenError) Error() string {
	var all []string
	for _, j := range e.jobs {
		all = append(all, j.Name+": "+j.Fault.String())
	}
	return strings.Join(all, "; ")
}

// TooLarge reports whether nothing was accepted because everything is too large.
func TooLarge(err error) bool {
	var e *untakenError
	return errors.As(err, &e) && !slices.ContainsFunc(e.jobs, func(j site.Job) bool { return j.Fault.Code != store.CauseLimit })
}

func (e *untakenError) Unwrap() error { return concordat.ErrInvalid }

func (e *untakenError) faults() (out []pages.Fault) {
	for _, j := range e.jobs {
		out = append(out, pages.Fault{Name: j.Name, Cause: j.Fault})
	}
	return out
}

// handed is the answer to a submitting script.
type handed struct {
	Checks   []handedCheck `json:"checks,omitempty"`
	Rejected []handedFault `json:"rejected,omitempty"`
	Problem  string        `json:"problem,omitempty"` // description of a problem with the whole request
	Retry    bool          `json:"retry,omitempty"`   // trying again may succeed
	SignIn   string        `json:"signin,omitempty"`  // sign-in address, if the session has ended
}

type handedCheck struct {
	Title string `json:"title"`
	Path  string `json:"path"`
}

type handedFault struct {
	Name string `json:"name"`
	Why  string `json:"why"` // reason, with advice
}

// takeScript is like take, but for a script. It accepts each key once and answers in JSON.
func (w Intake) takeScript(rw http.ResponseWriter, r *http.Request, v *pages.Visitor, t uploadHandler) {
	u, err := w.ReadUpload(rw, r, v)
	var answer *handed
	if err == nil {
		key := r.Header.Get("Idempotency-Key")
		if key != "" {
			key = "page " + key // separate from the keys of programs of the same account
		}
		if answer, err = Once(r.Context(), w.o.Store, v, key, []any{u.Jobs, u.Fields}, func() (*handed, error) {
			return w.handScript(r.Context(), v, u, t)
		}); err != nil {
			w.Lose(r.Context(), v, u)
		}
	}
	rw.Header().Set("Content-Type", "application/json")
	if err == nil {
		_ = json.NewEncoder(rw).Encode(answer) // a disconnected browser repeats the request with its key
		return
	}
	l := message.LanguageOf(r)
	var untaken *untakenError
	out := handed{}
	code, key, detail := w.o.Faults.FaultOf(rw, r, err)
	switch {
	case errors.As(err, &untaken):
		for _, f := range untaken.faults() {
			out.Rejected = append(out.Rejected, handedFault{f.Name, l.Cause(f.Cause)})
		}
	case errors.Is(err, errNothing):
		out.Problem = l.Say("new.nothing")
	default:
		w.o.Logger.Info("refused", "path", r.URL.Path, "status", code, "error", err)
		out.Problem, out.Retry = l.Say(key), code >= http.StatusInternalServerError
		if detail != "" {
			out.Problem += " " + detail
		}
	}
	rw.WriteHeader(code)
	_ = json.NewEncoder(rw).Encode(out)
}

// SignInFirst tells a page's script that the session has ended and where to sign in again. It first reads up to most bytes of the request,
// because a browser reads the answer only after it has sent everything.
func SignInFirst(rw http.ResponseWriter, r *http.Request, most int64) {
	_, _ = io.CopyN(io.Discard, r.Body, most) // an error here has no further effect
	rw.Header().Set("Content-Type", "application/json")
	rw.WriteHeader(http.StatusUnauthorized)
	_ = json.NewEncoder(rw).Encode(handed{Problem: message.LanguageOf(r).Say("new.ended"), SignIn: "/login?next=/checks"})
}

func (w Intake) handScript(ctx context.Context, v *pages.Visitor, u *Upload, by uploadHandler) (*handed, error) {
	ids, err := by.hand(ctx, v, u)
	if err != nil {
		return nil, err
	}
	out := &handed{}
	for _, id := range ids {
		t, err := w.o.Store.Checks.Task(ctx, id)
		if err != nil {
			return nil, err
		}
		out.Checks = append(out.Checks, handedCheck{t.Title, "/checks/" + string(id)})
	}
	return out, nil
}

// HandIn queues a check of each file and text. A rejected file becomes a failed check if another file was accepted.
func (w Intake) HandIn(ctx context.Context, v *pages.Visitor, u *Upload) ([]concordat.TaskID, error) {
	jobs := u.Jobs
	if text := u.Field("text"); strings.TrimSpace(text) != "" {
		jobs = append(jobs, site.Job{Name: "text", Title: u.Field("title"), Text: strings.ToValidUTF8(text, "\ufffd")})
	}
	if err := checkJobs(jobs); err != nil {
		return nil, err
	}
	if u.Field("together") != "" {
		one, err := together(jobs, u.Field("title"))
		if err != nil {
			return nil, err
		}
		jobs = []site.Job{one}
	}
	common, err := w.wishes(ctx, v, u)
	if err != nil {
		return nil, err
	}
	if v.Public && len(common.Partners)+len(common.PartnerLibraries) > 0 {
		return nil, message.Refused("barred.partners")
	}
	done, err := w.o.People.Spend(ctx, v.Account, v.Address, len(taken(jobs)), u.bytes+int64(len(u.Field("text"))))
	if err != nil {
		return nil, err
	}
	defer done()
	batch := u.Field("batch")
	switch {
	case batch != "" && !batchName.MatchString(batch):
		return nil, fmt.Errorf("batch %q: %w", batch, concordat.ErrInvalid)
	case batch == "" && len(jobs) > 1:
		batch = strings.ToLower(rand.Text())
	}
	return w.enqueue(ctx, v, batch, jobs, common, "check_submitted")
}

// together combines the files of one submission into one job. All of them must be accepted.
func together(jobs []site.Job, title string) (site.Job, error) {
	out := site.Job{Name: jobs[0].Name, Title: strings.TrimSpace(title)}
	for _, j := range jobs {
		if !j.Fault.IsZero() {
			return out, &untakenError{slices.DeleteFunc(slices.Clone(jobs), func(j site.Job) bool { return j.Fault.IsZero() })}
		}
		out.Parts = append(out.Parts, site.Part{Name: j.Name, File: j.File, Text: j.Text})
	}
	return out, nil
}

// checkJobs rejects a submission if no part of it was accepted.
func checkJobs(jobs []site.Job) error {
	switch {
	case len(jobs) == 0:
		return errNothing
	case !slices.ContainsFunc(jobs, func(j site.Job) bool { return j.Fault.IsZero() }):
		return &untakenError{jobs}
	}
	return nil
}

// taken returns the jobs that have something to check.
func taken(jobs []site.Job) (out []site.Job) {
	for _, j := range jobs {
		if j.Fault.IsZero() {
			out = append(out, j)
		}
	}
	return out
}

// enqueue queues a task for each job, with the values common to all.
func (w Intake) enqueue(ctx context.Context, v *pages.Visitor, batch string, jobs []site.Job, common site.Job,
	action string) ([]concordat.TaskID, error) {
	all := make([]site.Job, len(jobs))
	for i, j := range jobs {
		all[i] = common
		all[i].Name, all[i].File, all[i].Text, all[i].Title, all[i].Fault = j.Name, j.File, j.Text, j.Title, j.Fault
		all[i].Parts = j.Parts
	}
	return w.o.Queue.SubmitAll(ctx, v.Name, batch, all, func(tx *store.DB, ids []concordat.TaskID) error {
		for i, id := range ids {
			detail := map[string]any{"task": id, "file": all[i].File}
			if len(all[i].Parts) > 0 {
				detail["file"] = filesOf(all[i].Parts)
			}
			if common.Into != "" {
				detail["library"] = common.Into
			} else if err := w.o.Batches.Plan(ctx, tx, v, store.RecheckCheck, string(id)); err != nil {
				return err
			}
			if err := tx.Audit.Note(ctx, v.Name, action, detail); err != nil {
				return err
			}
		}
		return nil
	})
}

// filesOf returns the hashes of the files of one submission.
func filesOf(parts []site.Part) (out []string) {
	for _, p := range parts {
		out = append(out, p.File)
	}
	return out
}

// batchName matches the batch names assigned to pages.
var batchName = regexp.MustCompile(`^[a-z2-7]{26}$`)

// wishes reads the check options from a form.
func (w Intake) wishes(ctx context.Context, v *pages.Visitor, u *Upload) (site.Job, error) {
	j := site.Job{Template: u.Field("template"), Purpose: strings.TrimSpace(u.Field("purpose")), Forward: u.Field("forward"),
		Level: concordat.Show(u.Field("level")), Short: u.Field("short") != "", NoStore: w.o.NoStore || u.Field("no_store") != "",
		Standing: u.Field("standing") != "", Authors: concordat.ParseCreators(strings.Join(u.Fields["author"], "\n"))}
	switch {
	case j.Standing && !v.MayReview():
		return j, message.Refused("barred.watch")
	case j.Standing && j.NoStore:
		return j, message.Invalid("wrong.watch")
	case !w.IsTemplate(j.Template):
		return j, message.Absent("wrong.template", j.Template)
	case j.Forward != "" && !slices.Contains(site.Forwards, j.Forward):
		return j, fmt.Errorf("forward %q: %w: want unmatched, all or none", j.Forward, concordat.ErrInvalid)
	case j.Level != "" && !slices.Contains(askLevels, j.Level):
		return j, fmt.Errorf("level %q: %w: want exists, counts or metadata", j.Level, concordat.ErrInvalid)
	}
	if d := u.Field("deadline"); d != "" {
		seconds, err := strconv.Atoi(d)
		if err != nil || seconds < 1 || seconds > MaxDeadline {
			return j, message.Invalid("wrong.deadline", d, MaxDeadline)
		}
		j.Deadline = time.Duration(seconds) * time.Second
	}
	for _, name := range u.Fields["library"] {
		l, err := w.o.Store.Catalogue.Library(ctx, concordat.LibraryID(name))
		if err != nil {
			return j, message.Absent("wrong.library", name)
		}
		j.Libraries = append(j.Libraries, l.ID)
	}
	if err := w.partnerWishes(ctx, &j, u.Fields["partner"]); err != nil {
		return j, err
	}
	return j, w.ruleWishes(ctx, v, &j, u.Fields)
}

// IsTemplate reports whether a form may name this section template. Empty means the libraries' own template, and "none" means no
// template.
func (w Intake) IsTemplate(name string) bool {
	return name == "" || name == "none" || slices.Contains(w.o.Choices.Templates(), name)
}

// partnerWishes reads the selected partners from a form, given as SITE or SITE/LIBRARY. Each must be a partner that can be asked.
func (w Intake) partnerWishes(ctx context.Context, j *site.Job, names []string) error {
	if len(names) == 0 {
		return nil
	}
	all, err := w.o.Choices.Partners(ctx)
	if err != nil {
		return err
	}
	asked := map[concordat.SiteID]*pages.Partner{}
	for _, name := range names {
		id, lib, single := strings.Cut(name, "/")
		i := slices.IndexFunc(all, func(p pages.Partner) bool { return string(p.Site) == id })
		if i < 0 {
			return message.Absent("wrong.partner", name)
		}
		p := all[i]
		if single {
			p.Libraries = slices.DeleteFunc(slices.Clone(p.Libraries), func(l concordat.OpenLibrary) bool { return string(l.ID) != lib })
			if len(p.Libraries) == 0 {
				return message.Absent("wrong.partner", name)
			}
			if of := asked[p.Site]; of != nil {
				p.Libraries = append(p.Libraries, of.Libraries...)
			}
		} else {
			j.Partners = append(j.Partners, concordat.SiteID(id))
		}
		asked[p.Site] = &p
	}
	for _, name := range names {
		id, _, single := strings.Cut(name, "/")
		if single && !slices.Contains(j.Partners, concordat.SiteID(id)) { // otherwise all of its libraries are asked
			j.PartnerLibraries = append(j.PartnerLibraries, name)
		}
	}
	var whom []pages.Partner
	for _, p := range all { // in a fixed order, so that the same form always produces the same error
		if of := asked[p.Site]; of != nil {
			whom = append(whom, *of)
		}
	}
	return checkPurpose(j.Purpose, whom)
}

// ruleWishes reads the rules and the excluded documents from a form. Only people who review checks can choose them.
func (w Intake) ruleWishes(ctx context.Context, v *pages.Visitor, j *site.Job, f url.Values) error {
	documents := strings.Fields(f.Get("exclude"))
	if f.Get("rules") == "" && len(documents) == 0 {
		return nil
	}
	if !v.MayReview() {
		return message.Refused("barred.rules")
	}
	for _, name := range documents {
		lib, id, ok := strings.Cut(name, "/")
		if !ok || id == "" {
			return message.Invalid("wrong.document", name)
		}
		ref := concordat.Ref{Site: w.o.Site.ID(), Library: concordat.LibraryID(lib), Document: concordat.DocumentID(id)}
		if _, err := w.o.Store.Catalogue.DocumentRow(ctx, ref.Library, ref.Document); err != nil {
			return message.Absent("wrong.document", name)
		}
		j.Exclude = append(j.Exclude, ref)
	}
	if f.Get("rules") == "" {
		return nil
	}
	rules, err := review.ReadRules(w.o.Rules(), f)
	if err != nil {
		return err
	}
	j.Rules = &rules
	return rules.Validate()
}

// TakeAdditions implements libraries.Intake.
func (w Intake) TakeAdditions(rw http.ResponseWriter, r *http.Request, v *pages.Visitor, lib concordat.LibraryID,
	show func(problem string, faults []pages.Fault)) {
	w.take(rw, r, v, uploadHandler{done: libraries.Path(lib),
		hand: func(ctx context.Context, v *pages.Visitor, u *Upload) ([]concordat.TaskID, error) {
			if err := checkJobs(u.Jobs); err != nil {
				return nil, err
			}
			return w.enqueue(ctx, v, libraries.Additions(lib), u.Jobs, site.Job{Into: lib}, "documents_submitted")
		},
		show: func(was refused) { show(was.problem, was.faults) }})
}
