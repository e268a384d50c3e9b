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

	"concordat"
	"concordat/report"
	"concordat/store"
)

// The verdicts that an officer can give.
var verdicts = []string{"clear", "discuss", "suspected"}

// mostNote bounds a comment or a reason, in bytes.
const mostNote = 10_000

// review is what people decided about a check.
type review struct {
	Notes   []store.Review // comments, verdicts and sign-offs, oldest first
	Rules   report.Rules   // in force
	Changes int            // of the rules: so many can be undone
	// Verdict is the latest one, if any; SignedOff are those who agreed with it.
	Verdict   *store.Review
	SignedOff []string
}

// review reads what people decided about a task.
func (w *Web) review(ctx context.Context, id concordat.TaskID) (*review, error) {
	all, err := w.o.Store.Reviews(ctx, id)
	if err != nil {
		return nil, err
	}
	first, err := w.firstRules(ctx, id)
	if err != nil {
		return nil, err
	}
	out := &review{Rules: first}
	for i := range all {
		r := &all[i]
		switch r.Kind {
		case store.ReviewRules:
			out.Changes++
			var rules report.Rules
			if err := json.Unmarshal(r.Data, &rules); err != nil {
				return nil, fmt.Errorf("rules of %s: %w: %v", id, concordat.ErrCorrupt, err)
			}
			out.Rules = rules
			continue
		case store.ReviewVerdict:
			out.Verdict, out.SignedOff = r, nil
		case store.ReviewSignOff:
			out.SignedOff = append(out.SignedOff, r.By)
		}
		out.Notes = append(out.Notes, *r)
	}
	return out, nil
}

// VerdictKey is the key of the message for the latest verdict.
func (r *review) VerdictKey() string {
	var v string
	if r.Verdict == nil || json.Unmarshal(r.Verdict.Data, &v) != nil || !slices.Contains(verdicts, v) {
		return "verdict.none"
	}
	return "verdict." + v
}

// mayReview reports whether the visitor decides about checks.
func (v *visitor) mayReview() bool {
	return v.Role == store.RoleAdministrator || v.Role == store.RoleOfficer
}

// reviewForm reads a form about a task that the visitor may see, and what was decided about it so far.
func (w *Web) reviewForm(rw http.ResponseWriter, r *http.Request, v *visitor) (store.Task, *review, error) {
	t, err := w.task(r, v)
	if err == nil {
		err = form(rw, r)
	}
	if err != nil {
		return t, nil, err
	}
	now, err := w.review(r.Context(), t.ID)
	return t, now, err
}

// changeRules changes the rules of one report; the former ones stay and can be had back.
func (w *Web) changeRules(rw http.ResponseWriter, r *http.Request, v *visitor) {
	t, now, err := w.reviewForm(rw, r, v)
	var rules report.Rules
	if err == nil {
		rules, err = w.newRules(r.Context(), v, t.ID, now.Rules, r.PostForm)
	}
	if err == nil {
		err = rules.Validate()
	}
	var data []byte
	if err == nil {
		data, err = json.Marshal(rules)
	}
	if err == nil {
		_, err = w.o.Store.AppendReview(r.Context(), t.ID, store.Review{At: w.o.Now(), By: v.Name, Kind: store.ReviewRules, Text: r.PostForm.Get("action"), Data: data})
	}
	if err != nil {
		w.fail(rw, r, v, err)
		return
	}
	w.audit(r.Context(), v.Name, "rules_changed", map[string]any{"task": t.ID, "action": r.PostForm.Get("action")})
	anchor := map[string]string{"set": "rules", "undo": "rules"}[r.PostForm.Get("action")]
	if anchor == "" {
		anchor = r.PostForm.Get("at")
	}
	to := url.URL{Path: "/checks/" + string(t.ID), Fragment: anchor}
	if from, err := strconv.Atoi(r.PostForm.Get("from")); err == nil && from > 0 {
		to.RawQuery = "from=" + strconv.Itoa(from)
	}
	http.Redirect(rw, r, to.String(), http.StatusSeeOther)
}

// newRules is what the form makes of the rules in force.
func (w *Web) newRules(ctx context.Context, v *visitor, id concordat.TaskID, rules report.Rules, f url.Values) (report.Rules, error) {
	bad := func(format string, args ...any) (report.Rules, error) {
		return rules, fmt.Errorf(format+": %w", append(args, concordat.ErrInvalid)...)
	}
	ref := concordat.Ref{Site: concordat.SiteID(f.Get("site")), Library: concordat.LibraryID(f.Get("library")), Document: concordat.DocumentID(f.Get("document"))}
	span := func() (s concordat.Span, err error) {
		if s.Start, err = strconv.Atoi(f.Get("start")); err == nil {
			s.End, err = strconv.Atoi(f.Get("end"))
		}
		return s, err
	}
	switch action := f.Get("action"); action {
	case "set":
		least, err := strconv.Atoi(f.Get("min_characters"))
		if err != nil {
			return bad("least length %q", f.Get("min_characters"))
		}
		share, err := strconv.ParseFloat(f.Get("min_source"), 64)
		if err != nil {
			return bad("least share %q", f.Get("min_source"))
		}
		rules.ExcludeQuotes, rules.ExcludeBibliography = f.Get("quotes") != "", f.Get("bibliography") != ""
		rules.MinCharacters, rules.MinSourceShare = least, share/100
		rules.ExcludeKinds = nil
		for _, k := range f["kind"] {
			rules.ExcludeKinds = append(rules.ExcludeKinds, concordat.Kind(k))
		}
	case "exclude-source":
		if !slices.Contains(rules.ExcludeSources, ref) {
			rules.ExcludeSources = append(slices.Clone(rules.ExcludeSources), ref)
		}
	case "include-source":
		rules.ExcludeSources = slices.DeleteFunc(slices.Clone(rules.ExcludeSources), func(one concordat.Ref) bool { return one == ref })
	case "exclude-passage":
		s, err := span()
		why := strings.TrimSpace(f.Get("comment"))
		if err != nil || why == "" || len(why) > mostNote {
			return bad("a passage that is taken out needs a reason of at most %d bytes", mostNote)
		}
		rules.ExcludePassages = append(slices.Clone(rules.ExcludePassages), report.ExcludedPassage{Span: s, Comment: why, By: v.Name, At: w.o.Now()})
	case "include-passage":
		s, err := span()
		if err != nil {
			return bad("passage")
		}
		rules.ExcludePassages = slices.DeleteFunc(slices.Clone(rules.ExcludePassages), func(p report.ExcludedPassage) bool {
			return p.Span.Start < s.End && s.Start < p.Span.End
		})
	case "undo":
		return w.formerRules(ctx, id)
	default:
		return bad("action %q", action)
	}
	return rules, nil
}

// formerRules returns the rules before the latest change that was not itself undone.
func (w *Web) formerRules(ctx context.Context, id concordat.TaskID) (report.Rules, error) {
	all, err := w.o.Store.Reviews(ctx, id)
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
		return w.firstRules(ctx, id)
	}
	var rules report.Rules
	if err := json.Unmarshal(stack[len(stack)-2], &rules); err != nil {
		return rules, fmt.Errorf("rules of %s: %w: %v", id, concordat.ErrCorrupt, err)
	}
	return rules, nil
}

// addNote keeps a comment, a verdict, or that a second person agrees with one.
func (w *Web) addNote(rw http.ResponseWriter, r *http.Request, v *visitor) {
	t, now, err := w.reviewForm(rw, r, v)
	var n store.Review
	if err == nil {
		n, err = w.note(v, now, r.PostForm)
	}
	if err == nil {
		_, err = w.o.Store.AppendReview(r.Context(), t.ID, n)
	}
	if err != nil {
		w.fail(rw, r, v, err)
		return
	}
	w.audit(r.Context(), v.Name, "review_"+string(n.Kind), map[string]any{"task": t.ID})
	http.Redirect(rw, r, "/checks/"+string(t.ID)+"#notes", http.StatusSeeOther)
}

func (w *Web) note(v *visitor, now *review, f url.Values) (store.Review, error) {
	n := store.Review{At: w.o.Now(), By: v.Name, Kind: store.ReviewKind(f.Get("kind")), Text: strings.TrimSpace(f.Get("text"))}
	bad := func(why string) (store.Review, error) { return n, fmt.Errorf("%s: %w", why, concordat.ErrInvalid) }
	if len(n.Text) > mostNote {
		return bad("the text is too long")
	}
	switch n.Kind {
	case store.ReviewComment:
		if n.Text == "" {
			return bad("the comment is empty")
		}
	case store.ReviewVerdict:
		if !slices.Contains(verdicts, f.Get("verdict")) || n.Text == "" {
			return bad("a verdict needs a reason")
		}
		var err error
		if n.Data, err = json.Marshal(f.Get("verdict")); err != nil {
			return n, err
		}
	case store.ReviewSignOff:
		switch {
		case now.Verdict == nil:
			return bad("there is no verdict to agree with")
		case now.Verdict.By == v.Name:
			return bad("somebody else than who gave the verdict signs it off")
		case slices.Contains(now.SignedOff, v.Name):
			return bad("signed off already")
		}
	default:
		return bad("a note of no known kind")
	}
	return n, nil
}
