package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"concordat"
	"concordat/report"
	"concordat/store"
	"concordat/web/message"
	"concordat/web/pages"
)

// The verdicts that officers can give.
var verdicts = []string{"clear", "discuss", "suspected"}

// Review contains people's decisions about a check.
type Review struct {
	Notes   []store.Review // comments, verdicts and sign-offs, oldest first
	Rules   report.Rules   // current rules
	Changes int            // number of rule changes
	Latest  int            // number of the latest note or change; 0 if there are none
	Log     []change       // rule changes, oldest first
	// Verdict is the latest verdict, if any. Signed contains its sign-offs.
	Verdict *store.Review
	Signed  []report.SignedOff
	// Assigned is the reviewer, and Due is the day when the decision is due; each is empty if not set.
	Assigned, Due string
	// Touched reports whether someone at the site has made a decision about the check.
	Touched bool
	// Edited contains the times at which comments were changed, by comment number.
	Edited map[int]time.Time
	// Handling lists the changes of reviewer, due date, library and comments, oldest first.
	Handling []store.Review
	// Added is the library to which the submission was added; it is zero if the submission is in none.
	Added addedCase
	// Stale reports whether the rules have changed since the verdict.
	Stale bool
}

// change is a change of the rules.
type change struct {
	Seq           int // number of the note that stores it
	At            time.Time
	By            string
	Action        string // for example exclude-source
	Subject       string // what it changed; can be empty
	Undone        bool
	Mine          bool // made by the reader
	before, after report.Rules
}

// reviewOf reads the decisions about the task with this ID.
func (w *Web) reviewOf(ctx context.Context, id concordat.TaskID) (*Review, error) {
	t, err := w.o.Store.Checks.Task(ctx, id)
	if err != nil {
		return nil, err
	}
	return w.Review(ctx, t)
}

// Review reads the decisions about a task.
func (w *Web) Review(ctx context.Context, t store.Task) (*Review, error) {
	id := t.ID
	all, err := w.o.Store.Checks.Reviews(ctx, id)
	if err != nil {
		return nil, err
	}
	first, err := w.Checks.firstRules(ctx, t)
	if err != nil {
		return nil, err
	}
	out := &Review{Rules: first, Edited: map[int]time.Time{}}
	var then report.Rules // the rules at the time of the verdict
	for i := range all {
		r := &all[i]
		out.Latest = r.Seq
		switch r.Kind {
		case store.ReviewRules:
			action, subject, _ := strings.Cut(r.Text, " ")
			out.Changes++
			var rules report.Rules
			if err := json.Unmarshal(r.Data, &rules); err != nil {
				return nil, fmt.Errorf("rules of %s: %w: %v", id, concordat.ErrCorrupt, err)
			}
			one := change{Seq: r.Seq, At: r.At, By: r.By, Action: action, Subject: subject, before: out.Rules, after: rules}
			out.undo(one.undoes())
			out.Touched = out.Touched || action != "lineage"
			out.Log, out.Rules = append(out.Log, one), rules
			continue
		case store.ReviewAssign, store.ReviewDue:
			field := &out.Assigned
			if r.Kind == store.ReviewDue {
				field = &out.Due
			}
			if err := json.Unmarshal(r.Data, field); err != nil {
				return nil, fmt.Errorf("%s of %s: %w: %v", r.Kind, id, concordat.ErrCorrupt, err)
			}
			out.Touched, out.Handling = true, append(out.Handling, *r)
			continue
		case store.ReviewLibrary:
			out.Added = addedCase{}
			if err := json.Unmarshal(r.Data, &out.Added); err != nil {
				return nil, fmt.Errorf("library of %s: %w: %v", id, concordat.ErrCorrupt, err)
			}
			out.Touched, out.Handling = true, append(out.Handling, *r)
			continue
		case store.ReviewEdited, store.ReviewRemoved:
			var number int
			if err := json.Unmarshal(r.Data, &number); err != nil {
				return nil, fmt.Errorf("comment of %s: %w: %v", id, concordat.ErrCorrupt, err)
			}
			if r.Kind == store.ReviewEdited {
				out.Edited[number] = r.At
			}
			out.Touched, out.Handling = true, append(out.Handling, *r)
			continue
		case store.ReviewVerdict:
			out.Verdict, out.Signed, then = r, nil, out.Rules
		case store.ReviewSignOff:
			// Two people may write at the same time, so a sign-off counts only if it is by someone else and for this verdict.
			if out.Verdict != nil && r.By != out.Verdict.By && signs(r.Data, out.Verdict.Seq) {
				out.Signed = append(out.Signed, report.SignedOff{By: r.By, At: r.At})
			}
		}
		out.Notes, out.Touched = append(out.Notes, *r), true
	}
	if out.Verdict != nil {
		now := out.Rules
		then.NotOwnWork, now.NotOwnWork = nil, nil // these rules do not affect any figure
		a, err := json.Marshal(then)
		b, err2 := json.Marshal(now)
		if err = errors.Join(err, err2); err != nil {
			return nil, fmt.Errorf("rules of %s: %w", id, err)
		}
		out.Stale = !bytes.Equal(a, b)
	}
	return out, nil
}

// undo marks a change as undone.
func (r *Review) undo(seq int) {
	for i := range r.Log {
		if seq > 0 && r.Log[i].Seq == seq {
			r.Log[i].Undone = true
		}
	}
}

// mark marks the reader's own changes.
func (r *Review) mark(me string) {
	for i := range r.Log {
		r.Log[i].Mine = r.Log[i].By == me
	}
}

// MayUndo reports whether the reader has a change to undo.
func (r *Review) MayUndo() bool {
	return slices.ContainsFunc(r.Log, func(c change) bool { return c.Mine && c.MayUndo() })
}

// signs reports whether a sign-off is for the verdict with the given number. Sign-offs by early versions contain no number and apply to
// the latest verdict.
func signs(data json.RawMessage, verdict int) bool {
	var n *int
	return json.Unmarshal(data, &n) != nil || n == nil || *n == verdict
}

// Code returns the latest verdict, or "" if there is none.
func (r *Review) Code() string {
	var v string
	if r.Verdict == nil || json.Unmarshal(r.Verdict.Data, &v) != nil || !slices.Contains(verdicts, v) {
		return ""
	}
	return v
}

// Stage returns the review state of a check with a report.
func (r *Review) Stage() store.CaseStage {
	switch {
	case r.Verdict != nil && len(r.Signed) > 0:
		return store.StageSigned
	case r.Verdict != nil:
		return store.StageDecided
	case r.Touched:
		return store.StageReview
	}
	return store.StageNew
}

// inReport returns the part of the review included in a report, or nil if there is no verdict.
func (r *Review) inReport() *report.Review {
	if r.Verdict == nil {
		return nil
	}
	return &report.Review{Verdict: r.Code(), Reason: r.Verdict.Text, By: r.Verdict.By, At: r.Verdict.At, Signed: r.Signed, Stale: r.Stale}
}

// MaySign reports whether a person may sign off the latest verdict.
func (r *Review) MaySign(name string) bool {
	return r.Verdict != nil && r.Verdict.By != name && !slices.ContainsFunc(r.Signed, func(s report.SignedOff) bool { return s.By == name })
}

// HasExcludedTemplates reports whether these rules contain template wording.
func (r *Review) HasExcludedTemplates() bool { return len(r.Rules.ExcludeTemplate) > 0 }

// VerdictKey returns the message key for the latest verdict.
func (r *Review) VerdictKey() string {
	if v := r.Code(); v != "" {
		return "verdict." + v
	}
	return "verdict.none"
}

// reviewForm parses a form about a task visible to the visitor, and reads the decisions about it so far.
func (w reportPages) reviewForm(rw http.ResponseWriter, r *http.Request, v *Visitor) (store.Task, *Review, error) {
	t, err := w.task(r, v)
	if err == nil {
		err = pages.ParseForm(rw, r)
	}
	if err != nil {
		return t, nil, err
	}
	now, err := w.Review(r.Context(), t)
	return t, now, err
}

// FormerRules returns the rules before the latest change that has not been undone.
func (w reportPages) FormerRules(ctx context.Context, t store.Task) (report.Rules, error) {
	all, err := w.o.Store.Checks.Reviews(ctx, t.ID)
	if err != nil {
		return report.Rules{}, err
	}
	var stack []json.RawMessage
	for _, r := range all {
		switch {
		case r.Kind != store.ReviewRules:
		case r.Text == "undo":
			stack = stack[:max(0, len(stack)-1)]
		default:
			stack = append(stack, r.Data)
		}
	}
	if len(stack) < 2 {
		return w.Checks.firstRules(ctx, t)
	}
	var rules report.Rules
	if err := json.Unmarshal(stack[len(stack)-2], &rules); err != nil {
		return rules, fmt.Errorf("rules of %s: %w: %v", t.ID, concordat.ErrCorrupt, err)
	}
	return rules, nil
}

// addNote saves a comment, a verdict, or a sign-off.
func (w reportPages) addNote(rw http.ResponseWriter, r *http.Request, v *Visitor) {
	t, now, err := w.reviewForm(rw, r, v)
	f := r.PostForm
	number, bad := strconv.Atoi(f.Get("comment"))
	switch kind := f.Get("kind"); {
	case err != nil:
	case kind != "edit" && kind != "remove":
		_, err = w.KeepNote(r.Context(), v, t, now, f)
	case bad != nil || kind == "edit" && strings.TrimSpace(f.Get("text")) == "":
		err = message.Invalid("wrong.comment")
	case kind == "remove":
		err = w.ChangeComment(r.Context(), v, t, number, "")
	default:
		err = w.ChangeComment(r.Context(), v, t, number, f.Get("text"))
	}
	if err != nil {
		w.Fail(rw, r, v, err)
		return
	}
	to := "/checks/" + string(t.ID) + "#notes"
	if back := f.Get("back"); pairAddress.MatchString(back) {
		http.Redirect(rw, r, back+"#verdicts", http.StatusSeeOther)
		return
	}
	if n := f.Get("number"); passageNumber.MatchString(n) {
		to = "/checks/" + string(t.ID) + "/passages/" + n
		if f.Get("at") == "text" {
			to = "/checks/" + string(t.ID) + "#m" + n
		}
	}
	http.Redirect(rw, r, to, http.StatusSeeOther)
}

// KeepNote saves a note on a task from a form and returns the note.
func (w reportPages) KeepNote(ctx context.Context, v *Visitor, t store.Task, now *Review, f url.Values) (store.Review, error) {
	n, err := w.note(v, now, f)
	if err != nil {
		return n, err
	}
	keep := func(tx *store.DB) error {
		if n, err = tx.Checks.AppendReview(ctx, t.ID, n); err != nil {
			return err
		}
		return tx.Audit.Note(ctx, v.Name, "review_"+string(n.Kind), map[string]any{"task": t.ID})
	}
	if adding := w.o.Adding(); n.Kind == store.ReviewVerdict && adding.Rule == AddAfterVerdict && now.Added.Library == "" {
		in, err := w.CaseLibrary(ctx, t, now)
		if err != nil {
			return n, err
		}
		if in.State == CaseOut && in.MayAdd {
			err = w.enqueueCase(ctx, v, t, adding.Library, keep)
			return n, err
		}
	}
	err = w.o.Store.Atomic(ctx, keep)
	return n, err
}

// ChangeComment changes one of the visitor's comments, or deletes it if the text is empty.
func (w reportPages) ChangeComment(ctx context.Context, v *Visitor, t store.Task, number int, text string) error {
	text = strings.TrimSpace(text)
	if len(text) > pages.MaxNote {
		return message.Invalid("wrong.long", pages.MaxNote)
	}
	action := "comment_edited"
	if text == "" {
		action = "comment_removed"
	}
	return pages.Change(ctx, w.o.Store, v.Name, action, map[string]any{"task": t.ID, "comment": number}, func(tx *store.DB) error {
		_, err := tx.Checks.ChangeComment(ctx, t.ID, number, v.Name, text, w.o.Now())
		return err
	})
}

// AppendRules saves new rules of a task if the rules have been changed exactly the given number of times; store.AnyRules means any
// number. subject describes what was changed and can be empty.
func (w reportPages) AppendRules(ctx context.Context, v *Visitor, id concordat.TaskID, rules report.Rules, action, subject string,
	changes int) error {
	if err := rules.Validate(); err != nil {
		return err
	}
	data, err := json.Marshal(rules)
	if err != nil {
		return err
	}
	detail := map[string]any{"task": id, "action": action, "subject": shortened(subject)}
	err = pages.Change(ctx, w.o.Store, v.Name, "rules_changed", detail, func(tx *store.DB) error {
		_, err := tx.Checks.AppendReviewIf(ctx, id, store.Review{At: w.o.Now(), By: v.Name, Kind: store.ReviewRules,
			Text: strings.TrimSpace(action + " " + subject), Data: data}, changes)
		return err
	})
	if err == nil {
		rescore(ctx, w, id, rules)
	}
	return err
}

func (w reportPages) note(v *Visitor, now *Review, f url.Values) (store.Review, error) {
	n := store.Review{At: w.o.Now(), By: v.Name, Kind: store.ReviewKind(f.Get("kind")), Text: strings.TrimSpace(f.Get("text"))}
	bad := func(key string, args ...any) (store.Review, error) { return n, message.Invalid(key, args...) }
	if len(n.Text) > pages.MaxNote {
		return bad("wrong.long", pages.MaxNote)
	}
	switch n.Kind {
	case store.ReviewComment:
		if n.Text == "" {
			return bad("wrong.comment")
		}
		if f.Get("start") != "" {
			at, err := spanOf(f)
			if err != nil {
				return n, err
			}
			if n.Data, err = json.Marshal(map[string]int{"start": at.Start, "end": at.End}); err != nil {
				return n, err
			}
		}
	case store.ReviewVerdict:
		if !slices.Contains(verdicts, f.Get("verdict")) || n.Text == "" {
			return bad("wrong.verdict")
		}
		var err error
		if n.Data, err = json.Marshal(f.Get("verdict")); err != nil {
			return n, err
		}
	case store.ReviewSignOff:
		switch {
		case now.Verdict == nil:
			return n, message.Conflict("wrong.none")
		case f.Get("verdict") != "" && f.Get("verdict") != strconv.Itoa(now.Verdict.Seq):
			return n, fmt.Errorf("another verdict has been given in the meantime: %w", concordat.ErrChanged)
		case now.Stale:
			return n, message.Conflict("wrong.stale")
		case now.Verdict.By == v.Name:
			return n, message.Conflict("wrong.self")
		case !now.MaySign(v.Name):
			return n, message.Conflict("wrong.signed")
		}
		var err error
		if n.Data, err = json.Marshal(now.Verdict.Seq); err != nil {
			return n, err
		}
	default:
		return bad("wrong.action", n.Kind)
	}
	return n, nil
}
