package review

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"concordat"
	"concordat/report"
	"concordat/store"
	"concordat/web/message"
	"concordat/web/pages"
)

// FormerRules returns the rules before the latest change that has not been undone.
func (w *Reviews) FormerRules(ctx context.Context, t store.Task) (report.Rules, error) {
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
		return w.firstRules(ctx, t)
	}
	var rules report.Rules
	if err := json.Unmarshal(stack[len(stack)-2], &rules); err != nil {
		return rules, fmt.Errorf("rules of %s: %w: %v", t.ID, concordat.ErrCorrupt, err)
	}
	return rules, nil
}

// KeepNote saves a note on a task from a form and returns the note.
func (w *Reviews) KeepNote(ctx context.Context, v *pages.Visitor, t store.Task, now *Review, f url.Values) (store.Review, error) {
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
	if adding := w.o.Current.Adding(); n.Kind == store.ReviewVerdict && adding.Rule == AddAfterVerdict && now.Added.Library == "" {
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
func (w *Reviews) ChangeComment(ctx context.Context, v *pages.Visitor, t store.Task, number int, text string) error {
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
func (w *Reviews) AppendRules(ctx context.Context, v *pages.Visitor, id concordat.TaskID, rules report.Rules, action, subject string,
	changes int) error {
	if err := rules.Validate(); err != nil {
		return err
	}
	data, err := json.Marshal(rules)
	if err != nil {
		return err
	}
	detail := map[string]any{"task": id, "action": action, "subject": Shortened(subject)}
	err = pages.Change(ctx, w.o.Store, v.Name, "rules_changed", detail, func(tx *store.DB) error {
		_, err := tx.Checks.AppendReviewIf(ctx, id, store.Review{At: w.o.Now(), By: v.Name, Kind: store.ReviewRules,
			Text: strings.TrimSpace(action + " " + subject), Data: data}, changes)
		return err
	})
	if err == nil {
		w.o.Reports.Rescore(ctx, id, rules)
	}
	return err
}

func (w *Reviews) note(v *pages.Visitor, now *Review, f url.Values) (store.Review, error) {
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
			at, err := SpanOf(f)
			if err != nil {
				return n, err
			}
			if n.Data, err = json.Marshal(map[string]int{"start": at.Start, "end": at.End}); err != nil {
				return n, err
			}
		}
	case store.ReviewVerdict:
		if !slices.Contains(Verdicts, f.Get("verdict")) || n.Text == "" {
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

// CommentSpan returns the span that a comment concerns; it is empty for the whole report.
func CommentSpan(n store.Review) concordat.Span {
	var at struct{ Start, End int }
	if n.Kind != store.ReviewComment || json.Unmarshal(n.Data, &at) != nil {
		return concordat.Span{}
	}
	return concordat.Span{Start: at.Start, End: at.End}
}

// PassageOf returns the number of the passage that a comment concerns. It returns "" if the comment concerns the whole report, if the
// passage does not exist under the report's rules, or if rep is nil.
func PassageOf(n store.Review, rep *report.Report) string {
	at := CommentSpan(n)
	if at.Len() == 0 || rep == nil {
		return ""
	}
	return rep.NumberAt(at)
}
